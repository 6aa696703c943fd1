"""A self-contained folder: the CLI, the XLA plug-in, HiGHS and their dependencies.

    meshwright-0.1.0-linux-x86_64/
      bin/meshwright
      lib/xla_cpu_pjrt.so libhighs.so.1 libgloo.so.0 libz.so.1
      licenses/  LICENSE

HiGHS needs zlib, found through its DT_RUNPATH `$ORIGIN`; portable.py describes the
rest. The folder is made under build/, tested there with an empty environment, and then
moved to its destination, so what is delivered is known to be relocatable.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from mw import build, portable, wheels
from mw.paths import BUILD, ROOT, StepFailed, UserError, relative
from mw.progress import Task, display


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
    """Writes and tests the folder under `parent`; needs the built CLI."""
    folder = parent / f"meshwright-{version()}-linux-x86_64"
    shutil.rmtree(folder, ignore_errors=True)
    shown = task or display.start("dist")
    try:
        shown.update("copying")
        _fill(folder)
        shown.update("checking shared libraries")
        portable.check(folder)
        shown.update("running it with an empty environment")
        _try(folder)
    finally:
        if task is None:
            display.finish(shown, None)
    return folder


def _fill(folder: Path) -> None:
    portable.fill(folder)
    plugin = wheels.site_packages() / "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"
    shutil.copy2(plugin, folder / "lib")
    shutil.copy2(wheels.site_packages() / "highspy/libhighs.so.1", folder / "lib")
    shutil.copy2(portable.library("libz.so.1"), folder / "lib" / "libz.so.1")
    shutil.copy2(ROOT / "LICENSE", folder)
    shutil.copy2(ROOT / "LICENSE", folder / "licenses" / "xla-cpu-pjrt")
    for notice in sorted(wheels.site_packages().glob("highspy-*/licenses/*")):
        shutil.copy2(notice, folder / "licenses" / f"highs-{notice.name}")


def _try(folder: Path) -> None:
    """Runs the CLI from / with no environment, as `env -i` would."""
    program = folder / "bin" / "meshwright"
    run = ["run", ROOT / "tests/e2e/small_step.hlo", "--workers=2", "--steps=2"]
    stages = ["--stages=2", "--micro-batches=2"]  # Arrays are sent over TCP.
    commands = (["devices"], ["demo"], [*run, "--mesh=data=2"], [*run, *stages])
    for args in commands:
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
