"""Arrays that a script and its engine share: equal bits, no copies, no leftovers."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import jax
import ml_dtypes
import numpy as np
import pytest

from meshwright.client import messages, shared_memory
from meshwright.client.channel import Service
from meshwright.client.engine import find_program
from meshwright.client.loans import SHARED_BYTES, Loans, NoAnswer
from meshwright.client.shared_memory import SharedMemory, share_with
from meshwright.errors import MeshwrightError
from meshwright.wire import Message

LARGE = SHARED_BYTES  # Elements of at least a byte each.
DTYPES = [
    "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "bool",
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "complex64",
]  # fmt: skip


@pytest.fixture
def memory():
    made = SharedMemory.create()
    assert made is not None
    yield made
    made.close()


def used_bytes(memory):
    return os.fstat(memory.fd).st_blocks * 512


def array_of(dtype, shape=(64, LARGE // 64), seed=0):
    """Any bits; not those of numbers that are none, which arithmetic may change."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    kind = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    values = rng.integers(0, 100, shape)
    if dtype == "complex64":
        return (values + 1j * values[::-1]).astype(kind)
    return values.astype(kind)


def assert_bits(found, expected):
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


@pytest.fixture
def counted(monkeypatch):
    """The regions that were taken, by whether they were for the engine's arrays."""
    found = {"in": 0, "out": 0}
    take, into = Loans.take, Loans.into

    def count_in(self, size):
        region = take(self, size)
        found["in"] += region is not None
        return region

    def count_out(self, wanted):
        regions = into(self, wanted)
        found["out"] += sum(one is not None for one in regions)
        return regions

    monkeypatch.setattr(Loans, "take", count_in)
    monkeypatch.setattr(Loans, "into", count_out)
    return found


def echo(state, batch):
    return state, batch


def tree():
    small = {"scalar": np.float32(3), "none": np.zeros((0, 4), np.float32)}
    return {dtype: array_of(dtype) for dtype in DTYPES} | small


@pytest.mark.parametrize(
    "options",
    [
        {"cluster": "cpu:1"},
        {"strategy": "zero3"},
        {"pins": {"parameters": {"state/float32": "[-, model]"}}, "mesh": {"model": 4}},
    ],
    ids=["one", "zero3", "columns"],
)
def test_bits_are_equal_both_ways(parallelize, counted, options):
    step = parallelize(echo, **options)
    given = tree()
    state, batch = step(step.put(given), given)
    assert counted == {"in": 2 * len(DTYPES), "out": len(DTYPES)}
    for dtype in given:
        assert_bits(np.asarray(batch[dtype]), np.asarray(given[dtype]))
    fetched = state.fetch()
    assert counted["out"] == 2 * len(DTYPES)
    for dtype in given:
        assert_bits(np.asarray(fetched[dtype]), np.asarray(given[dtype]))
    fetched["float32"][:] = 7  # The script's own.
    assert_bits(state.fetch("float32"), given["float32"])


def test_arrays_of_any_order_and_type(parallelize, counted):
    rows = np.arange(4.0 * LARGE).reshape(4, LARGE)  # float64, as jax has none.
    given = {
        "turned": rows.T,
        "strided": rows[::2, ::3],
        "backwards": rows[::-1],
        "fortran": np.asfortranarray(rows),
        "jax": jax.numpy.asarray(rows),
        "integers": np.arange(LARGE),
    }
    step = parallelize(echo, cluster="cpu:1")
    for value in (given, jax.tree_util.tree_map(jax.numpy.asarray, given)):
        state, batch = step(step.put(value), value)
        for found in (batch, state.fetch()):
            for name, array in given.items():
                expected = np.asarray(jax.numpy.asarray(array))
                assert_bits(np.asarray(found[name]), expected)
    assert counted["in"] == 4 * len(given)


def test_large_arrays(parallelize):
    given = np.arange(40 << 20, dtype=np.float32)  # 160 MiB, of several groups.
    step = parallelize(echo, cluster="cpu:2")
    pair = {"a": given, "b": given + 1}
    state, out = step(step.put(pair), given[: 20 << 20])
    assert_bits(out, given[: 20 << 20])
    for name, array in state.fetch().items():
        assert_bits(array, pair[name])


def test_steps_use_the_same_memory_again(parallelize, monkeypatch):
    offsets = []
    take = SharedMemory.take

    def spy(self, size):
        region = take(self, size)
        offsets.append(region.offset)
        return region

    step = parallelize(echo, cluster="cpu:1")
    state, batch = step.put(array_of("float32")), array_of("int32")
    monkeypatch.setattr(SharedMemory, "take", spy)
    kept = []
    for _ in range(10):
        state, out = step(state, batch)
        assert_bits(out, batch)
    assert len(set(offsets)) <= 4
    for _ in range(5):  # But not what is still looked at.
        state, out = step(state, batch + len(kept))
        kept.append(out[1:])
    for i, view in enumerate(kept):
        assert_bits(view, batch[1:] + i)


