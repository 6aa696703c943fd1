"""Installs the library and builds the example with it, as a user would."""

from __future__ import annotations

import shutil

from mw import build, process
from mw.paths import BUILD, ROOT, VENV, StepFailed
from mw.progress import Task

MODULE = ROOT / "testdata" / "gpt_tiny.hlo.pb.zst"


def check(task: Task | None = None) -> None:
    """Raises StepFailed unless the example trains on two virtual devices."""
    prefix, folder = BUILD / "embed" / "prefix", BUILD / "embed" / "build"
    shutil.rmtree(BUILD / "embed", ignore_errors=True)
    install = ["cmake", "--install", BUILD / "release", "--prefix", prefix]
    process.run("installing", install, "embed-install", task=task)
    configure = ["cmake", "-G", "Ninja", "-S", ROOT / "examples" / "embed"]
    configure += ["-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}"]
    compiler = build.compiler()
    configure += [f"-DCMAKE_CXX_COMPILER={compiler}"] if compiler else []
    process.run("configuring the example", configure, "embed-configure", task=task)
    argv = ["cmake", "--build", folder]
    process.run("building the example", argv, "embed-build", task=task)
    env = {"VIRTUAL_ENV": str(VENV)}
    run = [folder / "embed", MODULE, "cpu:2"]
    process.run("the example", run, "embed-run", env=env, task=task)
    log = (BUILD / "log" / "embed-run.log").read_text(errors="replace")
    if "step 9 loss" not in log:
        raise StepFailed("the example trained fewer than ten steps", log)
