"""Random combinations of all flags: a plan that computes the same, or a true reason.

`MW_COMBINATIONS=10000 MW_FIRST_SEED=0` draws so many, from that number on; a failure
prints its seed and the command that shows it.
"""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import combination_oracle
import pytest
from combination_modules import HELD_OUT, PUBLIC, TINY
from combination_oracle import Oracle, Outcome
from combinations import Case, draw

CHUNK = 20
# Tiny ones that failed once, found by hand.
FAILED_ONCE = (2729, 5376, 9787)
LONG = "MW_LONG" in os.environ
TINY_COUNT = int(os.environ.get("MW_COMBINATIONS", "280" if LONG else "20"))
PUBLIC_COUNT = int(os.environ.get("MW_COMBINATIONS", "25" if LONG else "3"))
FIRST = int(os.environ.get("MW_FIRST_SEED", "0"))


def chunks(count):
    return [
        range(FIRST + i, FIRST + min(i + CHUNK, count)) for i in range(0, count, CHUNK)
    ]


def judge(numbers, modules):
    oracle = Oracle()
    with ThreadPoolExecutor(2) as pool:
        cases = [draw(number, modules) for number in numbers]
        failures = list(pool.map(oracle.judge, cases))
    found = [str(failure) for failure in failures if failure is not None]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("numbers", chunks(TINY_COUNT), ids=lambda r: f"from {r[0]}")
def test_tiny_modules(cli, numbers):
    judge(numbers, TINY)


def test_what_failed_once(cli):
    judge(FAILED_ONCE, TINY)


@pytest.mark.parametrize("numbers", chunks(PUBLIC_COUNT), ids=lambda r: f"from {r[0]}")
def test_public_models(cli, numbers):
    judge(numbers, PUBLIC)


@pytest.mark.long
@pytest.mark.parametrize("numbers", chunks(60), ids=lambda r: f"from {r[0]}")
def test_held_out_models(cli, numbers):
    judge(numbers, HELD_OUT)


@pytest.mark.parametrize("enough", [60, 1000])
def test_a_reason_is_false_only_with_time_to_find_out(cli, monkeypatch, enough):
    """The plan that a line promises is found in so much time."""
    line = "meshwright plan: the step does not fit into 1 MiB (--memory 2)"
    predicted = {"peak_bytes": 2**30}
    told = {"recompute": "none", "notes": []}
    plan = json.dumps({"mesh": {"data": 2}, "predicted": predicted, **told})

    def run(argv, folder, limit):
        memory = argv[argv.index("--memory") + 1] if "--memory" in argv else 4
        if float(memory) < 2 or float(memory) < 4 and float(limit) < enough:
            return Outcome(2, "", line)
        (folder / "plan.json").write_text(plan)
        return Outcome(0, plan, "")

    monkeypatch.setattr(combination_oracle, "_run", run)
    flags = (("cluster", "cpu:2"), ("memory", "0.001"), ("time-limit", "1"))
    failure = Oracle().judge(Case(0, "mlp", "plan", flags))
    if enough > 60:
        assert "--memory 2 would do" in str(failure)
    else:
        assert failure is None
