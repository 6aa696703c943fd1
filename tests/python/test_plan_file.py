"""`load_plan`: plan files as jax shardings. tests/e2e trains with a real one."""

import copy
import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

import meshwright
from meshwright import MeshwrightError

PLAN = {
    "format": 4,
    "layouts": [{"mesh": {"data": 1, "model": 1}}],
    "stages": 1,
    "micro_batches": 2,
    "predicted": {
        "step_seconds": 0.5,
        "compute_seconds": 0.3,
        "comm_seconds": 0.25,
        "exposed_comm_seconds": 0.2,
        "comm_bytes": 1024.0,
        "peak_bytes": 4096,
        "origin": "assumed",
        "of_a_later_version": 1,
    },
    "collectives": [
        {
            "kind": "all-reduce",
            "axes": "data",
            "tensor": "dot.7",
            "devices": 4,
            "bytes": 256,
            "wire_bytes": 384.0,
            "count": 2.0,
        }
    ],
    "tensors": {
        "parameters": [
            {"name": "state/b", "dimensions": [16], "sharding": "[-]"},
            {"name": "state/w", "dimensions": [8, 16], "sharding": "[-, model]"},
            {"name": "x", "dimensions": [4, 8], "sharding": "[(data,model), -]"},
        ],
        "outputs": [
            {"name": "state/b", "dimensions": [16], "sharding": "[-]"},
            {"name": "state/w", "dimensions": [8, 16], "sharding": "[-, model]"},
            {"name": "out/1", "dimensions": [], "sharding": "[]"},
        ],
    },
}


def step(state, x):
    loss = (x @ state["w"] + state["b"]).sum()
    return jax.tree_util.tree_map(lambda p: p * 2, state), loss


STATE = {
    "w": jax.ShapeDtypeStruct((8, 16), jnp.float32),
    "b": jax.ShapeDtypeStruct((16,), jnp.float32),
}
X = jax.ShapeDtypeStruct((4, 8), jnp.float32)


@pytest.fixture
def plan_file(tmp_path):
    def write(change=lambda plan: None):
        plan = copy.deepcopy(PLAN)
        change(plan)
        path = tmp_path / "plan.json"
        path.write_text(json.dumps(plan))
        return path

    return write


def test_figures(plan_file):
    plan = meshwright.load_plan(plan_file())
    assert plan.axes == {"data": 1, "model": 1}
    assert plan.micro_batches == 2
    assert plan.predicted.step_seconds == 0.5
    assert plan.predicted.origin == "assumed"
    assert [(c.kind, c.bytes) for c in plan.collectives] == [("all-reduce", 256)]
    assert repr(plan) == (
        f"<Plan {plan.path}: mesh data=1,model=1, micro-batches 2, "
        "step 0.5 s predicted>"
    )


def test_jit_takes_the_arguments_of_the_first_call(plan_file):
    planned = meshwright.load_plan(plan_file()).jit(step)
    state = {"w": jnp.ones((8, 16)), "b": jnp.ones(16)}
    x = jnp.ones((4, 8))
    for _ in range(2):
        changed, loss = planned(state, x)
        assert loss == 4 * 16 * 9
        assert changed["w"].sharding.spec == P(None, "model")
    with pytest.raises(MeshwrightError, match="missing"):
        meshwright.load_plan(plan_file()).jit(step)()


def test_shardings_have_the_functions_trees(plan_file):
    plan = meshwright.load_plan(plan_file())
    split = plan.shardings(step, STATE, X)
    specs = jax.tree_util.tree_map(lambda s: s.spec, split.arguments)
    assert specs == ({"b": P(None), "w": P(None, "model")}, P(("data", "model"), None))
    specs = jax.tree_util.tree_map(lambda s: s.spec, split.results)
    assert specs == ({"b": P(None), "w": P(None, "model")}, P())
    assert split.parameters["x"].mesh == plan.mesh
    jax.jit(step, in_shardings=split.arguments, out_shardings=split.results).lower(
        STATE, X
    )


