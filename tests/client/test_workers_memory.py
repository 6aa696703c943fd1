"""Arrays that a script shares with the workers of a coordinator of this machine."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import meshwright
from meshwright.client.engine import find_program
from meshwright.client.loans import SHARED_BYTES
from meshwright.errors import MeshwrightError

SCRIPT = """
    import numpy as np
    import meshwright

    step = meshwright.parallelize(
        lambda state, x: (state, x.sum()), cluster={address!r}, mesh={{"data": 2}}
    )
    state = step.put(np.ones((256, 1024), np.float32))
    state, out = step(state, np.ones((64, 1024), np.float32))
    print("ran", flush=True)
    while True:
        state, out = step(state, np.ones((64, 1024), np.float32))
        state.fetch()
"""


@pytest.fixture
def started():
    """A coordinator's address, and its two workers of a device each."""
    with contextlib.ExitStack() as stack:

        def start(*words):
            child = subprocess.Popen(
                [find_program(), *words], stdout=subprocess.PIPE, text=True
            )
            stack.callback(child.wait, 30)
            stack.callback(child.kill)
            return child

        serve = start(
            "serve", "--listen", "127.0.0.1:0", "--cluster", "cpu:2", "--workers", "2"
        )
        address = serve.stdout.readline().split()[2].rstrip(";")
        join = ["worker", "--join", address, "--devices", "1", "--platform", "cpu"]
        workers = [start(*join), start(*join)]
        for line in serve.stdout:
            if "2 of 2 workers" in line:
                break
        yield address, workers


def mapped(worker) -> int:
    """How many scripts' memories."""
    return Path(f"/proc/{worker.pid}/maps").read_text().count("/memfd:meshwright (")


def await_mapped(workers, count) -> None:
    end = time.monotonic() + 60
    while [mapped(worker) for worker in workers] != [count] * len(workers):
        assert time.monotonic() < end
        time.sleep(0.02)


def tree():
    rng = np.random.default_rng(0)
    large = rng.normal(size=(102, SHARED_BYTES // 256)).astype(np.float32)
    return {
        "rows": large,
        "columns": large[::-1].astype(ml_dtypes.bfloat16),
        "uneven": (large[:99] * 100).astype(np.int8),
        "copies": large > 0,
        "tiny": np.arange(6, dtype=np.int32),
        "none": np.zeros((0, 4), np.float32),
    }


def assert_bits(found, expected):
    for name, array in expected.items():
        one = np.asarray(found[name])
        assert one.dtype == array.dtype and one.shape == array.shape
        assert one.tobytes() == array.tobytes(), name


def test_bits_are_equal_however_arrays_are_split(started):
    address, workers = started
    pins = {
        "state/rows": "[data, -]",
        "state/columns": "[-, data]",
        "state/uneven": "[data, -]",
        "state/copies": "[-, -]",
    }
    step = meshwright.parallelize(
        lambda state, batch: (state, batch),
        cluster=address,
        mesh={"data": 2},
        pins={"parameters": pins},
    )
    given = tree()
    state, batch = step(step.put(given), given)
    assert [mapped(worker) for worker in workers] == [1, 1]
    assert_bits(batch, given)
    assert_bits(state.fetch(), given)
    # What was lent is the script's again.
    other = {name: array[::-1].copy() for name, array in given.items()}
    state, batch = step(state, other)
    assert_bits(batch, other)
    assert_bits(state.fetch(), given)
    for ahead, expected in zip(step.prefetch([given, other]), (given, other)):
        state, batch = step(state, ahead)
        assert_bits(batch, expected)
    step.close()
    await_mapped(workers, 0)


@pytest.mark.parametrize("what", ["put", "fetch"])
def test_a_worker_that_is_killed_meanwhile_is_named(started, what):
    address, workers = started
    step = meshwright.parallelize(
        lambda state, x: (state, x.sum()),
        cluster=address,
        mesh={"data": 2},
        strategy="zero3",
    )
    given = np.ones((1024, 1024), np.float32)
    state, out = step(step.put(given), given)
    assert out == given.size

    def kill():
        time.sleep(0.5)
        workers[1].kill()

    workers[1].send_signal(signal.SIGSTOP)
    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(MeshwrightError, match=f"pid {workers[1].pid}"):
        if what == "fetch":
            state.fetch()
        else:
            step(step.put(given), given)
    killer.join()
    assert (given == 1).all()
    step.close()
    await_mapped(workers[:1], 0)


def test_a_script_that_is_killed_leaves_nothing(started):
    address, workers = started
    words = [sys.executable, "-c", textwrap.dedent(SCRIPT).format(address=address)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as script:
        assert script.stdout.readline() == "ran\n"
        assert [mapped(worker) for worker in workers] == [1, 1]
        time.sleep(0.3)
        os.kill(script.pid, signal.SIGKILL)
    await_mapped(workers, 0)
    assert [worker.poll() for worker in workers] == [None, None]
