"""The wheel: the Python package including the program, tested in clean environments.

    meshwright-0.1.0-py3-none-manylinux_2_34_x86_64.whl

python/setup.py makes it, also for `pip install ./python`. XLA's plug-in and HiGHS are
wheels of their own, which the program finds next to its package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from mw import build, process, wheels
from mw.paths import ROOT, VENV, StepFailed, UserError, relative
from mw.progress import Task, display

SCRIPT = "tests/wheel/train.py"
EXAMPLE = "examples/gpt.py"
READ = "testdata/text.txt"  # Read by the example.
TINY = ["--steps=3", "--batch=8", "--length=16", "--width=32", "--layers=1"]
OWN = ("meshwright", "__editable__", "easy-install")


def main(args: list[str]) -> int:
    if len(args) > 1 or (args and args[0].startswith("-")):
        raise UserError("wheel takes at most one argument, the folder to write to")
    made = make(Path(args[0]).resolve() if args else ROOT / "dist")
    size = made.stat().st_size
    display.say(f"{relative(made)}: {size / 2**20:.0f} MiB")
    return 0


def make(folder: Path, task: Task | None = None) -> Path:
    build.ensure(["meshwright"], task=task)
    wheels.ensure(wheels.TOOLS, task)
    with tempfile.TemporaryDirectory(prefix="mw-wheel-") as temporary:
        argv = [VENV / "bin" / "python", "-m", "pip", "wheel", "--no-deps"]
        argv += ["--no-build-isolation", "--disable-pip-version-check"]
        argv += ["--wheel-dir", temporary, ROOT / "python"]
        process.run("wheel", argv, "wheel", task=task)
        (made,) = Path(temporary).glob("*.whl")
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(str(made), str(folder / made.name)))


def check(made: Path, task: Task | None = None) -> None:
    """Installs only the wheel; its dependencies are linked from our own environment."""
    with tempfile.TemporaryDirectory(prefix="mw-wheel-") as temporary:
        venv, pip = Path(temporary) / "venv", VENV / "bin" / "python"
        _make_venv(pip, venv, ["--without-pip"], task)
        python = venv / "bin" / "python"
        args = ["--python", python, "install", "--no-deps", "--no-index", made]
        _pip(pip, args, task)
        _link_others(wheels.site_packages(), wheels.site_packages(venv))
        _try(python, [[SCRIPT]], task)


def check_whole(made: Path, interpreter: str, task: Task | None = None) -> None:
    """Installs the wheel with all dependencies for this interpreter, as a user
    would."""
    with tempfile.TemporaryDirectory(prefix="mw-wheel-") as temporary:
        venv = Path(temporary) / "venv"
        _make_venv(Path(interpreter), venv, [], task)
        python = venv / "bin" / "python"
        _pip(python, ["install", "--progress-bar", "off", f"{made}[zoo]"], task)
        _try(python, [[SCRIPT], [EXAMPLE, *TINY]], task)


def interpreters() -> list[str]:
    """The usable interpreters on this machine, one for each version that the package
    supports: those on the PATH, or else of pyenv."""
    found = (_interpreter(f"python3.{minor}") for minor in range(10, 14))
    return [path for path in found if path is not None]


def _interpreter(name: str) -> str | None:
    # The commands that pyenv puts on the PATH fail for versions not chosen.
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    of_pyenv = sorted(pyenv.glob(f"versions/*/bin/{name}"), reverse=True)
    usable = filter(_can_install, filter(None, [shutil.which(name), *of_pyenv]))
    return next(map(str, usable), None)


def _can_install(python: str | Path) -> bool:
    argv = [python, "-c", "import ensurepip, venv"]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def _make_venv(python: Path, venv: Path, args: list[str], task: Task | None) -> None:
    argv = [python, "-m", "venv", *args, venv]
    process.run("a clean environment", argv, "wheel-venv", task=task)


def _pip(python: Path, args: list[object], task: Task | None) -> None:
    argv = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", *args]
    process.run("installing the wheel", argv, "wheel-install", task=task)


def _link_others(source: Path, target: Path) -> None:
    for path in source.iterdir():
        is_own = path.name.startswith(OWN) or path.suffix == ".pth"
        if not is_own and not (target / path.name).exists():
            (target / path.name).symlink_to(path)


def _try(python: Path, scripts: list[list[str]], task: Task | None) -> None:
    """Runs the command and these scripts from /, with a PATH without compilers."""
    if task:
        task.update("training with it")
    command = python.parent / "meshwright"
    with tempfile.TemporaryDirectory(prefix="mw-wheel-") as folder:
        home = Path(folder)
        for name in (SCRIPT, EXAMPLE, READ):
            (home / name).parent.mkdir(parents=True)
            shutil.copy2(ROOT / name, home / name)
        env = {"PATH": _bare_path(home), "HOME": folder}
        _run([command, "--version"], env)
        _run([command, "devices"], env)
        for script, *args in scripts:
            _run([python, "-I", home / script, *args], env)


def _bare_path(home: Path) -> str:
    """A folder with the programs that scripts may expect on a machine, but no
    compiler."""
    folder = home / "bin"
    folder.mkdir()
    for name in ("sh", "env", "ldconfig", "uname"):
        found = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
        if found:
            (folder / name).symlink_to(found)
    return str(folder)


def _run(argv: list[object], env: dict[str, str]) -> None:
    words = [str(word) for word in argv]
    answer = subprocess.run(
        words,
        cwd="/",
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if answer.returncode != 0:
        raise StepFailed(
            f"wheel: {' '.join(words)} exits with {answer.returncode}", answer.stdout
        )
