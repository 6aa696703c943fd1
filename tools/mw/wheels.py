"""Pinned wheels in local virtual environments.

A venv is installed in layers that different commands need, so that the first `./mw
demo` only waits for the XLA plug-in and HiGHS. A layer's stamp contains a hash of its
inputs; a venv is made anew if an installation in it was interrupted.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mw import process
from mw.paths import (
    ROOT,
    VENV,
    VENV_JAX_OLD,
    VENV_LAUNCHERS,
    StepFailed,
    UserError,
    fingerprint,
    is_locked,
    locked,
    relative,
    stamp_matches,
    write_stamp,
)
from mw.progress import Task, display

OLDEST = (3, 11)  # Required by the pinned JAX.
# A path, not an import hook: otherwise, in the root folder, meshwright/ would be
# imported as the package.
EDITABLE = ("--no-deps", "--config-settings", "editable_mode=compat", "-e")


@dataclass(frozen=True)
class Layer:
    name: str
    title: str
    venv: Path
    requirements: Path
    package: bool = False  # Also installs our own package, editable.
    alone: bool = False  # Installs exactly these, without their dependencies.

    def inputs(self) -> str:
        own = ROOT / "python" / "pyproject.toml"
        files = list(_with_included(self.requirements))
        files += [own, *EDITABLE] if self.package and own.exists() else []
        files += ["alone"] if self.alone else []
        return fingerprint(*files)

    def stamp(self) -> Path:
        return self.venv / ".mw" / self.name

    def ready(self) -> bool:
        python = self.venv / "bin" / "python"
        return python.exists() and stamp_matches(self.stamp(), self.inputs())


def _with_included(requirements: Path) -> Iterator[Path]:
    """The file and those that its `-r FILE` lines include."""
    yield requirements
    for line in requirements.read_text().splitlines():
        if line.startswith("-r "):
            yield from _with_included(requirements.parent / line[3:].strip())


PYTHON = ROOT / "python"
RUNTIME = Layer(
    "runtime",
    "XLA plug-in and HiGHS",
    VENV,
    PYTHON / "requirements-runtime.txt",
    alone=True,
)
TOOLS = Layer("tools", "formatters", VENV, ROOT / "tools" / "requirements.txt")
FULL = Layer("python", "Python packages", VENV, PYTHON / "requirements.txt", True)
JAX_OLD = Layer(
    "jax-old",
    "Python packages (old JAX)",
    VENV_JAX_OLD,
    PYTHON / "requirements-jax-old.txt",
    True,
)
PUBLIC = Layer(
    "public",
    "public models",
    VENV,
    PYTHON / "requirements-public.txt",
    alone=True,
)
PUBLIC_OLD = Layer(
    "public-old",
    "public models (old JAX)",
    VENV_JAX_OLD,
    PYTHON / "requirements-public-old.txt",
    alone=True,
)
LAUNCHERS = Layer(
    "launchers",
    "Python packages (launchers)",
    VENV_LAUNCHERS,
    PYTHON / "requirements-launchers.txt",
    True,
)
# The layers that `./mw setup` fills; launchers are only for `./mw test --long`.
LAYERS = (RUNTIME, TOOLS, FULL, JAX_OLD, PUBLIC, PUBLIC_OLD)


def ensure(layer: Layer, task: Task | None = None) -> None:
    if not layer.requirements.exists():
        raise UserError(f"{relative(layer.requirements)} is missing")
    lock = "fill" + layer.venv.name
    busy = _busy(layer.venv)
    # Another layer may be in progress; this one is complete nevertheless.
    if layer.ready() and (not busy.exists() or is_locked(lock)):
        return

    def waiting() -> None:
        display.say(f"waiting for another ./mw that fills {relative(layer.venv)}")

    with locked(lock, waiting) as held:
        if not layer.ready() or busy.exists():
            held.at_work()
            _make_venv(layer.venv, task)
            _install(layer, task)


def site_packages(venv: Path = VENV) -> Path:
    found = sorted(venv.glob("lib/python3*/site-packages"))
    if not found:
        raise StepFailed(f"{relative(venv)} has no site-packages; run ./mw clean --all")
    return found[-1]


def pjrt_include() -> Path:
    """The folder of the PJRT header in the CPU plug-in's wheel."""
    folder = site_packages() / "xla_plugins" / "xla_cpu_pjrt" / "include"
    if not (folder / "pjrt_c_api.h").exists():
        raise StepFailed("the XLA plug-in's wheel holds no pjrt_c_api.h")
    return folder


def _busy(venv: Path) -> Path:
    """Exists while a layer is being installed, and afterwards if that was
    interrupted."""
    return venv / ".mw" / "busy"


def _make_venv(venv: Path, task: Task | None) -> None:
    made = venv / ".mw" / "made"
    whole = (venv / "bin" / "python").exists() and not _busy(venv).exists()
    if whole and stamp_matches(made, fingerprint("venv")):
        return
    if venv.exists():
        display.say(f"{relative(venv)} is incomplete or was moved; making it anew")
        shutil.rmtree(venv)
    python = _interpreter()
    argv = [python, "-m", "venv", venv]
    process.run(f"making {relative(venv)}", argv, f"make{venv.name}", task=task)
    write_stamp(made, fingerprint("venv"))


def _install(layer: Layer, task: Task | None) -> None:
    pip = [layer.venv / "bin" / "python", "-m", "pip", "install"]
    pip += ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    # Modules are compiled when they are first imported, as few of them ever are.
    pip += ["--no-compile"]
    pip += ["--no-deps"] if layer.alone else []
    log = f"pip-{layer.name}"
    write_stamp(_busy(layer.venv), layer.name)
    argv = [*pip, "-r", layer.requirements]
    process.run(layer.title, argv, log, _pip_text, task=task)
    if layer.package and (PYTHON / "pyproject.toml").exists():
        argv = [*pip, *EDITABLE, PYTHON]
        title = "our Python package"
        process.run(title, argv, log, _pip_text, append=True, task=task)
    write_stamp(layer.stamp(), layer.inputs())
    _busy(layer.venv).unlink()


def _pip_text(line: str) -> str | None:
    words = ("Collecting", "Downloading", "Using cached", "Installing", "Building")
    return line.split(" (from ")[0][:70] if line.startswith(words) else None


def _interpreter() -> str:
    """An interpreter that can create venvs, recent enough for the pinned JAX."""
    seen = []
    for candidate in _candidates():
        version = _version_if_it_has_venv(candidate)
        if version and version >= OLDEST:
            return candidate
        seen.append(candidate)
    raise UserError(
        f"needs Python {OLDEST[0]}.{OLDEST[1]} or newer with the venv module; "
        f"none among {', '.join(seen)}"
    )


def _candidates() -> Iterator[str]:
    names = [sys.executable, "/usr/bin/python3", "python3"]
    names += [f"python3.{minor}" for minor in (13, 12, 11)]
    paths = (shutil.which(name) for name in names if name)
    yield from dict.fromkeys(path for path in paths if path)


def _version_if_it_has_venv(python: str) -> tuple[int, int] | None:
    if python == sys.executable:
        parts = ("venv", "ensurepip")
        whole = all(importlib.util.find_spec(part) for part in parts)
        return sys.version_info[:2] if whole else None
    code = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
    answer = subprocess.run(
        [python, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )
    if answer.returncode != 0:
        return None
    major, minor = answer.stdout.split()
    return int(major), int(minor)
