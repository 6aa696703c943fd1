"""Steps around kernels whose insides nobody knows: planned, split by their rules."""

import json
import re
from pathlib import Path

import pytest
import scripts

SCRIPT = Path(__file__).resolve().parent / "kernel_step.py"
RULE = "b n, n -> b n, b, w {need_replication: n}"


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")

    def lower(*words):
        path = folder / f"{len(list(folder.iterdir()))}.hlo.pb"
        scripts.run(SCRIPT, path, *words)
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
    gradient = "b n, n, b n -> b n, n, w {reduction: b; need_replication: n}"
    known = {"norm": RULE, "norm_grad": gradient, "of_another_module": "i -> i"}
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


@pytest.mark.parametrize("command", ["inspect", "plan", "partition", "check"])
@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("b, n -> b n, b, w", "operand 0 f32[32,128] has 2 dimensions, the rule 1"),
        ("b n, b -> b n, b, w", "operand 1 f32[128]: dimension 0 is 128, but b is 32"),
        ("b n, n -> b n, b, w {need_replication: m}", "no tensor has a factor m"),
        ("b n, n -> b n, b, w {least: n}", "'least' is no kind of factor"),
    ],
)
def test_wrong_rules_of_a_file_name_it_and_the_op(
    cli, kernels, tmp_path, command, rule, reason
):
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"norm": rule}))
    flags = {
        "inspect": (),
        "plan": ("--cluster", "cpu:4", "--assumed"),
        "partition": ("--mesh", "data=4"),
        "check": ("--mesh", "data=4"),
    }
    line = cli.refuses(command, kernels(), "--rules", rules, *flags[command])
    assert line.startswith(f"meshwright {command}: {rules}: ffi_call")
    assert f": rule of norm: {reason}" in line


DP = ("--cluster", "h200:8", "--strategy", "dp", "--assumed", "--seed", "1")


def lost(row):
    return row["seconds"] - row["even_seconds"] + row["gather_seconds"]


def test_plan_says_what_whole_kernels_cost(cli, kernels, tmp_path):
    """And the rules that it suggests save about that."""
    module = kernels("--large")
    report = cli.json("plan", module, *DP)
    rows = {row["target"]: row for row in report["whole"]}
    assert set(rows) == {"norm", "norm_grad"}
    assert report["whole"] == sorted(report["whole"], key=lost, reverse=True)
    for row in rows.values():
        assert row["count"] == 1
        # Eight devices; small kernels are less quick.
        assert 4 * row["even_seconds"] < row["seconds"] < 8 * row["even_seconds"]
    gathers = [one for one in report["collectives"] if one["kind"] == "all-gather"]
    sent = sum(one["wire_bytes"] * one["count"] for one in gathers)
    assert 0 < sum(row["gathered_bytes"] for row in rows.values()) <= sent

    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({name: row["rule"] for name, row in rows.items()}))
    split = cli.json("plan", module, *DP, "--rules", rules, "--require-rules")
    assert split["whole"] == []
    saved = report["predicted"]["step_seconds"] - split["predicted"]["step_seconds"]
    assert saved > 0.5 * sum(map(lost, rows.values()))

    text = cli("plan", module, *DP).stdout
    for name, row in rows.items():
        assert f"whole: {name} x 1, which no rule splits" in text
        assert f'{{"{name}": "{row["rule"]}"}}' in text


def test_what_is_gathered_for_what_leads_to_a_kernel_counts(cli, kernels):
    """The batch, for a product that is computed whole because the kernel is."""
    report = cli.json("plan", kernels(), *DP)
    [gather] = report["collectives"]
    assert (gather["kind"], gather["wire_bytes"]) == ("all-gather", 7 * 32 * 64 * 4 / 8)
    assert sum(row["gathered_bytes"] for row in report["whole"]) == gather["wire_bytes"]


def test_whole_kernels_in_a_loop_count_each_time(cli, kernels):
    [once] = [
        row
        for row in cli.json("plan", kernels("--large"), *DP)["whole"]
        if row["target"] == "norm"
    ]
    looped = cli.json("plan", kernels("--large", "--times", "12"), *DP)
    [often] = [row for row in looped["whole"] if row["target"] == "norm"]
    assert often["count"] == 12
    assert often["seconds"] == pytest.approx(12 * once["seconds"])
    assert (
        "whole: norm x 12"
        in cli("plan", kernels("--large", "--times", "12"), *DP).stdout
    )


def test_whole_kernels_that_cost_little_are_one_line(cli, kernels):
    flags = ("--cluster", "h200:8", "--assumed", "--seed", "1")
    text = cli("plan", kernels(), *flags).stdout
    assert re.findall("^whole: .*", text, re.MULTILINE) == [
        "whole: norm_grad, norm, which no rule splits; under 1 % of the step's time"
    ]


def test_the_plan_file_keeps_it(cli, kernels, tmp_path):
    module = kernels("--large")
    plan = tmp_path / "plan.json"
    printed = cli.json("plan", module, *DP, "-o", plan)
    assert json.loads(plan.read_text())["whole"] == printed["whole"] != []
    assert cli.json("partition", module, "--plan", plan)["fallbacks"]


@pytest.mark.parametrize("flags", [(), ("--stages", "2")], ids=["whole", "stages"])
def test_whole_kernels_beside_micro_batches(cli, kernels, flags):
    """On a gradient once per step, in stages as well; on the batch they cannot be."""
    flags = ("--cluster", "h200:8", "--assumed", "--micro-batches", "4", *flags)
    [row] = cli.json("plan", kernels("--large", "--update"), *flags)["whole"]
    assert (row["target"], row["count"]) == ("muon", 1)
    line = cli.refuses("plan", kernels("--large"), *flags)
    assert "works across micro-batches, as no rule (--rules) splits norm" in line
    assert cli.json("plan", kernels("--large", "--rules"), *flags)["whole"] == []


@pytest.mark.parametrize(
    "command",
    [
        ("plan", "--cluster", "cpu:4", "--assumed"),
        ("check", "--mesh", "data=4"),
        ("run", "--steps", "1"),
        ("partition", "--mesh", "data=4"),
    ],
    ids=lambda command: command[0],
)
def test_rules_can_be_required(cli, kernels, command):
    name, *flags = command
    line = cli.refuses(name, kernels(), *flags, "--require-rules")
    assert "no rule splits ffi_call(state/scale) (norm), and 1 more" in line
    assert '{"norm": "b c, c -> b c, b, d {need_replication: c}"}' in line
    one = cli.refuses(name, kernels(RULE), *flags, "--require-rules")
    assert "(norm_grad);" in one and "{reduction: b; need_replication: c}" in one
    if name in ("plan", "partition"):  # The others would call the kernels.
        assert cli(name, kernels("--rules"), *flags, "--require-rules").returncode == 0


def test_steps_without_kernels_have_all_rules(cli, mlp):
    report = cli.json("plan", mlp, "--cluster", "cpu:4", "--assumed", "--require-rules")
    assert report["whole"] == []
