"""`meshwright check`: why something is not equal."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def planned(cli, tmp_path):
    """Lowers a step and plans it; gives the paths of both."""

    def make(*flags):
        module, plan = tmp_path / "step.hlo.pb", tmp_path / "plan.json"
        words = [sys.executable, HERE / "drawn_step.py", module]
        subprocess.run(words, check=True)
        cluster = ("--cluster", "cpu:4", "--assumed", "-o", plan)
        cli.json("plan", module, *cluster, *flags)
        return module, plan

    return make


def test_numbers_drawn_without_a_key_are_named(cli, planned):
    module, plan = planned("--strategy", "dp")
    done = cli("check", module, "--plan", plan)
    assert done.returncode == 1
    assert "draws random numbers without a key" in done.stderr
