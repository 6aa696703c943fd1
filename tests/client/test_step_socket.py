"""The socket between a script and its engine: steps without gRPC, and nothing lost."""

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import jax
import numpy as np
import pytest

from conftest import assert_same
from meshwright.client.channel import Service
from meshwright.client.engine import find_program
from meshwright.client.loans import NoAnswer
from meshwright.client.step_socket import StepSocket
from meshwright.errors import MeshwrightError

KEY = jax.random.key(7)


@pytest.fixture
def pair():
    """A script's end, and the socket of an engine that is not there."""
    steps, engine = StepSocket.pair(lambda: "it is gone")
    engine.settimeout(20)
    with engine:
        yield steps, engine
    steps.close()


@pytest.fixture
def called(monkeypatch):
    """The names of gRPC's methods that were called."""
    names = []
    call = Service._call

    def counted(self, name, *rest):
        names.append(name)
        return call(self, name, *rest)

    monkeypatch.setattr(Service, "_call", counted)
    return names


def received(engine, size):
    found = b""
    while len(found) < size:
        part = engine.recv(size - len(found))
        assert part
        found += part
    return found


def answered(engine, answer):
    """Sends that when a request has come, which it returns in the end."""
    found = []

    def serve():
        size, protocol = struct.unpack("=II", received(engine, 8))
        assert protocol == 1
        found.append(received(engine, size))
        for part in answer if isinstance(answer, list) else [answer]:
            engine.sendall(part)
            time.sleep(0.02)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread, found


def frame(code, data):
    return struct.pack("=II", len(data), code) + data


def test_answers_in_any_pieces(pair):
    steps, engine = pair
    large = os.urandom(3 << 20)
    whole = frame(0, b"reply")
    for answer, want in [
        (whole, b"reply"),
        ([whole[:3], whole[3:9], whole[9:]], b"reply"),
        (frame(0, b""), b""),
        (frame(0, large), large),
    ]:
        request = os.urandom(300_000)
        thread, found = answered(engine, answer)
        assert steps.run(request) == want
        thread.join()
        assert found == [request]


def test_errors_are_told_and_the_socket_goes_on(pair):
    steps, engine = pair
    thread, _ = answered(engine, frame(5, b"there is\nno job  \xff"))
    with pytest.raises(MeshwrightError, match="^there is no job \ufffd$") as error:
        steps.run(b"x")
    assert not isinstance(error.value, NoAnswer)
    thread.join()
    thread, _ = answered(engine, frame(0, b"y"))
    assert steps.run(b"x") == b"y"
    thread.join()


@pytest.mark.parametrize(
    "answer",
    [b"", b"\0\0", frame(0, b"reply")[:-1], struct.pack("=II", 1 << 30, 0)],
    ids=["none", "header", "truncated", "large"],
)
def test_what_is_no_answer(pair, answer):
    steps, engine = pair
    thread, _ = answered(engine, answer)

    def close():
        thread.join()
        engine.shutdown(socket.SHUT_RDWR)

    closer = threading.Thread(target=close)
    closer.start()
    with pytest.raises(NoAnswer, match="^it is gone$"):
        steps.run(b"x")
    closer.join()
    assert steps.run(b"x") is None  # From now on, by gRPC.


def test_one_call_at_a_time(pair):
    steps, engine = pair
    found = []
    first = threading.Thread(target=lambda: found.append(steps.run(b"x")))
    first.start()
    received(engine, 9)
    assert steps.run(b"x") is None
    engine.sendall(frame(0, b"y"))
    first.join()
    assert found == [b"y"]
    steps.close()
    assert steps.run(b"x") is None


def test_a_call_that_is_struck_drops_the_socket(pair):
    steps, engine = pair
    timer = threading.Timer(
        0.2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)
    )
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        steps.run(b"x")
    assert received(engine, 9)[8:] == b"x"
    assert engine.recv(1) == b""  # The engine sees it.
    assert steps.run(b"x") is None


