"""Sizes that nobody has: what is asked is done in time, or refused in a line."""

import pytest
from conftest import seconds_of


@pytest.mark.parametrize(
    ("schedule", "chunks"),
    [
        ("gpipe", 1),
        ("1f1b", 1),
        ("interleaved", 2),
        ("breadth-first", 2),
        ("zero-bubble", 1),
        ("zero-bubble-v", 2),
        ("auto", 1),
    ],
)
def test_a_hundred_thousand_micro_batches(cli, schedule, chunks):
    words = ("--devices", 4, "--micro-batches", 100_000, "--chunks", chunks)
    seconds, done = seconds_of(lambda: cli("simulate", *words, "--schedule", schedule))
    assert done.returncode == 0, done.stderr
    assert "no order takes less than" in done.stdout
    assert seconds < 8  # A tenth of it, here; 33 with what was quadratic.


def test_many_stages_too(cli):
    words = ("--devices", 20_000, "--micro-batches", 4, "--schedule", "1f1b")
    seconds, done = seconds_of(lambda: cli("simulate", *words, "--json"))
    assert done.returncode == 0, done.stderr
    assert seconds < 8


@pytest.mark.parametrize("cluster", ["cpu:1000000", "h200:100000x8"])
def test_a_million_devices_are_planned_in_time(cli, mlp, cluster):
    words = ("plan", mlp, "--cluster", cluster, "--assumed", "--time-limit", 5)
    seconds, done = seconds_of(lambda: cli(*words, timeout=200))
    assert done.returncode == 0, done.stderr
    assert seconds < 25  # On two cores.
    runs_here = "the plan cannot be run or checked here" not in done.stdout
    assert runs_here == (cluster != "cpu:1000000")


def test_more_is_refused(cli, mlp):
    line = cli.refuses("plan", mlp, "--cluster", "cpu:1048577")
    assert "1 to 2^20" in line
    line = cli.refuses("simulate", "--devices", 17, "--micro-batches", 1_000_000)
    assert "16777216 forwards" in line