def test_shardings_without_a_function_are_flat(plan_file):
    split = meshwright.load_plan(plan_file()).shardings()
    assert split.arguments == list(split.parameters.values())
    assert list(split.parameters) == ["state/b", "state/w", "x"]
    assert [s.spec for s in split.results] == [P(None), P(None, "model"), P()]
    assert list(split.outputs) == ["state/b", "state/w", "out/1"]


ON_EIGHT = """
import sys, jax, jax.numpy as jnp, meshwright

def step(x):
    return x * 2

plan = meshwright.load_plan(sys.argv[1])
split = plan.shardings(step, jnp.zeros((16, 6)))
y = jax.jit(step, in_shardings=split.arguments, out_shardings=split.results)(
    jnp.ones((16, 6)))
print(len(y.addressable_shards), y.addressable_shards[0].data.shape, float(y.sum()))
last = meshwright.load_plan(sys.argv[1], devices=jax.devices()[::-1])
print([d.id for d in last.mesh.devices.flat])
"""


def test_eight_devices(plan_file):
    def change(plan):
        plan["layouts"][0]["mesh"] = {"data": 4, "model": 2}
        tensor = {"dimensions": [16, 6], "sharding": "[data, model]"}
        plan["tensors"]["parameters"] = [{"name": "x", **tensor}]
        plan["tensors"]["outputs"] = [{"name": "out", **tensor}]

    flags = "--xla_force_host_platform_device_count=8"
    done = subprocess.run(
        [sys.executable, "-c", ON_EIGHT, str(plan_file(change))],
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["8 (4, 3) 192.0", str([*range(7, -1, -1)])]


def _sharding(plan, text):
    plan["tensors"]["parameters"][2]["sharding"] = text


MISTAKES = {
    "another format": (lambda p: p.update(format=7), "a plan of version 7; this is 4"),
    "no format": (lambda p: p.pop("format"), "this is no plan: it has no format"),
    "no layouts": (lambda p: p.pop("layouts"), "this is no plan: it has no layouts"),
    "no tensors": (lambda p: p.pop("tensors"), "this is no plan: it has no tensors"),
    "too few devices": (lambda p: p["layouts"][0]["mesh"].update(data=4096),
                        "needs 4096 devices, there are 8; XLA_FLAGS=--xla_force_host"),
    "stages": (lambda p: p.update(stages=2), "the plan has 2 stages"),
    "strided": (lambda p: _sharding(p, "[2:- 2:data, -]"), "x: jax cannot express"),
    "another rank": (lambda p: p["tensors"]["parameters"][2]["dimensions"].append(1),
                     "x: the sharding has 2 dimensions, the tensor has 3"),
    "other tensors": (lambda p: p["tensors"]["parameters"].pop(),
                      "the plan is for 2 parameters, the function has 3"),
    "another shape": (lambda p: p["tensors"]["parameters"][2].update(dimensions=[4, 9]),
                      "x is [4, 9], the function's is [4, 8]"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_named(plan_file, case):
    change, message = MISTAKES[case]
    with pytest.raises(MeshwrightError) as error:
        meshwright.load_plan(plan_file(change)).shardings(step, STATE, X)
    assert message in str(error.value)


def test_uneven_splits_are_named():
    mesh = jax.sharding.AbstractMesh
    from meshwright.shardings import named_sharding

    try:
        eight = mesh((8,), ("d",))
    except (TypeError, ValueError):  # jax 0.4.
        eight = mesh((("d", 8),))
    with pytest.raises(MeshwrightError, match="w: jax cannot split a dimension of 12"):
        named_sharding("w", "[d]", [12], eight)


@pytest.mark.parametrize("content", ["", "{", "[]", "plan"])
def test_files_that_are_no_plans(tmp_path, content):
    path = tmp_path / "bad.json"
    path.write_text(content)
    with pytest.raises(MeshwrightError, match=r"bad\.json: this is no plan"):
        meshwright.load_plan(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(MeshwrightError, match="No such file"):
        meshwright.load_plan(tmp_path / "none.json")
