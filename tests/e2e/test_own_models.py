"""Steps as users write them: lowered, planned, checked, and trained with the plan."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT

TRAIN = ROOT / "tests" / "models" / "train.py"


def run(*args) -> str:
    argv = [sys.executable, TRAIN, *args]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# The tutorial trains a step in plain JAX.
LONG = [pytest.param(m, marks=pytest.mark.long) for m in ("equinox_mixer", "diffusion")]


@pytest.mark.parametrize("model", ["nnx_transformer", *LONG])
def test_from_a_script_to_training(cli, tmp_path, model):
    module, plan = tmp_path / "step.hlo.pb.zst", tmp_path / "plan.json"
    run("lower", model, module)
    mesh = ("--cluster", "cpu:8", "--mesh", "data=4,model=2")
    found = cli.json("plan", module, *mesh, "-o", plan)
    assert found["mesh"] == {"data": 4, "model": 2}
    checked = cli("check", module, "--plan", plan)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    report = json.loads(run("train", model, plan))
    alone = report["alone"]
    assert alone[-1] < alone[0]
    assert report["planned"] == pytest.approx(alone, rel=1e-5)
    assert report["shardings"] == pytest.approx(alone, rel=1e-5)
    assert max(report["parts"].values()) > 1
