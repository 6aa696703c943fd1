"""Parses the command line of ./mw and dispatches to its commands."""

from __future__ import annotations

import difflib
import os
import shutil
import signal
import sys

from mw import process
from mw.paths import (
    BUILD,
    CLI,
    ROOT,
    RUNTIME_ENV,
    VENV,
    VENV_JAX_OLD,
    VENV_LAUNCHERS,
    StepFailed,
    UserError,
)
from mw.progress import display

HELP = """\
usage: ./mw COMMAND [ARGS]

Sets up on first use (Debian packages, pinned wheels in .venv, a release build),
then runs the command. A second call with nothing changed starts at once.

  ./mw demo                 train a tiny GPT on XLA from C++
  ./mw devices|inspect|run  any command of the meshwright CLI; ./mw -- --help lists them
  ./mw test [--long] [--only STEP]
                            every test; --only twice runs two steps
  ./mw bench [NAME ARGS]    make a published figure; without NAME, list them
  ./mw python ARGS          the venv's Python: ./mw python -m meshwright.zoo list
  ./mw dist [DIR]           a self-contained folder for other machines
  ./mw wheel [DIR]          the Python package with the program, for pip install
  ./mw setup                packages and wheels only
  ./mw build [TARGET...]    release build
  ./mw format               apply clang-format and ruff
  ./mw clean [--all]        remove build outputs; --all: the venvs too

Logs are in build/log/."""

OWN = (
    "test",
    "bench",
    "python",
    "dist",
    "wheel",
    "setup",
    "build",
    "format",
    "clean",
)


def main(argv: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return _dispatch(argv)
    except UserError as error:
        display.say(f"mw: {error}")
        return 2
    except StepFailed as error:
        display.say(f"{error.excerpt}\nmw: {error}".lstrip("\n"))
        return 1
    except KeyboardInterrupt:
        display.say("mw: interrupted")
        return 130
    except BrokenPipeError:
        # The reader of our output has gone: nothing must be flushed at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # It is ending already.
        process.stop_all()


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help") or argv == ["help"]:
        print(HELP, flush=True)
        return 0
    command, args = argv[0], argv[1:]
    if command not in OWN:
        return _cli(argv)
    return globals()[f"_{command}"](args)


def _exec(argv: list[str], env: dict[str, str]) -> int:
    sys.stdout.flush()
    # Python ignores it, and an executed program would inherit that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execve(argv[0], argv, {**os.environ, **env})
    except OSError as error:
        raise StepFailed(f"cannot run {argv[0]}: {error.strerror}") from None


def _cli(argv: list[str]) -> int:
    if not CLI.exists():
        _refuse_typing_error(argv[0])
    if argv[0] == "--":
        argv = argv[1:]
    from mw import build

    build.ensure(["meshwright"])
    return _exec([str(CLI), *argv], RUNTIME_ENV)


def _refuse_typing_error(command: str) -> None:
    """Before the long first setup; once there is a CLI, it answers itself."""
    near = difflib.get_close_matches(command, (*OWN, "demo"), n=1, cutoff=0.7)
    if near and near[0] != command:
        raise UserError(f"no command '{command}'; did you mean '{near[0]}'?")


def _no_more(args: list[str], command: str) -> None:
    if args:
        raise UserError(f"{command} takes no argument '{args[0]}'; see ./mw --help")


def _setup(args: list[str]) -> int:
    _no_more(args, "setup")
    from mw import packages, wheels

    packages.ensure()
    for layer in wheels.LAYERS:
        wheels.ensure(layer)
    return 0


def _build(args: list[str]) -> int:
    from mw import build

    build.ensure(args)
    return 0


def _test(args: list[str]) -> int:
    from mw import test

    return test.main(args)


def _bench(args: list[str]) -> int:
    from mw import bench, build, wheels

    script = bench.find(args)
    if script is None:
        return 0
    build.ensure(["meshwright", *bench.targets()])
    wheels.ensure(wheels.FULL)
    return _exec([str(VENV / "bin" / "python"), script, *args[1:]], RUNTIME_ENV)


def _python(args: list[str]) -> int:
    from mw import packages, wheels

    packages.ensure()
    wheels.ensure(wheels.RUNTIME)
    wheels.ensure(wheels.FULL)
    return _exec([str(VENV / "bin" / "python"), *args], RUNTIME_ENV)


def _dist(args: list[str]) -> int:
    from mw import dist

    return dist.main(args)


def _wheel(args: list[str]) -> int:
    from mw import wheel

    return wheel.main(args)


def _format(args: list[str]) -> int:
    _no_more(args, "format")
    from mw import formatting

    formatting.apply()
    return 0


def _clean(args: list[str]) -> int:
    if args not in ([], ["--all"]):
        raise UserError("clean takes nothing or --all")
    folders = [BUILD, ROOT / "dist"]
    if args:
        folders += [VENV, VENV_JAX_OLD, VENV_LAUNCHERS]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return 0
