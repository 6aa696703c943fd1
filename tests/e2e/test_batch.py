"""Which dimension of the data is the batch's, and what follows from it."""

import json
from pathlib import Path

import pytest
import scripts

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def lower(tmp_path_factory):
    """Lowers the recurrent step; `told` is what lower() is told of the batch."""

    def lowered(told=None):
        path = tmp_path_factory.mktemp("rnn") / "rnn.hlo.pb"
        scripts.run(HERE / "rnn_step.py", path, *([json.dumps(told)] if told else []))
        return path

    return lowered


@pytest.fixture(scope="session")
def rnn(lower):
    return lower()


@pytest.fixture
def make(cli, tmp_path):
    def plan(module, *flags, cluster="cpu:4"):
        path = tmp_path / "plan.json"
        words = ("--cluster", cluster, "--assumed", "-o", path, *flags)
        return cli.json("plan", module, *words), path

    return plan


def axes_of(report, path):
    tensors = json.loads(path.read_text())["tensors"]["parameters"]
    names = [tensor["name"] for tensor in tensors]
    return dict(zip(names, report["shardings"]["parameters"], strict=True))


@pytest.mark.parametrize(
    "flags",
    [
        ("--strategy", "dp"),
        ("--micro-batches", "4", "--stages", "1"),
        ("--stages", "2"),
        ("--batch-axis", "rows", "--stages", "1"),
    ],
    ids=" ".join,
)
def test_a_step_whose_time_comes_first(cli, rnn, make, flags):
    report, path = make(rnn, *flags)
    if "--micro-batches" in flags:  # So small a step may be left whole.
        assert all("nothing is split" in note for note in report["notes"])
    else:
        assert report["notes"] == []
    assert cli.json("check", rnn, "--plan", path)["ok"]
    axes = axes_of(report, path)
    if "dp" in flags:
        assert axes["batch/x"] == [[], ["data"], []]
        assert axes["batch/labels"] == axes["batch/lengths"] == [["data"]]
    if "--batch-axis" in flags:
        assert axes["batch/x"][1] == axes["batch/labels"][0] == ["rows"]
    if "--stages" in flags and flags[-1] == "2":
        forward = [s["forward_seconds"] for s in report["pipeline"]["stages"]]
        assert max(forward) < 2 * min(forward)


def test_micro_batches_are_those_of_the_batch(cli, rnn):
    line = cli.refuses(
        "plan", rnn, "--cluster", "cpu:4", "--micro-batches", 3, "--stages", 1
    )
    assert "batch/labels s32[16]: dimension 0 does not divide into 3" in line


def test_a_batch_that_lower_is_told(cli, lower, make):
    rnn = lower({"batch": 0, "batch/x": 1})
    report, path = make(rnn, "--strategy", "dp")
    assert axes_of(report, path)["batch/x"] == [[], ["data"], []]
    assert cli.json("check", rnn, "--plan", path)["ok"]
    # As it is told, even where less can be split.
    report, path = make(lower({"batch/labels": 0}), "--strategy", "dp")
    axes = axes_of(report, path)
    assert axes["batch/labels"] == [["data"]]
    assert axes["batch/x"] == [[], [], []]


def test_a_batch_that_does_not_divide_is_told(cli, rnn, mlp, make):
    words = ("plan", rnn, "--cluster", "cpu:3", "--assumed", "--strategy", "dp")
    note = (
        "along data the batch is not split: the 16 examples of batch/labels "
        "(and 2 more) do not divide into 3 parts"
    )
    assert cli.json(*words)["notes"] == [note]
    assert f"note: {note}" in cli(*words).stdout
    report, _ = make(rnn, "--strategy", "zero2", "--micro-batches", 8)
    note = (
        "along data the batch is not split: the 2 examples of a micro-batch of "
        "batch/labels (and 2 more) do not divide into 4 parts"
    )
    assert report["notes"] == [note]
    assert make(mlp, "--strategy", "dp")[0]["notes"] == []