@pytest.mark.filterwarnings("ignore:os.fork")
def test_forks_and_programs_do_not_have_it(pair):
    steps, engine = pair
    assert not steps._idle[0].get_inheritable() and not engine.get_inheritable()
    own = steps._idle[0].fileno()
    child = os.fork()
    if child == 0:
        is_open = True
        try:
            os.fstat(own)
        except OSError:
            is_open = False
        os._exit(0 if steps.run(b"x") is None and not is_open else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread, _ = answered(engine, frame(0, b"y"))
    assert steps.run(b"x") == b"y"
    thread.join()


def test_steps_go_through_it(regression, parallelize, called):
    batches = list(regression.batches(4))
    expected, last = regression.reference(KEY, batches)
    step = parallelize(regression.train_step)
    state, losses = step.init(regression.init, KEY), []
    for batch in batches:
        state, metrics = step(state, batch)
        losses.append(float(metrics["loss"]))
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    assert_same(state.fetch(), last)
    assert not {"RunStep", "Step"} & set(called)


def test_coordinators_of_others_have_none(regression, parallelize, coordinator, called):
    step = parallelize(regression.train_step, cluster=coordinator)
    step(step.init(regression.init, KEY), next(regression.batches(1)))
    assert "RunStep" in called


def test_malformed_frames_end_it_and_nothing_else(regression, parallelize, called):
    step = parallelize(regression.train_step)
    batches = list(regression.batches(3))
    expected, _ = regression.reference(KEY, batches)
    state, first = step(step.init(regression.init, KEY), batches[0])
    engine = step._place._engine
    own = engine._steps._idle[0]
    own.sendall(struct.pack("=II", 3, 1) + b"\xff\xff\xff")
    own.settimeout(20)
    assert own.recv(1) == b""
    own.settimeout(None)
    with pytest.raises(
        MeshwrightError, match="closed its step socket: the step .* 3 bytes"
    ):
        step(state, batches[1])
    assert "RunStep" not in called
    state, second = step(state, batches[1])
    state, third = step(state, batches[2])
    assert called.count("RunStep") == 2
    losses = [float(one["loss"]) for one in (first, second, third)]
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    assert list(engine._last) == [
        "the step socket is closed: a frame of 3 bytes that is no request for steps"
    ]


def test_an_engine_that_dies_in_a_step(regression, parallelize):
    step = parallelize(regression.train_step)
    batch = next(regression.batches(1))
    state, _ = step(step.init(regression.init, KEY), batch)
    pid = step._place._engine._process.pid
    os.kill(pid, signal.SIGSTOP)
    timer = threading.Timer(0.5, os.kill, (pid, signal.SIGKILL))
    timer.start()
    with pytest.raises(MeshwrightError, match=r"the engine ended \(signal 9"):
        step(state, batch)
    with pytest.raises(MeshwrightError, match=r"the engine ended \(signal 9"):
        step(state, batch)


SCRIPT = """
import signal, sys, threading, time
sys.path.insert(0, {tests!r})
signal.signal(signal.SIGINT, signal.default_int_handler)
import jax, meshwright, os
from conftest import Regression
regression = Regression()
step = meshwright.parallelize(regression.train_step, cluster="cpu:2")
batch = next(regression.batches(1))
state, _ = step(step.init(regression.init, jax.random.key(5)), batch)
engine = step._place._engine._process.pid
os.kill(engine, signal.SIGSTOP)
for seconds in (0.3, 0.6):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    step(state, batch)
except KeyboardInterrupt:
    print("interrupted", flush=True)
os.kill(engine, signal.SIGCONT)
step.close()
print("closed", flush=True)
"""


def test_a_second_ctrl_c_does_not_wait(tmp_path):
    """The engine hangs: the first waits for it, the second does not."""
    script = SCRIPT.format(tests=os.path.dirname(__file__))
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.split() == ["interrupted", "closed"], done.stderr


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (["--step-socket", "5"], "--step-socket is for --own-devices alone"),
        (["--own-devices", "--step-socket", "{}"], "is no end of a connected stream"),
        (["--own-devices", "--step-socket", "1"], "a whole number from 3 to"),
    ],
)
def test_engines_refuse_other_files(words, want, tmp_path):
    with (tmp_path / "file").open("w+b") as file:
        words = [word.format(file.fileno()) for word in words]
        done = subprocess.run(
            [find_program(), "serve", "--listen", "127.0.0.1:0", *words],
            check=False,
            pass_fds=[file.fileno()],
            capture_output=True,
            text=True,
            timeout=30,
        )
    assert done.returncode == 2 and want in done.stderr
