"""The `meshwright` program that belongs to this package."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from meshwright.errors import MeshwrightError


def find_program() -> str:
    """The path of the `meshwright` program: from MESHWRIGHT_BIN, in this package, in
    the source tree that contains it, or on the PATH."""
    package = Path(__file__).resolve().parent
    tree = package.parents[1] / "build/release/meshwright/cli/meshwright"
    named = os.environ.get("MESHWRIGHT_BIN")
    for path in (named, package / "bin" / "meshwright", tree):
        if path and os.access(path, os.X_OK):
            return str(path)
    found = _on_the_path()
    if found is None:
        raise MeshwrightError(
            "there is no meshwright program: install the wheel, or build it (./mw "
            "build) and put it on the PATH"
        )
    return found


def run_program(*words: str) -> str:
    """What a command of the program prints. Raises MeshwrightError with its line if it
    fails."""
    done = subprocess.run([find_program(), *words], capture_output=True, text=True)
    if done.returncode != 0:
        line = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise MeshwrightError(line[0] if line else f"{words[0]} failed")
    return done.stdout


def main() -> None:
    """The command `meshwright` of a Python environment: replaces itself with the
    program."""
    try:
        program = find_program()
        os.execv(program, [program, *sys.argv[1:]])
    except (MeshwrightError, OSError) as error:
        sys.exit(f"meshwright: {error}")


def _on_the_path() -> str | None:
    """A program other than this environment's command, which would call us again."""
    here = Path(sysconfig.get_path("scripts")).resolve()
    for folder in os.get_exec_path():
        found = shutil.which("meshwright", path=folder)
        if found and Path(found).resolve().parent != here:
            return found
    return None
