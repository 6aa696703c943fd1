"""Mixtures of experts that sort rows by expert, and drop none: each micro-batch and
each device sorts its own rows."""

import json
from pathlib import Path

import pytest
import scripts

SCRIPT = Path(__file__).resolve().parent / "routed_step.py"
LONG = [
    pytest.param(style, marks=pytest.mark.long)
    for style in ("inverse", "set", "one_hot")
]
STYLES = ("scatter", *LONG)


@pytest.fixture(scope="module")
def routed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("routed")

    def lower(*words):
        path = folder / f"{'_'.join(words)}.hlo.pb"
        if not path.exists():
            scripts.run(SCRIPT, path, *words)
        return path

    return lower


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "flags",
    [
        ("--stages", "1", "--micro-batches", "2"),
        ("--stages", "2", "--micro-batches", "4"),
    ],
    ids=["micro_batches", "stages"],
)
def test_micro_batches_sort_their_own_rows(cli, routed, tmp_path, style, flags):
    module, plan = routed(style), tmp_path / "plan.json"
    report = cli.json(
        *("plan", module, "--cluster", "cpu:4", "--assumed", "--require-rules"),
        *("-o", plan, *flags),
    )
    assert report["micro_batches"] == int(flags[-1])
    checked = cli.json("check", module, "--plan", plan, "--steps", "1")
    assert checked["ok"] and checked["max_rel_error"] > 0


@pytest.mark.parametrize("style", STYLES)
def test_devices_sort_their_own_rows(cli, routed, tmp_path, style):
    module, plan = routed(style), tmp_path / "plan.json"
    moves = "all-gather,all-to-all,collective-permute"
    flags = ("--cluster", "cpu:4", "--assumed", "--strategy", "dp", "--forbid", moves)
    report = cli.json("plan", module, *flags, "-o", plan)
    assert report["row_blocks"] == 4
    assert {one["kind"] for one in report["collectives"]} == {"all-reduce"}
    assert cli.json("check", module, "--plan", plan, "--steps", "1")["ok"]


def test_so_they_do_where_shardings_are_given(cli, routed, tmp_path):
    module, file = routed("scatter"), tmp_path / "rows.json"
    file.write_text('{"mesh": {"data": 4}, "parameters": {"batch": "[data, -, -]"}}')
    report = cli.json("partition", module, "--sharding", file)
    assert any("sorted in 4 blocks" in note for note in report["notes"])
    assert {one["kind"] for one in report["collectives"]} <= {
        "all-reduce",
        "all-gather",
    }
    assert cli.json("check", module, "--sharding", file, "--steps", "1")["ok"]
    report = cli.json("partition", routed("capacity"), "--sharding", file)
    assert not report["notes"]


def test_places_among_all_rows_are_those_of_the_batch(cli, routed):
    flags = ("--cluster", "cpu:4", "--assumed", "--strategy", "dp")
    report = cli.json("plan", routed("capacity"), *flags)
    assert "row_blocks" not in report


def test_in_a_loop_that_computes_again(cli, routed, tmp_path):
    module, plan = routed("scatter", "--checkpoint"), tmp_path / "plan.json"
    flags = ("--cluster", "cpu:2", "--assumed", "--micro-batches", "4")
    cli.json("plan", module, *flags, "--stages", "1", "-o", plan)
    assert cli.json("check", module, "--plan", plan, "--steps", "1")["ok"]


def test_places_among_all_rows_are_refused(cli, routed):
    line = cli.refuses(
        *("plan", routed("capacity"), "--cluster", "cpu:4", "--assumed"),
        *("--micro-batches", "2", "--stages", "1"),
    )
    assert "argsort" in line and "works across micro-batches" in line


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "split",
    [
        {"batch": "[x, -, -]"},
        {
            f"state/layers/{i}/{name}": "[x, -, -]"
            for i in (0, 1)
            for name in ("up", "down")
        },
    ],
    ids=["batch", "experts"],
)
def test_split_over_devices(cli, routed, tmp_path, style, split):
    module, file = routed(style), tmp_path / "split.json"
    file.write_text(json.dumps({"mesh": {"x": 4}, "parameters": split}))
    assert cli.json("partition", module, "--sharding", file)["fallbacks"] == []
    assert cli.json("check", module, "--sharding", file, "--steps", "1")["ok"]
