"""Kernels of a user's own library, given by --ffi, where steps run."""

import ctypes
import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
import scripts

HERE = Path(__file__).resolve().parent
COMPILER = shutil.which("c++") or shutil.which("clang++-19")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("kernels") / "kernels.so"
    words = [COMPILER, "-std=c++17", "-O1", "-fPIC", "-shared"]
    headers = ["-isystem", jax.ffi.include_dir()]
    source = HERE / "user_kernels.cc"
    subprocess.run([*words, *headers, source, "-o", path], check=True)
    return path


@pytest.fixture(scope="module")
def step(tmp_path_factory):
    path = tmp_path_factory.mktemp("step") / "step.hlo.pb"
    scripts.run(HERE / "kernel_step.py", path, "--rules")
    return path


@pytest.fixture
def ffi(library):
    return ("--ffi", f"{library}:norm=RmsNorm,norm_grad")


def layout(tmp_path, **parameters):
    path = tmp_path / "layout.json"
    path.write_text(json.dumps({"mesh": {"data": 4}, "parameters": parameters}))
    return path


def jax_losses(library, values, steps, monkeypatch):
    """Of kernel_step.py's step, by JAX with the same library."""
    loaded = ctypes.cdll.LoadLibrary(str(library))
    for target, symbol in (("norm", loaded.RmsNorm), ("norm_grad", loaded.norm_grad)):
        jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(symbol), platform="cpu")
    monkeypatch.setattr(sys, "argv", ["kernel_step.py", "none"])
    script = runpy.run_path(str(HERE / "kernel_step.py"))
    state = {name: values[f"state/{name}"] for name in ("up", "down", "scale")}
    losses = []
    for _ in range(steps):
        state, loss = jax.jit(script["step"])(state, values["batch"])
        losses.append(float(loss))
    return losses


def drawn():
    rng = np.random.default_rng(0)
    shapes = {"up": (64, 128), "down": (128, 32), "scale": (128,)}
    values = {f"state/{k}": rng.normal(size=v) for k, v in shapes.items()}
    values["batch"] = rng.normal(size=(32, 64))
    return {name: value.astype(np.float32) for name, value in values.items()}


def test_kernels_run_split_and_equal_one_device(cli, step, ffi, tmp_path):
    rows = layout(tmp_path, batch="[data, -]")
    report = cli.json("check", step, "--sharding", rows, *ffi)
    assert report["devices"] == 4 and report["ok"]


@pytest.mark.parametrize("where", [(), ("--workers", "2")], ids=["here", "workers"])
def test_losses_are_those_of_jax(cli, step, ffi, library, tmp_path, where, monkeypatch):
    values = drawn()
    np.savez(tmp_path / "inputs.npz", **values)
    flags = ("--inputs", tmp_path / "inputs.npz", "--steps", "3")
    rows = layout(tmp_path, batch="[data, -]")
    report = cli.json("run", step, "--sharding", rows, *flags, *ffi, *where)
    wanted = jax_losses(library, values, 3, monkeypatch)
    np.testing.assert_allclose(report["loss"], wanted, rtol=1e-5)


@pytest.fixture(scope="module")
def layers(tmp_path_factory):
    """Kernels in every layer, and in a loop."""
    path = tmp_path_factory.mktemp("layers") / "step.hlo.pb"
    words = [path, "--rules", "--layers", "3", "--times", "2"]
    scripts.run(HERE / "kernel_step.py", *words)
    return path


@pytest.mark.parametrize(
    "flags",
    [
        ("--stages", "1", "--micro-batches", "4"),
        ("--stages", "1", "--micro-batches", "2", "--mesh", "data=2,model=2"),
        ("--stages", "1", "--micro-batches", "2", "--recompute", "full"),
        ("--stages", "2", "--micro-batches", "4"),
        ("--stages", "4", "--micro-batches", "8", "--schedule", "gpipe"),
        ("--stages", "2", "--micro-batches", "2", "--recompute", "full"),
    ],
    ids=" ".join,
)
def test_planned_as_on_one_device(cli, layers, ffi, tmp_path, flags):
    """In micro-batches and in stages. A workspace, and a gradient that is a sum."""
    plan = tmp_path / "plan.json"
    report = cli.json(
        *("plan", layers, "--cluster", "cpu:4", "--assumed", "--require-rules"),
        *("-o", plan, *flags),
    )
    asked = dict(zip(flags[::2], flags[1::2], strict=True))
    assert report["micro_batches"] == int(asked["--micro-batches"])
    assert report["whole"] == []
    assert cli.json("check", layers, "--plan", plan, "--steps", "2", *ffi)["ok"]


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("b n, n -> b n, b, w {need_replication: n}", 0),
        ("b n, n -> b n, b, w {reduction: n}", 1),
    ],
    ids=["true", "wrong"],
)
def test_check_finds_rules_that_are_wrong(cli, ffi, tmp_path, rule, code):
    """A norm of a part of a row is not a part of the row's norm."""
    path = tmp_path / "step.hlo.pb"
    scripts.run(HERE / "kernel_of_batch.py", path, rule)
    columns = layout(tmp_path, batch="[-, data]")
    done = cli("check", path, "--sharding", columns, *ffi)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("NOT EQUAL" in done.stdout + done.stderr) == (code == 1)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{library}", "'{library}' is not LIBRARY:TARGET=SYMBOL[,TARGET=SYMBOL...]"),
        (
            "{library}:norm=",
            "'{library}:norm=' is not LIBRARY:TARGET=SYMBOL[,TARGET=SYMBOL...]",
        ),
        (
            "/none/k.so:norm",
            "/none/k.so: cannot open shared object file: No such file or directory",
        ),
        (
            "{library}:norm=Norm",
            "{library}: there is no symbol Norm, which is to be the kernel of norm",
        ),
        (
            "{library}:norm=RmsNorm,norm=norm_grad",
            "{library}: norm has a kernel already",
        ),
        ("{step}:norm", "{step}: invalid ELF header"),
    ],
)
@pytest.mark.parametrize("command", ["check", "run", "worker", "serve"])
def test_libraries_that_cannot_be_used(cli, step, library, command, text, line):
    names = {"library": library, "step": step}
    words = {
        "check": (step, "--mesh", "data=4"),
        "run": (step,),
        "worker": ("--join", "127.0.0.1:1"),
        "serve": ("--own-devices", "--until-eof"),
    }[command]
    said = cli.refuses(command, *words, "--ffi", text.format(**names))
    assert said == f"meshwright {command}: --ffi: {line.format(**names)}"


@pytest.mark.parametrize("command", ["check", "run"])
def test_kernels_that_are_not_there(cli, step, library, command):
    line = cli.refuses(
        command, step, "--mesh", "data=4", "--ffi", f"{library}:norm_grad"
    )
    assert "norm" in line and "--ffi LIBRARY:norm=SYMBOL" in line


def test_workers_take_their_own(cli, step, ffi):
    assert "--ffi is for --own-devices" in cli.refuses("serve", *ffi)
    line = cli.refuses("run", step, "--serve-at", "127.0.0.1:1", *ffi)
    assert "--serve-at" in line and "--ffi" in line
