"""Steps for GPUs around cuDNN's attention and ragged-dot: planned, checked on CPUs."""

import json
from pathlib import Path

import pytest
import scripts

SCRIPT = Path(__file__).resolve().parent / "fused_step.py"
PINNED = {
    "attention": {
        "batch": {"batch": "[x, -, -]"},
        "sequence": {"batch": "[-, x, -]"},
        "heads": {"q": "[-, x]", "k": "[-, x]", "v": "[-, x]", "out": "[x, -]"},
    },
    "packed": {
        "batch": {"batch": "[x, -, -]"},
        "heads": {"q": "[-, x]", "k": "[-, x]", "v": "[-, x]", "out": "[x, -]"},
    },
    "ragged": {
        "rows": {"batch": "[x, -]"},
        "experts": {"up": "[x, -, -]", "down": "[x, -, -]"},
        "hidden": {"up": "[-, -, x]", "down": "[-, x, -]"},
    },
}


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fused")
    for name in PINNED:
        path = folder / f"{name}.hlo.pb"
        scripts.run(SCRIPT, path, name)
    return folder


@pytest.mark.parametrize(
    ("name", "split"), [(name, split) for name in PINNED for split in PINNED[name]]
)
def test_split_as_on_one_device(cli, modules, tmp_path, name, split):
    module, file = modules / f"{name}.hlo.pb", tmp_path / "split.json"
    parameters = {
        key if key == "batch" else f"state/{key}": spec
        for key, spec in PINNED[name][split].items()
    }
    file.write_text(json.dumps({"mesh": {"x": 4}, "parameters": parameters}))
    report = cli.json("partition", module, "--sharding", file)
    assert report["fallbacks"] == []
    assert "equal after" in cli("check", module, "--sharding", file).stdout


def test_causal_rings_are_balanced(cli, tmp_path):
    """Own keys, then two halves of those of each of the three others."""
    module, file = tmp_path / "long.hlo.pb", tmp_path / "split.json"
    scripts.run(SCRIPT, module, "long")
    split = {"mesh": {"x": 4}, "parameters": {"batch": "[-, x, -]"}}
    file.write_text(json.dumps(split))
    text = cli("partition", module, "--sharding", file, "--text").stdout
    calls = [line for line in text.splitlines() if "__cudnn$fmha" in line]
    own = [call for call in calls if '"dimensions":["1","8","256","256"]' in call]
    halves = [call for call in calls if '"dimensions":["1","8","128","128"]' in call]
    assert (len(own), len(halves), len(calls)) == (2, 12, 14)
    assert all('"CAUSAL"' in call for call in own)
    assert all('"NO_MASK"' in call for call in halves)
    check = ("check", module, "--sharding", file, "--steps", 1)
    assert "equal after" in cli(*check).stdout


@pytest.mark.parametrize("name", PINNED)
def test_planned_for_gpus(cli, modules, tmp_path, name):
    module = modules / f"{name}.hlo.pb"
    for strategy in ("auto", "dp"):
        report = cli.json(
            *("plan", module, "--cluster", "h200:8", "--assumed", "--require-rules"),
            *("--strategy", strategy),
        )
        assert report["predicted"]["step_seconds"] > 0
        assert report["whole"] == []


@pytest.mark.parametrize(
    "flags",
    [("--stages", "1"), ("--stages", "2"), ("--stages", "1", "--recompute", "full")],
)
def test_packed_sequences_in_micro_batches(cli, modules, tmp_path, flags):
    """What numbers the segments of all rows runs once, before the micro-batches."""
    module, plan = modules / "packed.hlo.pb", tmp_path / "plan.json"
    cli(
        *("plan", module, "--cluster", "cpu:4", "--assumed", "--require-rules"),
        *("--micro-batches", "4", "-o", plan, *flags),
    )
    assert "equal after" in cli("check", module, "--plan", plan).stdout


@pytest.mark.parametrize(
    ("name", "once", "again"), [("deep", 4, (6, 7, 8)), ("scanned", 1, (2,))]
)
def test_attention_is_expensive_to_rematerialise(cli, tmp_path, name, once, again):
    """What is around it is computed again; its log-sum-exp is kept, as is its result,
    unless everything is to be computed again."""
    module, plan = tmp_path / "step.hlo.pb", tmp_path / "plan.json"
    scripts.run(SCRIPT, module, name)
    calls, products = {}, {}
    for recompute in ("none", "selective", "full"):
        flags = ("--cluster", "h200:1", "--assumed", "--micro-batches", "1")
        report = cli.json("plan", module, *flags, "--recompute", recompute, "-o", plan)
        assert report["recompute"] == recompute
        text = cli("partition", module, "--plan", plan, "--text").stdout
        calls[recompute] = text.count('custom_call_target="__cudnn$fmhaSoftmax"')
        products[recompute] = text.count(" dot(")
        assert text.count('custom_call_target="__cudnn$fmhaSoftmaxBackward"') == once
    assert calls["none"] == calls["selective"] == once
    assert calls["full"] in again
    assert products["selective"] > products["none"]
