"""The program in the form in which it is distributed: in a folder (dist.py) or a wheel
(wheel.py).

    bin/meshwright
    lib/libgloo.so.0
    licenses/

It needs glibc 2.34 or newer, and the libstdc++ of GCC 11 or newer: RHEL 9, Ubuntu
22.04, Debian 12. The libraries in `lib` are found through the program's DT_RPATH
`$ORIGIN/../lib`; everything else is the host's.

Gloo is Debian's. Here it only uses TCP, so that the libraries of Redis and InfiniBand
are not needed; NCCL would also use a second copy of libibverbs, and find no network
cards with it. Gloo and the program bind to a version of std::condition_variable::wait
that is new in GCC 12 (GLIBCXX_3.4.30), which allows it to be cancelled; the previous
version suffices.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from mw.elf import ElfFile, is_elf
from mw.paths import CLI, ROOT, StepFailed

# Provided by the host: glibc, and the runtime libraries of GCC.
HOST = {
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "librt.so.1",
    "libpthread.so.0",
    "libresolv.so.2",
    "ld-linux-x86-64.so.2",
    "libstdc++.so.6",
    "libgcc_s.so.1",
}
# By prefix: the newest versions of symbols that RHEL 9 has.
FLOOR = {
    "GLIBC": (2, 34),
    "GLIBCXX": (3, 4, 29),
    "CXXABI": (1, 3, 13),
    "GCC": (7, 0, 0),
}
PLATFORM = "manylinux_2_34_x86_64"
GLOO = "libgloo.so.0"
NOT_FOR_GLOO = ("libhiredis.so.0.14", "libibverbs.so.1")
# Symbols whose older version suffices, and that version.
OLDER = {
    "GLIBCXX_3.4.30": (
        "GLIBCXX_3.4.11",
        {"_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"},
    )
}
# Debian packages whose code is distributed; their notices are included.
NOTICES = (
    "libabsl-dev",
    "libprotobuf-dev",
    "libgrpc++-dev",
    "libc-ares2",
    "libre2-9",
    "libssl3",
    "libgloo0",
    "libzstd-dev",
    "zlib1g-dev",
    "libsqlite3-dev",
    "libjemalloc-dev",
    "nlohmann-json3-dev",
    "libstdc++6",
    "libgcc-s1",
)
RPATH = "$ORIGIN/../lib"


def fill(folder: Path) -> None:
    """Writes the three folders; needs the built program."""
    for name in ("bin", "lib", "licenses"):
        (folder / name).mkdir(parents=True)
    program = folder / "bin" / "meshwright"
    shutil.copy2(CLI, program)
    subprocess.run(["strip", program], check=True)
    _make_older(ElfFile(program), program)
    _bring_gloo(folder / "lib")
    shutil.copy2(ROOT / "LICENSE", folder / "licenses" / "meshwright")
    for package in NOTICES:
        notice = Path("/usr/share/doc") / package / "copyright"
        if notice.exists():
            shutil.copy2(notice, folder / "licenses" / package)


def check(folder: Path) -> None:
    """Raises StepFailed unless everything that the files require is included or the
    host's."""
    files = [path for path in sorted(folder.rglob("*")) if is_elf(path)]
    own = {path.name for path in files}
    for path in files:
        file = ElfFile(path)
        strange = set(file.needed()) - HOST - own
        if strange:
            names = ", ".join(sorted(strange))
            raise StepFailed(
                f"{path.name} needs {names}; link it statically or add it to "
                "tools/mw/portable.py"
            )
        _check_versions(path.name, file, own)
    program = ElfFile(folder / "bin" / "meshwright")
    if any(s.name == "__dynamic_cast" and s.defined for s in program.symbols()):
        raise StepFailed(
            "the program has libstdc++ of its own, which plug-ins would take for the "
            "host's; link it without -static-libstdc++"
        )
    if program.rpath() != RPATH:
        raise StepFailed(
            "the program has no DT_RPATH; give its CMake target INSTALL_RPATH "
            f"{RPATH} and the link option -Wl,--disable-new-dtags"
        )


def _check_versions(name: str, file: ElfFile, own: set[str]) -> None:
    for version in file.versions():
        if version.library in own or _is_old(version.name):
            continue
        symbols = [s.name for s in file.symbols() if s.version == version.index]
        raise StepFailed(
            f"{name} needs {version.name} of {version.library}, which RHEL 9 lacks, "
            f"for {', '.join(symbols) or 'itself'}; see tools/mw/portable.py"
        )


def _is_old(version: str) -> bool:
    prefix, _, number = version.partition("_")
    numeric = re.fullmatch(r"\d+(\.\d+)*", number) is not None
    return (
        prefix in FLOOR
        and numeric
        and tuple(map(int, number.split("."))) <= FLOOR[prefix]
    )


def library(name: str) -> Path:
    """The path of the library on this machine."""
    argv = ["g++", f"-print-file-name={name}"]
    env = {**os.environ, "LC_ALL": "C"}
    answer = subprocess.run(
        argv, stdout=subprocess.PIPE, text=True, env=env, check=False
    )
    path = Path(answer.stdout.strip())
    if answer.returncode != 0 or not path.is_absolute():
        raise StepFailed(f"g++ does not know where {name} is")
    return path.resolve()


def _bring_gloo(folder: Path) -> None:
    gloo = ElfFile(library(GLOO))
    for name in NOT_FOR_GLOO:
        if name in gloo.needed():
            symbols = ElfFile(library(name)).symbols()
            gloo.drop_library(name, {s.name for s in symbols if s.defined})
    _make_older(gloo, folder / GLOO)


def _make_older(file: ElfFile, path: Path) -> None:
    """Replaces versions of symbols by older ones that suffice."""
    versions = {version.name: version for version in file.versions()}
    for new, (old, allowed) in OLDER.items():
        index = versions[new].index if new in versions else None
        symbols = {s.name for s in file.symbols() if s.version == index}
        if symbols and symbols <= allowed and old in versions:
            file.replace_version(versions[new], versions[old])
    file.write(path)
