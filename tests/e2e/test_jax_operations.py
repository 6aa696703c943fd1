"""What jax lowers functions of batches to is split along the batch, and nothing else.

On GPUs jax lowers other operations than on CPUs (running sums to `scan`, solvers to
cuSOLVER's calls), which can be partitioned here, if not run.
"""

import json
import warnings

import jax
import jax.numpy as jnp
import pytest
import scripts
from conftest import HERE
from jax import lax
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


LARGEST = {
    "top_k": lambda x: lax.top_k(x, 4),
    "top_k_gradient": jax.grad(lambda x: (lax.top_k(x, 4)[0] ** 2).sum()),
    "approx_max_k": lambda x: lax.approx_max_k(x, 4),
    "approx_min_k": lambda x: lax.approx_min_k(x, 4, reduction_dimension=0),
    "approx_max_k_gradient": jax.grad(lambda x: (lax.approx_max_k(x, 4)[0] ** 2).sum()),
}


@pytest.mark.parametrize("name", LARGEST)
@pytest.mark.parametrize(
    ("mesh", "spec"), [({"x": 4}, "[-, x]"), ({"y": 2, "x": 4}, "[y, x]")]
)
def test_largest_of_split_dimensions(cli, tmp_path, name, mesh, spec):
    """Candidates are sent, or shards to where another dimension is split instead."""
    path, file = tmp_path / "operation.hlo.pb", tmp_path / "split.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = meshwright.lower(LARGEST[name], jnp.ones((64, 1 << 14)))
    module.save(path)
    file.write_text(json.dumps({"mesh": mesh, "parameters": {"x": spec}}))
    report = cli.json("partition", path, "--sharding", file)
    assert report["fallbacks"] == []
    whole = 4 * 64 * (1 << 14)
    for sent in report["collectives"]:
        parts = 1 if sent["kind"] == "all-to-all" else 64
        assert sent["wire_bytes"] < whole / sent["devices"] / parts
    assert cli.json("check", path, "--sharding", file, "--steps", 1)["ok"]


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
    scripts.run(HERE / "pooled_step.py", path)
    report = cli.json(
        "plan", path, "--cluster", "cpu:4", "--assumed", *flags, "-o", plan
    )
    assert report["micro_batches"] == (2 if "--micro-batches" in flags else 1)
    assert cli.json("check", path, "--plan", plan)["ok"]
