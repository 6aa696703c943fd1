"""A small step, trained by workers through their coordinator and on one device."""

import array
import json
import os
import struct
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(
    os.environ.get("MESHWRIGHT_BIN", ROOT / "build/release/meshwright/cli/meshwright")
)
STEP = ROOT / "tests/e2e/small_step.hlo"
TOLERANCE = 2e-5


def run(*words):
    return subprocess.run(
        [BINARY, *map(str, words)],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout


def make_plan(path):
    """Data parallel on two devices."""
    run("plan", STEP, "--cluster", "cpu:2", "--strategy", "dp", "--assumed", "-o", path)
    return path


def floats(path):
    """The values of a safetensors file of f32, by name."""
    content = path.read_bytes()
    [size] = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + size])
    header.pop("__metadata__", None)
    found = {}
    for name, tensor in header.items():
        assert tensor["dtype"] == "F32"
        begin, end = tensor["data_offsets"]
        found[name] = array.array("f", content[8 + size + begin : 8 + size + end])
    return found


def train(folder, *words):
    """Three steps: the losses, and the state after them."""
    saved = folder / "state.safetensors"
    ran = run("run", STEP, "--steps", 3, "--save", saved, "--json", *words)
    return json.loads(ran)["loss"], floats(saved)


def train_at(address, plan, folder):
    """Through the coordinator, once its workers are there."""
    end = time.time() + 60
    while True:
        try:
            return train(folder, "--plan", plan, "--serve-at", address)
        except subprocess.CalledProcessError as error:
            if time.time() > end:
                pytest.fail(error.stderr)
            time.sleep(0.5)


def assert_as_one_device(trained, folder):
    losses, state = trained
    wanted_losses, wanted = train(folder)
    assert losses == pytest.approx(wanted_losses, rel=TOLERANCE)
    assert state.keys() == wanted.keys()
    for name, values in wanted.items():
        scale = max(map(abs, values))
        near = pytest.approx(values, rel=TOLERANCE, abs=TOLERANCE * scale)
        assert state[name] == near, name
