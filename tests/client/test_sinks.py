"""Metrics of real steps, in whatever way training ends."""

import itertools
import json
import re
import signal
import subprocess
import sys

import jax
import numpy as np
import pytest

from conftest import ROOT, WIDTH
from meshwright import metrics

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from terminal import Terminal

KEY = jax.random.key(3)
SCRIPT = ROOT / "tests" / "client" / "endless_training.py"
ENDLESS = 10**9


def test_figures_of_steps(regression, parallelize, tmp_path, capsys):
    records = []
    path = tmp_path / "metrics.jsonl"
    step = parallelize(
        regression.train_step,
        log_every=4,
        sinks=[metrics.JsonLines(path), records.append],
    )
    state = step.init(regression.init, KEY)
    results = []
    # Two forms of batches are two jobs; the steps are counted on.
    sizes = [32, 32, 32, 32, 16, 16]
    for batch in itertools.chain.from_iterable(
        regression.batches(1, size) for size in sizes
    ):
        state, result = step(state, batch)
        results.append(result)
    step.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines == records
    assert [one["step"] for one in records] == [1, 2, 3, 4, 5, 6]
    for name in ("loss", "norm"):
        want = [float(result[name]) for result in results]
        np.testing.assert_allclose([one[name] for one in records], want, rtol=1e-6)
    assert all(one["seconds"] > 0 for one in records)
    rates = [one["samples_per_second"] * one["seconds"] for one in records[1:]]
    np.testing.assert_allclose(rates, sizes[1:], rtol=1e-3)
    assert all(0 < one["mfu"] < 1 for one in records[1:])
    first, last = capsys.readouterr().out.splitlines()
    form = r"step {}: loss \S+, [\d,]+ samples/s, norm \S+, MFU \S+ %, \S+ ms a step"
    assert re.fullmatch(form.format(4), first)
    assert re.fullmatch(form.format(6), last)


def test_steps_are_counted_on_after_a_restore(regression, parallelize, tmp_path):
    steps = []
    step = parallelize(regression.train_step, sinks=[lambda r: steps.append(r["step"])])
    state = step.init(regression.init, KEY)
    (batch,) = regression.batches(1)
    for _ in range(3):
        state, _ = step(state, batch)
    step.save(tmp_path)
    state, _ = step(state, batch)
    state = step.restore(tmp_path)
    step(state, batch)
    step.close()
    assert steps == [1, 2, 3, 4, 4]


def test_figures_of_many_steps_at_a_call(regression, parallelize):
    records = []
    step = parallelize(regression.train_step, sinks=[records.append])
    state = step.init(regression.init, KEY)
    (batch,) = regression.batches(1)
    state, result = step.many(3, state, batch)
    losses = step.losses
    step.close()
    assert [one["loss"] for one in records] == losses
    assert records[-1]["norm"] == float(result["norm"])


@pytest.mark.filterwarnings("ignore:the sink .* failed")
def test_training_goes_on_where_a_sink_does_not(regression, parallelize):
    def failing(record):
        raise RuntimeError("no")

    step = parallelize(regression.train_step, sinks=[failing])
    state = step.init(regression.init, KEY)
    for batch in regression.batches(3):
        state, _ = step(state, batch)
    assert state.fetch("params/up").shape[0] == WIDTH
    assert int(state.fetch("steps")) == 3


def run(folder, steps) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, SCRIPT, folder, str(steps)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def assert_written(folder, steps: int | None = None) -> None:
    """By all sinks, to the last step."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    found = [json.loads(line)["step"] for line in lines]
    assert found == list(range(1, len(found) + 1))
    assert steps is None or len(found) == steps
    assert (folder / "loss.svg").read_text().endswith("</svg>\n")


def test_all_is_written_when_a_script_just_ends(tmp_path):
    out, err = run(tmp_path, 12).communicate(timeout=120)
    assert_written(tmp_path, 12)
    assert [line.split(":")[0] for line in out.splitlines()] == [
        *("step 5", "step 10", "step 12")
    ]
    assert err == ""  # In a pipe there is no bar.


def test_all_is_written_when_a_script_is_interrupted(tmp_path):
    child = run(tmp_path, ENDLESS)
    first = child.stdout.readline()
    child.send_signal(signal.SIGINT)
    try:
        out, err = child.communicate(timeout=30)
    finally:
        child.kill()
    assert child.returncode == -signal.SIGINT
    assert first.startswith("step 5: ")
    assert_written(tmp_path)
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert "Exception in thread" not in err
    # The last line is of the last step.
    last = len((tmp_path / "metrics.jsonl").read_text().splitlines())
    assert [first, *out.splitlines()][-1].startswith(f"step {last}: ")


def test_a_bar_at_a_terminal(tmp_path):
    argv = [sys.executable, SCRIPT, tmp_path, "12"]
    with Terminal(argv, columns=100) as terminal:
        assert terminal.wait() == 0
    rows = [row for row in terminal.rows() if row.strip()]
    # Lines are above the bar, which is left with the last figures.
    assert [row.split(":")[0] for row in rows if row.startswith("step")] == [
        *("step 5", "step 10", "step 12")
    ]
    (bar,) = [row for row in rows if "12/12" in row]
    assert re.match(r"100%\|.+\| 12/12 \[.*step/s, loss \S+, [\d,]+ samples/s\]", bar)
    assert len(rows) == 4
