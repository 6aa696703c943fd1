"""Plan files as versions wrote them: they give the same program, or are refused.

testdata/frozen_plans/ keeps files as they are. A version that makes another step of a
module, or lowers strategies otherwise, must refuse them by format, step or collectives.
"""

import json

import pytest

PLANS = ("gpt_zero3", "gpt_recompute", "gpt_stages")
# Since transposes are folded into matmuls when a step is read.
PLANS += ("gpt_zero3_folded", "gpt_stages_folded")
REFUSALS = (
    "plan again with this version",
    "another version made the plan",
    "plan this one again",  # It reads the module otherwise.
)


@pytest.fixture(scope="module")
def frozen(testdata):
    return testdata / "frozen_plans"


@pytest.mark.parametrize("name", PLANS)
def test_the_same_program_or_none(cli, testdata, frozen, name):
    path = frozen / f"{name}.json"
    done = cli("check", testdata / "gpt_tiny.hlo.pb.zst", "--plan", path, "--json")
    if done.returncode != 0:
        assert any(words in done.stderr for words in REFUSALS), done.stderr
        return
    assert json.loads(done.stdout)["ok"]


def test_an_older_format_is_refused(cli, testdata, frozen):
    module, path = testdata / "gpt_tiny.hlo.pb.zst", frozen / "gpt_dp_format1.json"
    line = cli.refuses("check", module, "--plan", path)
    assert "a plan of format 1; this version reads 2: plan again" in line
