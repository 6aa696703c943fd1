"""Reads and changes what a 64-bit ELF file requires of shared libraries.

A file names the libraries it needs and, for each, the versions of symbols that it binds
to (`GLIBC_2.34` of libc.so.6); the loader rejects the file if one of them is missing.
Everything is read and written in place: no table grows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little-endian.
PT_LOAD, PT_DYNAMIC = 1, 2
SHT_DYNSYM, SHT_VERNEED = 11, 0x6FFFFFFE
DT_NULL, DT_NEEDED, DT_STRTAB, DT_SYMTAB, DT_RPATH = 0, 1, 5, 6, 15
DT_VERSYM, DT_VERNEED, DT_VERNEEDNUM = 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF
STB_WEAK, VER_NDX_GLOBAL, HIDDEN = 2, 1, 0x8000
SYMBOL_SIZE = 24


@dataclass(frozen=True)
class Version:
    """A version of symbols that the file binds to."""

    library: str
    name: str
    index: int  # In the numbering of the file.
    at: int  # The position of its record.


@dataclass(frozen=True)
class Symbol:
    name: str
    defined: bool
    version: int  # Version.index; 0 or 1 if it has none.
    number: int


def is_elf(path: Path) -> bool:
    if not path.is_file() or path.is_symlink():
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


class ElfFile:
    def __init__(self, path: Path):
        self.data = bytearray(path.read_bytes())
        if not self.data.startswith(MAGIC):
            raise ValueError(f"{path} is no 64-bit ELF file")
        self._loads: list[tuple[int, int, int]] = []  # Address, size, offset.
        self._dynamic = (0, 0)
        table, size, count = (*self._read("<Q", 32), *self._read("<HH", 54))
        for at in range(table, table + size * count, size):
            kind, _, offset, address, _, length = self._read("<IIQQQQ", at)
            if kind == PT_LOAD:
                self._loads.append((address, length, offset))
            elif kind == PT_DYNAMIC:
                self._dynamic = (offset, length)

    def write(self, path: Path) -> None:
        path.write_bytes(self.data)

    def needed(self) -> list[str]:
        return [self._text(value) for tag, value, _ in self._entries(DT_NEEDED)]

    def rpath(self) -> str | None:
        found = [self._text(value) for _, value, _ in self._entries(DT_RPATH)]
        return found[0] if found else None

    def versions(self) -> list[Version]:
        found = []
        for record, library in self._version_records():
            _, count, _, first, _ = self._read("<HHIII", record)
            at = record + first
            for _ in range(count):
                _, _, index, name, step = self._read("<IHHII", at)
                found.append(Version(library, self._text(name), index & ~HIDDEN, at))
                at += step
        return found

    def symbols(self) -> list[Symbol]:
        table, versions = self._address(DT_SYMTAB), self._address(DT_VERSYM)
        found = []
        for number in range(1, self._section(SHT_DYNSYM)[1] // SYMBOL_SIZE):
            name, _, _, section = self._read("<IBBH", table + number * SYMBOL_SIZE)
            version = self._read("<H", versions + 2 * number)[0] if versions else 0
            text = self._text(name)
            found.append(Symbol(text, section != 0, version & ~HIDDEN, number))
        return found

    def drop_library(self, library: str, its_symbols: set[str]) -> None:
        """Removes a needed library; its functions, which are never called, may be
        absent."""
        self._drop_needed(library)
        self._drop_versions(library)
        table, versions = self._address(DT_SYMTAB), self._address(DT_VERSYM)
        for symbol in self.symbols():
            if symbol.defined or symbol.name not in its_symbols:
                continue
            info = table + symbol.number * SYMBOL_SIZE + 4
            self.data[info] = STB_WEAK << 4 | self.data[info] & 0xF
            if versions:
                self._write("<H", versions + 2 * symbol.number, VER_NDX_GLOBAL)

    def replace_version(self, old: Version, new: Version) -> None:
        """Replaces the version `old` of symbols by `new`."""
        value, *_, name, _ = self._read("<IHHII", new.at)
        self._write("<I", old.at, value)
        self._write("<I", old.at + 8, name)

    def _drop_needed(self, library: str) -> None:
        offset, length = self._dynamic
        kept = bytearray()
        for at in range(offset, offset + length, 16):
            tag, value = self._read("<QQ", at)
            if tag != DT_NEEDED or self._text(value) != library:
                kept += self.data[at : at + 16]
        self.data[offset : offset + length] = kept.ljust(length, b"\0")

    def _drop_versions(self, library: str) -> None:
        records = list(self._version_records())
        for n, (at, name) in enumerate(records):
            if name != library:
                continue
            step = self._read("<I", at + 12)[0]
            if n == 0:
                raise ValueError(f"the versions of {library} come first")
            before = records[n - 1][0]
            self._write("<I", before + 12, at + step - before if step else 0)
            (_, _, count_at) = next(self._entries(DT_VERNEEDNUM))
            self._write("<Q", count_at + 8, len(records) - 1)
            header = self._section(SHT_VERNEED)[2]
            self._write("<I", header + 44, len(records) - 1)

    def _version_records(self) -> Iterator[tuple[int, str]]:
        """The position of the record of a library's versions, and the library's
        name."""
        at = self._address(DT_VERNEED)
        while at:
            _, _, name, _, step = self._read("<HHIII", at)
            yield at, self._text(name)
            at = at + step if step else 0

    def _entries(self, wanted: int) -> Iterator[tuple[int, int, int]]:
        offset, length = self._dynamic
        for at in range(offset, offset + length, 16):
            tag, value = self._read("<QQ", at)
            if tag == DT_NULL:
                return
            if tag == wanted:
                yield tag, value, at

    def _address(self, tag: int) -> int:
        """The file offset of a table that the dynamic section names; 0 if there is
        none."""
        for _, value, _ in self._entries(tag):
            for address, length, offset in self._loads:
                if address <= value < address + length:
                    return value - address + offset
        return 0

    def _section(self, kind: int) -> tuple[int, int, int]:
        """Offset and size of the first section of the given type, and its header."""
        (table,), (size, count) = self._read("<Q", 40), self._read("<HH", 58)
        for at in range(table, table + size * count, size):
            if self._read("<I", at + 4)[0] == kind:
                return (*self._read("<QQ", at + 24), at)
        raise ValueError("a section is missing")

    def _text(self, offset: int) -> str:
        begin = self._address(DT_STRTAB) + offset
        return self.data[begin : self.data.index(0, begin)].decode()

    def _read(self, form: str, at: int) -> tuple:
        return struct.unpack_from(form, self.data, at)

    def _write(self, form: str, at: int, value: int) -> None:
        struct.pack_into(form, self.data, at, value)
