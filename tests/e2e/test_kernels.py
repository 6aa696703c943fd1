"""Steps around kernels whose insides nobody knows: planned, split by their rules."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent / "kernel_step.py"


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")

    def lower(*words):
        path = folder / f"{len(list(folder.iterdir()))}.hlo.pb"
        subprocess.run([sys.executable, SCRIPT, path, *words], check=True)
        return path

    return lower


@pytest.fixture
def rows(tmp_path):
    """The batch split over four devices."""
    path = tmp_path / "rows.json"
    layout = {"mesh": {"data": 4}, "parameters": {"batch": "[data, -]"}}
    path.write_text(json.dumps(layout))
    return path


def calls(text):
    """Shapes of the kernels' results, by target."""
    found = re.findall(
        r"= \((.*?)\) custom-call\(.*?custom_call_target=\"(\w+)\"", text
    )
    return {target: re.findall(r"\w+\[[\d,]*\]", shapes) for shapes, target in found}


def test_without_rules_they_run_whole(cli, kernels):
    """Their empty workspaces do not keep the step from being planned."""
    module = kernels()
    for strategy in ("auto", "dp", "zero3"):
        report = cli.json(
            "plan", module, "--cluster", "h200:8", "--assumed", "--strategy", strategy
        )
        assert report["predicted"]["step_seconds"] > 0
    assert cli("inspect", module).stdout.count("no rule splits it") == 2


def test_rules_split_them(cli, kernels, rows):
    module = kernels("--rules")
    assert "no rule splits it" not in cli("inspect", module).stdout
    split = ("partition", module, "--sharding", rows)
    assert calls(cli(*split, "--text").stdout) == {
        "norm": ["f32[8,128]", "f32[8]", "u8[0]"],
        "norm_grad": ["f32[8,128]", "f32[128]", "u8[0]"],
    }
    report = cli.json(*split)
    assert report["fallbacks"] == []
    assert {one["kind"] for one in report["collectives"]} == {"all-reduce"}
    # Both weights' gradients, the scale's and the loss.
    total = sum(one["bytes"] for one in report["collectives"])
    assert total == 4 * (64 * 128 + 128 * 32 + 128 + 1)


def test_rules_from_a_file(cli, kernels, rows, tmp_path):
    """As if the kernels brought them."""
    rules = tmp_path / "rules.json"
    norm = "b n, n -> b n, b, w {need_replication: n}"
    gradient = "b n, n, b n -> b n, n, w {reduction: b; need_replication: n}"
    known = {"norm": norm, "norm_grad": gradient, "of_another_module": "i -> i"}
    rules.write_text(json.dumps(known))
    flags = ("--cluster", "h200:8", "--strategy", "dp", "--assumed", "--seed", "1")
    brought = cli.json("plan", kernels("--rules"), *flags)
    given = cli.json("plan", kernels(), *flags, "--rules", rules)
    assert given["predicted"] == brought["predicted"]
    split = ("partition", kernels(), "--sharding", rows)
    assert cli.json(*split)["fallbacks"] != []
    assert cli.json(*split, "--rules", rules)["fallbacks"] == []
    assert "no rule splits it" not in cli("inspect", kernels(), "--rules", rules).stdout
    rules.write_text(json.dumps({"norm": "b n -> b n"}))
    line = cli.refuses("inspect", kernels(), "--rules", rules)
    assert "rules.json: ffi_call" in line
    assert "rule of norm: it has 2 operands, the rule 1" in line


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("b n -> b n, b, w", "it has 2 operands, the rule 1"),
        ("b n, n m -> b n, b, w", "operand 1 f32[128] has 1 dimensions, the rule 2"),
        ("b n, b -> b n, b, w", "operand 1 f32[128]: dimension 0 is 128, but b is 32"),
        ("b n, n -> b n, b, w", "result 1 has no factor n"),
        ("b n, n -> b n, b, w {need_replication: m}", "no tensor has a factor m"),
    ],
)
def test_wrong_rules_are_refused(cli, kernels, rule, reason):
    line = cli.refuses("plan", kernels(rule), "--cluster", "cpu:4", "--assumed")
    assert "ffi_call" in line and reason in line
