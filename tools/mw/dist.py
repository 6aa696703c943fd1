"""A self-contained folder: the CLI, the XLA plug-in, HiGHS and what they need.

    meshwright-0.1.0-linux-x86_64/
      bin/meshwright
      lib/xla_cpu_pjrt.so libhighs.so.1 libgloo.so.0 libstdc++.so.6 ...
      licenses/  LICENSE

The plug-in, HiGHS and Gloo need the C++ runtime libraries of GCC, HiGHS also zlib,
Gloo what it speaks to Redis and InfiniBand with. They are found through the CLI's DT_RPATH `$ORIGIN/../lib` and HiGHS' DT_RUNPATH
`$ORIGIN`; everything else must come from glibc. The
folder is made under build/, tried there with an empty environment, and moved to
its place afterwards, so what is delivered has proved to be movable.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from mw import build, wheels
from mw.paths import BUILD, CLI, ROOT, StepFailed, UserError, relative
from mw.progress import Task, display

GLIBC = {
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "librt.so.1",
    "libpthread.so.0",
    "libresolv.so.2",
    "ld-linux-x86-64.so.2",
}
# Libraries of this machine that the CLI or wheels need.
RUNTIME = (
    "libgloo.so.0",
    "libhiredis.so.0.14",
    "libibverbs.so.1",
    "libnl-route-3.so.200",
    "libnl-3.so.200",
    "libstdc++.so.6",
    "libgcc_s.so.1",
    "libz.so.1",
)
# Debian packages whose code is in the folder; their notices go with it.
NOTICES = (
    "libabsl-dev",
    "libprotobuf-dev",
    "libgrpc++-dev",
    "libc-ares2",
    "libre2-9",
    "libssl3",
    "libgloo0",
    "libhiredis0.14",
    "libibverbs1",
    "libnl-3-200",
    "libnl-route-3-200",
    "libzstd-dev",
    "zlib1g-dev",
    "libsqlite3-dev",
    "libjemalloc-dev",
    "nlohmann-json3-dev",
    "libstdc++6",
    "libgcc-s1",
)
RPATH = "$ORIGIN/../lib"


def main(args: list[str]) -> int:
    if len(args) > 1 or (args and args[0].startswith("-")):
        raise UserError("dist takes at most one argument, the folder to write to")
    parent = Path(args[0]).resolve() if args else ROOT / "dist"
    build.ensure(["meshwright"])
    made = make(BUILD / "dist")
    target = parent / made.name
    parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    shutil.move(str(made), str(target))
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    display.say(f"{relative(target)}: {size / 2**20:.0f} MiB")
    return 0


def version() -> str:
    text = (ROOT / "CMakeLists.txt").read_text()
    found = re.search(r"project\(meshwright VERSION ([\d.]+)", text)
    if not found:
        raise StepFailed("CMakeLists.txt states no version")
    return found.group(1)


def make(parent: Path, task: Task | None = None) -> Path:
    """Writes and tries the folder under `parent`; needs the built CLI."""
    folder = parent / f"meshwright-{version()}-linux-x86_64"
    shutil.rmtree(folder, ignore_errors=True)
    shown = task or display.start("dist")
    try:
        shown.update("copying")
        _fill(folder)
        shown.update("checking shared libraries")
        _check_libraries(folder)
        shown.update("running it with an empty environment")
        _try(folder)
    finally:
        if task is None:
            display.finish(shown, None)
    return folder


def _fill(folder: Path) -> None:
    for name in ("bin", "lib", "licenses"):
        (folder / name).mkdir(parents=True)
    program = folder / "bin" / "meshwright"
    shutil.copy2(CLI, program)
    subprocess.run(["strip", program], check=True)
    plugin = wheels.site_packages() / "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"
    shutil.copy2(plugin, folder / "lib")
    shutil.copy2(wheels.site_packages() / "highspy/libhighs.so.1", folder / "lib")
    for name in RUNTIME:
        shutil.copy2(_library(name), folder / "lib" / name)
    shutil.copy2(ROOT / "LICENSE", folder)
    shutil.copy2(ROOT / "LICENSE", folder / "licenses" / "xla-cpu-pjrt")
    for notice in sorted(wheels.site_packages().glob("highspy-*/licenses/*")):
        shutil.copy2(notice, folder / "licenses" / f"highs-{notice.name}")
    for package in NOTICES:
        notice = Path("/usr/share/doc") / package / "copyright"
        if notice.exists():
            shutil.copy2(notice, folder / "licenses" / package)


def _library(name: str) -> Path:
    path = Path(_output(["g++", f"-print-file-name={name}"]).strip())
    if not path.is_absolute():
        raise StepFailed(f"g++ does not know where {name} is")
    return path.resolve()


def _check_libraries(folder: Path) -> None:
    """Every library that a file of the folder asks for is there or in glibc."""
    own = {path.name for path in (folder / "lib").iterdir()}
    for path in [folder / "bin" / "meshwright", *(folder / "lib").iterdir()]:
        strange = needed(path) - GLIBC - own
        if strange:
            names = ", ".join(sorted(strange))
            raise StepFailed(
                f"dist: {path.name} needs {names}; link it statically or add it "
                "to tools/mw/dist.py"
            )
    dynamic = _output(["readelf", "-d", folder / "bin" / "meshwright"])
    if not re.search(rf"\(RPATH\).*\[{re.escape(RPATH)}\]", dynamic):
        raise StepFailed(
            f"dist: the CLI has no DT_RPATH; give its CMake target INSTALL_RPATH "
            f"{RPATH} and the link option -Wl,--disable-new-dtags"
        )


def needed(path: Path) -> set[str]:
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", _output(["readelf", "-d", path])))


def _try(folder: Path) -> None:
    """Runs the CLI from / with no environment, as `env -i` would."""
    program = folder / "bin" / "meshwright"
    workers = [ROOT / "tests/e2e/small_step.hlo", "--mesh=data=2", "--workers=2"]
    for args in (["devices"], ["demo"], ["run", *workers, "--steps=2"]):
        answer = subprocess.run(
            [program, *args],
            cwd="/",
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if answer.returncode != 0 or "no HiGHS" in answer.stdout:
            raise StepFailed(
                f"dist: {relative(program)} {' '.join(map(str, args))} exits with "
                f"{answer.returncode} in an empty environment",
                answer.stdout,
            )


def _output(argv: list[object]) -> str:
    env: dict[str, str] = {**os.environ, "LC_ALL": "C"}
    words = [str(part) for part in argv]
    answer = subprocess.run(
        words, stdout=subprocess.PIPE, text=True, env=env, check=False
    )
    if answer.returncode != 0:
        raise StepFailed(f"{' '.join(words)} failed")
    return answer.stdout
