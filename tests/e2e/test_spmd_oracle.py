"""A partitioned step gives what XLA's own SPMD partitioner makes of the same step."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BINARY
from meshwright.zoo import MODELS

SCRIPT = Path(__file__).parent / "spmd_oracle.py"
PLANS = len(list((Path(__file__).parents[2] / "testdata/plans").glob("*.json")))
TOLERANCE = 2e-5
# Together most kinds of plans and of layers; all models equal one device in
# tests/partition.
EVERYDAY = [
    *("gpt:zero3", "gpt-scan:megatron", "moe:expert", "bert:sequence"),
    "wide-resnet:zero2",
    "bert:zero2@cuda",  # Sums of few rows and inner gathers are written otherwise.
]


def compare(*cases):
    """What the script says of each."""
    done = subprocess.run(
        [sys.executable, SCRIPT, BINARY, *cases],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(reports):
    for report in reports:
        assert report["tensors"] >= 30, report
        assert report["error"] <= TOLERANCE, report
        assert report["wire_bytes"] > 0, report


def test_equals_xla_partitioner(cli):
    """In one process; most of the time goes into starting one."""
    reports = compare(*EVERYDAY)
    check(reports)
    assert [report["case"] for report in reports] == EVERYDAY


@pytest.mark.long
def test_equals_xla_partitioner_for_every_plan(cli):
    reports = [report for model in MODELS for report in compare(model)]
    check(reports)
    assert len(reports) == PLANS
