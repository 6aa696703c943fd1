"""What jax lowers functions of batches to is split along the batch, and nothing else.

On GPUs jax lowers other operations than on CPUs (running sums to `scan`, solvers to
cuSOLVER's calls), which can be partitioned here, if not run.
"""

import json
import subprocess
import sys
import warnings

import pytest
from conftest import HERE
from jax_operations import KERNEL, OPERATIONS

import meshwright


@pytest.mark.parametrize("platform", ("cpu", "cuda"))
@pytest.mark.parametrize("name", OPERATIONS)
def test_split_along_the_batch(cli, tmp_path, name, platform):
    fn, arguments = OPERATIONS[name]
    path = tmp_path / "operation.hlo.pb"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # It has no training state.
        module = meshwright.lower(fn, *arguments, platform=platform)
    module.save(path)
    split = {
        parameter.name: "[x" + ", -" * (len(parameter.shape) - 1) + "]"
        for parameter, argument in zip(module.parameters, arguments, strict=True)
        if argument is not KERNEL
    }
    file = tmp_path / "split.json"
    file.write_text(json.dumps({"mesh": {"x": 8}, "parameters": split}))
    report = cli.json("partition", path, "--sharding", file)
    assert report["fallbacks"] == []
    assert report["collectives"] == []
    assert all(text.startswith("[x") for text in report["shardings"]["outputs"])


@pytest.mark.parametrize("name", ("rows_of_a_batch", "scatter", "take_along_axis"))
def test_equal_to_one_device(cli, tmp_path, name):
    fn, arguments = OPERATIONS[name]
    path = tmp_path / "operation.hlo.pb"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        meshwright.lower(fn, *arguments).save(path)
    file = tmp_path / "split.json"
    file.write_text(json.dumps({"mesh": {"x": 4}, "parameters": {"x": "[x, -]"}}))
    assert cli.json("check", path, "--sharding", file)["ok"]


@pytest.mark.parametrize(
    "flags",
    [
        ("--strategy", "dp", "--micro-batches", 2),
        ("--stages", 2, "--micro-batches", 2),
        ("--mesh", "data=2,model=2"),
    ],
)
def test_positions_of_examples(cli, tmp_path, flags):
    path, plan = tmp_path / "pooled.hlo.pb", tmp_path / "plan.json"
    subprocess.run([sys.executable, HERE / "pooled_step.py", path], check=True)
    report = cli.json(
        "plan", path, "--cluster", "cpu:4", "--assumed", *flags, "-o", plan
    )
    assert report["micro_batches"] == (2 if "--micro-batches" in flags else 1)
    assert cli.json("check", path, "--plan", plan)["ok"]
