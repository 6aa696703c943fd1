"""Module files: plain, gzip or Zstandard, written by extension, read by content."""

import gzip
from pathlib import Path

from meshwright.errors import MeshwrightError

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def compress(data: bytes, path: str | Path) -> bytes:
    """Compresses as the extension of `path` asks; the same bytes every time."""
    suffix = Path(path).suffix
    if suffix == ".gz":
        return gzip.compress(data, mtime=0)
    if suffix == ".zst":
        import zstandard

        return zstandard.ZstdCompressor(level=19).compress(data)
    return data


def decompress(data: bytes) -> bytes:
    """Undoes `compress`, whatever the file was called."""
    if data.startswith(_GZIP_MAGIC):
        return gzip.decompress(data)
    if data.startswith(_ZSTD_MAGIC):
        import zstandard

        stream = zstandard.ZstdDecompressor().decompressobj()
        content = stream.decompress(data)
        if not stream.eof:
            raise EOFError("it ends too early")
        return content
    return data


def write_file(path: str | Path, data: bytes) -> None:
    write_bytes(path, compress(data, path))


def write_bytes(path: str | Path, data: bytes) -> None:
    """As they are. Raises MeshwrightError, as all of these do, naming the file."""
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise MeshwrightError(f"{path}: {error.strerror}") from error


def read_bytes(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise MeshwrightError(f"{path}: {error.strerror}") from error


def read_file(path: str | Path) -> bytes:
    data = read_bytes(path)
    try:
        return decompress(data)
    except Exception as error:
        raise MeshwrightError(f"{path}: damaged compressed file: {error}") from error
