"""Checkpoints that a step makes by itself: when, and what happens when one fails."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import jax
import numpy as np
import pytest

import meshwright
from conftest import trained
from meshwright.client.engine import find_program

KEY = jax.random.key(5)


def verify(folder):
    words = [find_program(), "checkpoint", "verify", folder]
    done = subprocess.run(words, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_checkpoints_by_themselves(regression, parallelize, tmp_path):
    step = parallelize(regression.train_step)
    step.save_every(tmp_path, steps=3, keep=2)
    batches = list(regression.batches(10))
    expected, _ = regression.reference(KEY, batches)
    trained(step, step.init(regression.init, KEY), batches)
    step.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "step_00000006",
        "step_00000009",
    ]
    verify(tmp_path)
    step = parallelize(regression.train_step)
    state = step.restore(tmp_path, step.init(regression.init, KEY))
    losses, _ = trained(step, state, batches[9:])
    np.testing.assert_allclose(losses, expected[9:], rtol=1e-4)


@pytest.mark.parametrize("at_once", [1, 50])
def test_by_minutes(regression, parallelize, tmp_path, at_once):
    seconds = 0.4
    step = parallelize(regression.train_step)
    state = step.init(regression.init, KEY)
    (batch,) = regression.batches(1)
    state, _ = step(state, batch)  # Compiled.
    began = time.time()
    step.save_every(tmp_path, minutes=seconds / 60, keep=0)
    while time.time() < began + 5 * seconds:
        state, _ = step.many(at_once, state, batch)
        time.sleep(0.005)
    ended = time.time()
    step.close()
    times = sorted(file.stat().st_mtime for file in tmp_path.glob("*/manifest.json"))
    # The clocks of files are coarse.
    assert 2 <= len(times) <= (ended - began) / seconds + 1
    assert times[0] > began + seconds - 0.05
    verify(tmp_path)


def test_minutes_or_steps_whichever_comes_first(regression, parallelize, tmp_path):
    step = parallelize(regression.train_step)
    step.save_every(tmp_path, steps=3, minutes=60)
    batches = list(regression.batches(4))
    trained(step, step.init(regression.init, KEY), batches)
    step.close()
    assert [path.name for path in tmp_path.iterdir()] == ["step_00000003"]


def test_a_folder_that_cannot_be_written(regression, parallelize, tmp_path):
    step = parallelize(regression.train_step)
    batch = next(regression.batches(1))
    state, _ = step(step.init(regression.init, KEY), batch)
    step.save(tmp_path / "run")
    blocked = tmp_path / "blocked"
    blocked.write_text("")  # A file where the folder should be.
    step.save_every(blocked, steps=1)
    with pytest.warns(meshwright.MeshwrightWarning, match="the state was not saved"):
        state, _ = step(state, batch)
    assert state.fetch("steps") == 2
    assert step.restore(tmp_path / "run").fetch("steps") == 1


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "meshwright", folder]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"mount: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def left_in(folder):
    """Names of files, once the last save, in the background, has failed."""
    end = time.monotonic() + 20
    while any(folder.glob(".saving-*")) and time.monotonic() < end:
        time.sleep(0.02)
    return [path.name for path in folder.iterdir()]


def test_a_full_disk(regression, parallelize, small_disk):
    """Training goes on, the last checkpoint stays; room is used once there is some."""
    batches = list(regression.batches(9))
    expected, _ = regression.reference(KEY, batches)
    folder = small_disk / "run"
    step = parallelize(regression.train_step)
    losses, state = trained(step, step.init(regression.init, KEY), batches[:1])
    step.save(folder)
    ballast = small_disk / "ballast"
    with ballast.open("wb") as file, pytest.raises(OSError, match="No space left"):
        while True:
            os.write(file.fileno(), bytes(4096))

    def train_on(count):
        nonlocal state
        more, state = trained(step, state, batches[len(losses) : len(losses) + count])
        losses.extend(more)

    step.save_every(folder, steps=1, keep=1)
    with pytest.warns(meshwright.MeshwrightWarning) as caught:
        train_on(4)
    told = [str(one.message) for one in caught]
    line = rf"the state was not saved: {re.escape(str(folder))}\S*: No space left.*"
    assert len(told) >= 3 and all(re.fullmatch(line, text) for text in told), told
    assert left_in(folder) == ["step_00000001"]
    verify(folder)
    with pytest.raises(meshwright.MeshwrightError, match="No space left"):
        step.save(folder)
    ballast.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error", meshwright.MeshwrightWarning)
        train_on(4)
        step.close()
    assert [path.name for path in folder.iterdir()] == ["step_00000009"]
    verify(folder)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)


SCRIPT = """
import sys, time
sys.path.insert(0, {tests!r})
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import jax, numpy as np, meshwright
from conftest import Regression
regression = Regression()
step = meshwright.parallelize(regression.train_step, cluster="cpu:2")
state = step.init(regression.init, jax.random.key(5))
step.save_every({folder!r}, steps=1000000)
print("ready", flush=True)
batch = next(regression.batches(1))
try:
    while True:
        state, metrics = step(state, batch)
        print(step.steps, flush=True)
        time.sleep({pause})
except KeyboardInterrupt:
    print("interrupted", step.steps, int(state.fetch("steps")), flush=True)
"""


@pytest.mark.parametrize("pause", [0, 0.2])
def test_ctrl_c_saves_and_leaves_the_state_usable(tmp_path, pause):
    """In a step, and between two."""
    folder = tmp_path / "run"
    script = SCRIPT.format(
        tests=str(Path(__file__).parent), folder=str(folder), pause=pause
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    )
    for line in child.stdout:
        if line.strip() == "5":
            break
    os.kill(child.pid, signal.SIGINT)
    try:
        rest = child.communicate(timeout=60)[0].split("\n")
    finally:
        child.kill()
    interrupted, steps, own = rest[-2].split()
    assert interrupted == "interrupted"
    assert steps == own
    saved = json.loads((folder / f"step_{int(steps):08}" / "manifest.json").read_text())
    assert saved["step"] == int(steps)


def test_steps_go_on_while_it_is_saved(regression, parallelize, tmp_path):
    batches = list(regression.batches(12))
    expected, _ = regression.reference(KEY, batches)
    step = parallelize(regression.train_step)
    step.save_every(tmp_path, steps=1, keep=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", meshwright.MeshwrightWarning)
        losses, _ = trained(step, step.init(regression.init, KEY), batches)
    step.close()
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    assert len(list(tmp_path.iterdir())) == 12
