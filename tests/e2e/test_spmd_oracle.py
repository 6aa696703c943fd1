"""A partitioned step gives what XLA's own SPMD partitioner makes of the same step."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BINARY

SCRIPT = Path(__file__).parent / "spmd_oracle.py"
TOLERANCE = 2e-5


@pytest.mark.parametrize("plan", ["dp_tp", "zero3"])
def test_equals_xla_partitioner(cli, plan):
    done = subprocess.run(
        [sys.executable, SCRIPT, BINARY, "gpt", plan],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["tensors"] == 86
    assert report["error"] <= TOLERANCE, report
    assert report["wire_bytes"] > 0