def without_memory(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")


def full_memory(monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", fail)


def not_taken_by_the_engine(monkeypatch):
    monkeypatch.setattr(Service, "__init__", _without(Service.__init__))


def _without(init):
    return lambda self, *args, memory=None, **kwargs: init(self, *args, **kwargs)


@pytest.mark.parametrize(
    "break_it", [without_memory, full_memory, not_taken_by_the_engine]
)
def test_without_it_arrays_go_in_messages(parallelize, counted, monkeypatch, break_it):
    break_it(monkeypatch)
    step = parallelize(echo, cluster="cpu:1")
    given = array_of("bfloat16", (1024, 2048))
    state, out = step(step.put(given), given)
    assert_bits(out, given)
    assert_bits(state.fetch(), given)
    assert counted == {"in": 0, "out": 0}


def test_a_coordinator_of_this_machine_shares_memory(coordinator, parallelize, counted):
    step = parallelize(echo, cluster=coordinator)
    given = tree()
    state, batch = step(step.put(given), given)
    fetched = state.fetch()
    for name, array in given.items():
        assert_bits(np.asarray(batch[name]), np.asarray(array))
        assert_bits(np.asarray(fetched[name]), np.asarray(array))
    assert counted == {"in": 2 * len(DTYPES), "out": 2 * len(DTYPES)}


@pytest.mark.parametrize("name", ["meshwright-elsewhere", ""])
def test_a_coordinator_elsewhere_gets_messages(
    coordinator, parallelize, counted, monkeypatch, name
):
    monkeypatch.setattr(messages, "read_memory_socket", lambda _: name)
    step = parallelize(echo, cluster=coordinator)
    given = array_of("float32")
    state, out = step(step.put(given), given)
    assert_bits(out, given)
    assert_bits(state.fetch(), given)
    assert counted == {"in": 0, "out": 0}


def test_a_coordinator_keeps_no_memory_of_scripts_that_are_gone():
    """Each of two at once has its own; that of a killed one goes with it."""
    words = [find_program(), "serve", "--own-devices", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as serve:
        service = Service(serve.stdout.readline().split()[2].rstrip(";"))
        status = service._call("Status", "unary_unary", b"")
        service.close()
        name = messages.read_memory_socket(status)
        own, connection, key = share_with(name)
        script = f"""
            import os, signal
            from meshwright.client.shared_memory import share_with
            assert share_with({name!r})[2] != {key!r}
            os.kill(os.getpid(), signal.SIGKILL)
        """
        words = [sys.executable, "-c", textwrap.dedent(script)]
        done = subprocess.run(words, check=False)
        assert done.returncode == -signal.SIGKILL
        maps = Path(f"/proc/{serve.pid}/maps")
        for close, expected in ((lambda: None, 1), (connection.close, 0)):
            close()
            end = time.monotonic() + 60
            while (found := maps.read_text().count("/memfd:meshwright")) > expected:
                assert time.monotonic() < end
                time.sleep(0.01)
            assert found == expected
        own.close()
        serve.terminate()


def test_regions_are_used_again(memory):
    first = memory.take(100_000)
    offset = first.offset
    assert used_bytes(memory) >= 100_000
    first.give_back()
    assert memory.take(100_000).offset == offset
    second = memory.take(100_000)
    assert second.offset != offset
    array = second.into_array(np.dtype(np.int32), (25_000,))
    array[:] = np.arange(25_000)
    view = array[10:20].reshape(2, 5)
    offset = second.offset
    del array, second
    gc.collect()
    assert memory.take(100_000).offset != offset  # The view looks at it.
    assert view.sum() == sum(range(10, 20))
    del view
    assert memory.take(100_000).offset == offset


def test_little_is_kept(memory, monkeypatch):
    monkeypatch.setattr(shared_memory, "_KEPT_BYTES", 4 << 20)
    monkeypatch.setattr(shared_memory, "_KEPT_AT_MOST", 2 << 20)
    for size in (1 << 20, 3 << 20, (1 << 20) + 4096, 2 << 20):
        regions = [memory.take(size) for _ in range(8)]
        for region in regions:
            region.give_back()
    memory.take(1)
    assert used_bytes(memory) <= 5 << 20
    # The rest is in few pieces again.
    whole = os.fstat(memory.fd).st_size
    assert max(room for _, room in memory._free) > whole - (64 << 20)
    assert len(memory._free) <= 8


def test_all_of_it_may_be_in_use(memory):
    assert memory.take(os.fstat(memory.fd).st_size + 1) is None
    memory._free = [(0, 1 << 20)]
    taken = [memory.take(256 << 10) for _ in range(5)]
    assert taken[-1] is None and None not in taken[:-1]
    taken[1].give_back()
    assert memory.take(256 << 10).offset == taken[1].offset


@pytest.mark.filterwarnings("ignore:os.fork")
def test_a_fork_keeps_what_it_sees(memory):
    """A process that multiprocessing forks has the array that its parent lets go."""
    array = memory.take(LARGE).into_array(np.dtype(np.uint8), (LARGE,))
    array[:] = 1
    ready, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)  # Of its own: it ends with the test.
        os.read(ready, 1)
        os._exit(0 if array.min() == array.max() == 1 and not memory.take(9) else 1)
    offset = memory.take(LARGE).offset
    del array
    for _ in range(4):
        again = memory.take(LARGE)
        again.array(np.dtype(np.uint8), (LARGE,))[:] = 2
    os.close(write)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert again.offset != offset - LARGE
    os.close(ready)


def test_regions_of_a_call_without_an_answer_are_left_alone(memory):
    def is_used_again(error):
        with pytest.raises(type(error)), Loans(memory) as loans:
            given = loans.take(LARGE)
            (into,) = loans.into([("x", 2 * LARGE)])
            raise error
        again = memory.take(LARGE), memory.take(2 * LARGE)
        return [old.offset == new.offset for old, new in zip((given, into), again)]

    # What was to be filled may still be: by a worker that was only silent.
    assert is_used_again(MeshwrightError("worker 1 was lost")) == [True, False]
    for error in (NoAnswer("the engine ended"), KeyboardInterrupt()):
        assert is_used_again(error) == [False, False]


def test_abandoned_regions_take_no_memory(memory):
    with pytest.raises(MeshwrightError), Loans(memory) as loans:
        loans.into([("x", 100 * LARGE)])
        assert used_bytes(memory) >= 100 * LARGE
        raise MeshwrightError("worker 1 was lost")
    assert used_bytes(memory) == 0


SCRIPT = """
    import os, sys
    import numpy as np
    import meshwright

    step = meshwright.parallelize(lambda s, x: (s, x), cluster="cpu:1")
    state, out = step(step.put(np.ones(1 << 20)), np.ones(1 << 20))
    print(os.getpid(), step._place._engine._process.pid, flush=True)
    sys.stdin.read()
    kept = state.fetch()
    step.close()
    print(len(os.listdir("/proc/self/fd")), kept.sum(), flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("victim", ["script", "engine"])
def test_nothing_is_left_of_what_is_killed(victim):
    before = set(Path("/dev/shm").iterdir())
    script = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    own, engine = map(int, script.stdout.readline().split())
    assert any("memfd:meshwright" in line for line in maps(engine))
    os.kill(own if victim == "script" else engine, signal.SIGKILL)
    if victim == "engine":
        _, errors = script.communicate()
        assert "the engine ended (signal 9" in errors
    script.wait(30)
    for _ in range(100):
        if not maps(engine):
            break
        time.sleep(0.1)
    assert not maps(engine)
    assert set(Path("/dev/shm").iterdir()) <= before
    for end in (script.stdin, script.stdout, script.stderr):
        end.close()


def maps(process):
    try:
        return Path(f"/proc/{process}/maps").read_text().splitlines()
    except OSError:
        return []


def test_arrays_outlive_the_engine(parallelize):
    step = parallelize(echo, cluster="cpu:1")
    given = array_of("float32")
    state, out = step(step.put(given), given)
    fetched = state.fetch()
    step.close()
    gc.collect()
    assert_bits(out, given)
    assert_bits(fetched, given)


def test_closed_engines_leave_no_files_open(parallelize):
    def open_files():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    def run():
        step = parallelize(echo, cluster="cpu:1")
        given = array_of("float32")
        state, _ = step(step.put(given), given)
        state.fetch()
        step.close()

    run()
    before = open_files()
    for _ in range(3):
        run()
    assert open_files() <= before + 1


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (["--shared-memory", "5"], "--shared-memory is for --own-devices alone"),
        (["--own-devices", "--shared-memory", "{}"], "is no memory of this user that "),
        (["--own-devices", "--shared-memory", "1"], "a whole number from 3 to"),
    ],
)
def test_engines_refuse_other_files(words, want, tmp_path):
    with (tmp_path / "file").open("w+b") as file:
        file.truncate(1 << 20)
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


def test_messages_take_bytes_from_where_they_are():
    """Copied once, when a message is put together; read without a copy."""
    array = np.arange(3 << 18, dtype=np.float32)  # In two parts.
    with Loans(None) as loans:
        parts = list(messages.tensor_parts([("w", array)], loans))
        assert len(parts) == 2
        for part in parts:
            piece = np.frombuffer(part.pieces[-1], np.uint8)
            assert np.shares_memory(piece, array)
        sent = messages.step_parts(b"", parts)
        found = {}
        reader = messages.TensorReader(found.__setitem__, loans)
        for message in list(sent)[1:]:
            reader.add(Message.parse(memoryview(message)).first(2))
    np.testing.assert_array_equal(found["w"], array)
