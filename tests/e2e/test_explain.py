"""`meshwright explain`: options, regrets, what binds and what would change."""

import json

import pytest


@pytest.fixture(scope="module")
def planned(cli, mlp, tmp_path_factory):
    """A plan, and its module."""
    path = tmp_path_factory.mktemp("explain") / "plan.json"
    cli.json("plan", mlp, "--cluster", "cpu:8", "--mesh", "data=4,model=2", "--assumed",
             "--strategy", "megatron", "-o", path)  # fmt: skip
    return path


def test_the_whole_plan(cli, mlp, planned):
    report = cli.json("explain", planned, "--module", mlp)
    assert report["mesh"] == "data=4,model=2"
    assert report["alternatives"][0]["mesh"] == "data=4,model=2"
    assert {bind["what"] for bind in report["binds"]} <= {"strategy", "memory", "mesh"}
    blocks = report["blocks"]
    assert {block["name"] for block in blocks} == {"dot_general.5", "dot_general.6"}
    for block in blocks:
        chosen = [o for o in block["options"] if o["chosen"]]
        assert len(chosen) == 1 and block["options"][0] is chosen[0]
        assert chosen[0]["regret_seconds"] == 0
        regrets = [o["regret_seconds"] for o in block["options"]]
        regrets = [r for r in regrets if r is not None]
        assert regrets[1:] == sorted(regrets[1:]) and len(regrets) > 3
        assert all(o["compute_seconds"] > 0 for o in block["options"])
        assert chosen[0]["peak_bytes"] > 0


def test_one_parameter(cli, mlp, planned):
    report = cli.json("explain", planned, "batch/x", "--module", mlp)
    assert report["opcode"] == "parameter" and report["shape"] == "f32[16,32]"
    options = {o["option"]: o for o in report["options"]}
    assert options["[data, -]"]["chosen"]
    # Megatron's batch lies so and not otherwise.
    assert [text for text, o in options.items() if o["allowed"]] == ["[data, -]"]
    assert len(options) == 9
    for flip in report["flips"]:
        assert flip["of"] in {"slower links", "faster links", "less memory",
                              "more memory"}  # fmt: skip
        assert flip["factor"] > 0 and isinstance(flip["exact"], bool)


def test_one_instruction_in_words(cli, mlp, planned):
    done = cli("explain", planned, "dot_general.5", "--module", mlp)
    assert done.returncode == 0, done.stderr
    assert "[dot_general.5] (dot f32[16,64]" in done.stdout
    for text in ("chosen", "compute", "what would change it", "how its operands come"):
        assert text in done.stdout


def test_a_regret_is_what_a_pin_costs(cli, mlp, tmp_path):
    flags = ("--cluster", "cpu:8", "--mesh", "data=8", "--assumed", "-o")
    free = cli.json("plan", mlp, *flags, tmp_path / "free.json")
    explained = cli.json("explain", tmp_path / "free.json", "batch/x", "--module", mlp)[
        "options"
    ]
    for option in explained:
        pin = tmp_path / "pin.json"
        pin.write_text(json.dumps({
            "mesh": {"data": 8}, "parameters": {"batch/x": option["option"]}}))  # fmt: skip
        path = tmp_path / "pinned.json"
        pinned = cli.json("plan", mlp, "--pin", pin, *flags, path)
        more = pinned["alternatives"][0]["seconds"] - free["alternatives"][0]["seconds"]
        assert option["regret_seconds"] == pytest.approx(more, rel=0.02, abs=1e-7)
        if more > 1e-6:
            binds = cli.json("explain", path, "--module", mlp, "--pin", pin)["binds"]
            assert binds[0]["what"] == "pin batch/x"
            assert binds[0]["saves_seconds"] == pytest.approx(more, rel=0.02)
    assert max(o["regret_seconds"] for o in explained) > 1e-6


def test_micro_batches_are_explained(cli, mlp, tmp_path):
    path = tmp_path / "plan.json"
    cli.json("plan", mlp, "--cluster", "cpu:4", "--micro-batches", 2, "--assumed",
             "-o", path)  # fmt: skip
    assert cli.json("explain", path, "--module", mlp)["blocks"]
    assert cli.json("explain", path, "batch/x", "--module", mlp)["options"]


def test_mistakes_are_named(cli, mlp, planned, testdata, tmp_path):
    assert "--module" in cli.refuses("explain", planned)
    assert "expected PLAN" in cli.refuses("explain", "--module", mlp)
    other = testdata / "vit_tiny.hlo.pb.zst"
    assert "another module" in cli.refuses("explain", planned, "--module", other)
    assert "did you mean batch/x" in cli.refuses(
        "explain", planned, "batch/xx", "--module", mlp
    )
    pin = tmp_path / "pin.json"
    pin.write_text(
        json.dumps({"mesh": {"data": 8}, "parameters": {"batch/x": "[-, -]"}})
    )
    line = cli.refuses("explain", planned, "--module", mlp, "--pin", pin)
    assert "data=8" in line and "data=4,model=2" in line
    path = tmp_path / "cut.json"
    path.write_text(planned.read_text()[:500])
    assert "not a plan" in cli.refuses("explain", path, "--module", mlp)
