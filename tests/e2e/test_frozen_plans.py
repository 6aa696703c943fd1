"""Plan files as versions wrote them: they give the same program, or are refused.

testdata/frozen_plans/ keeps files as they are. A version that reads a module otherwise,
makes another step of it or lowers strategies otherwise has a new number (kFormat in
plan/plan_json.cc), files of its own here, and refuses those of other numbers. That their
programs are the same to the letter: meshwright/api/frozen_plans_test.cc.
"""

import json
from pathlib import Path

import pytest
from meshwright.plan_file import FORMAT

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "testdata/frozen_plans").glob("*.json"))
VERSIONS = {path: json.loads(path.read_text())["format"] for path in FILES}
OWN = [path for path in FILES if VERSIONS[path] == FORMAT]
OTHERS = [path for path in FILES if VERSIONS[path] != FORMAT]


def read(path):
    return json.loads(path.read_text())


def test_some_are_of_this_version():
    assert {path.stem.removesuffix(f"_format{FORMAT}") for path in OWN} == {
        "gpt_zero3", "gpt_recompute", "gpt_stages", "gpt_pins", "gpt_moved",
        "gpt_stages_uneven",
    }  # fmt: skip


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_the_same_program(cli, testdata, path):
    module = testdata / "gpt_tiny.hlo.pb.zst"
    assert cli.json("check", module, "--plan", path)["ok"]


def test_they_have_what_plans_can_have():
    plans = {path.stem: read(path) for path in OWN}
    assert any(plan["steering"]["pins"] for plan in plans.values())
    assert any(plan["steering"]["forbidden"] for plan in plans.values())
    assert any(len(plan["layouts"]) > 1 for plan in plans.values())
    assert any(plan["layouts"][0]["moved"]["apart"] for plan in plans.values())
    assert any(plan["layouts"][0]["moved"]["in_place"] for plan in plans.values())


def _sums(listed):
    """How many there are in a step of each kind, and what a device sends."""
    sums = {}
    for one in listed:
        key = tuple(one[key] for key in ("kind", "axes", "tensor", "devices", "bytes"))
        count, sent = sums.get(key, (0, 0))
        sums[key] = (count + one["count"], sent + one["count"] * one["wire_bytes"])
    return sums


@pytest.mark.parametrize(
    "path",
    [path for path in OWN if read(path)["stages"] == 1],
    ids=lambda path: path.stem,
)
def test_the_same_collectives(cli, testdata, path):
    module = testdata / "gpt_tiny.hlo.pb.zst"
    report = cli.json("partition", module, "--plan", path)
    assert _sums(report["collectives"]) == _sums(read(path)["collectives"])


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_other_versions_are_refused(cli, testdata, path):
    line = cli.refuses("check", testdata / "gpt_tiny.hlo.pb.zst", "--plan", path)
    assert f"a plan of version {VERSIONS[path]}; this is {FORMAT}: plan again" in line


def test_the_text_of_a_module_is_the_module(cli, testdata, tmp_path):
    module, text = testdata / "gpt_tiny.hlo.pb.zst", tmp_path / "gpt.hlo"
    text.write_text(cli("inspect", module, "--text").stdout)
    plan = tmp_path / "plan.json"
    done = cli("plan", text, "--cluster", "h200:2", "--strategy", "dp", "-o", plan)
    assert done.returncode == 0, done.stderr
    assert cli.json("partition", module, "--plan", plan)["devices"] == 2
