"""Module files, plain or compressed by gzip or Zstandard: written according to the
extension, read according to the content."""

import contextlib
import errno
import gzip
import itertools
import os
import stat
from pathlib import Path

from meshwright.errors import MeshwrightError

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_counter = itertools.count(1)


def compress(data: bytes, path: str | Path) -> bytes:
    """Compresses according to the extension of `path`; deterministic."""
    suffix = Path(path).suffix
    if suffix == ".gz":
        return gzip.compress(data, mtime=0)
    if suffix == ".zst":
        import zstandard

        return zstandard.ZstdCompressor(level=19).compress(data)
    return data


def decompress(data: bytes) -> bytes:
    """Reverses `compress`, whatever the name of the file was."""
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
    """Compresses and writes a module; see `write_bytes`."""
    write_bytes(path, compress(data, path))


def write_bytes(path: str | Path, data: bytes) -> None:
    """Writes a file completely or not at all, like the C++ side.

    The target of a symbolic link is replaced, not the link; an existing file keeps its
    permissions; pipes and devices are written directly. Raises MeshwrightError.
    """
    try:
        target = Path(path)
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        elif _is_descriptor(target):
            with open(target, "ab") as stream:
                stream.write(data)
        else:
            _replace(Path(os.path.realpath(target)), data)
    except OSError as error:
        raise MeshwrightError(f"{path}: {error.strerror}") from error


def _is_descriptor(path: Path) -> bool:
    """Whether it is /dev/stdout or /dev/fd/3, even if that is a regular file."""
    for _ in range(40):
        if os.path.realpath(path.parent) == f"/proc/{os.getpid()}/fd":
            return True
        if not path.is_symlink():
            return False
        path = path.parent / os.readlink(path)
    return False


def _replace(target: Path, data: bytes) -> None:
    old = target.stat() if target.exists() else None
    if old and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    part = target.with_name(f"{target.name[:60]}.tmp.{os.getpid()}.{next(_counter)}")
    try:
        with open(part, "xb") as stream:
            if old:
                _take_over(stream.fileno(), old)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, target)
    except BaseException:  # Ctrl-C too.
        part.unlink(missing_ok=True)
        raise


def _take_over(fd: int, old: os.stat_result) -> None:
    """Copies the owner and permissions of the file that is replaced."""
    with contextlib.suppress(PermissionError):  # Only root may change the owner.
        os.fchown(fd, old.st_uid, old.st_gid)
    os.fchmod(fd, stat.S_IMODE(old.st_mode))


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
