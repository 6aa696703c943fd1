"""jax shardings to the sharding file, and back."""

import json

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P

import meshwright
from meshwright import MeshwrightError
from meshwright.shardings import (
    named_output_shardings,
    named_shardings,
    parse_sharding,
    sharding_file,
)


def abstract_mesh(**axes):
    try:
        return AbstractMesh(tuple(axes.values()), tuple(axes))
    except TypeError:  # jax 0.4.
        return AbstractMesh(tuple(axes.items()))


MESH = abstract_mesh(data=4, model=2)


def shape(*dimensions):
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


def step(state, x):
    y = x @ state["layers"][0]["w"] + state["layers"][0]["b"]
    return jax.tree_util.tree_map(lambda p: p * 2, state), {"loss": y.sum(), "y": y}


@pytest.fixture(scope="module")
def module():
    layers = [{"w": shape(8, 16), "b": shape(16)}]
    return meshwright.lower(step, {"layers": layers, "step": shape()}, shape(4, 8))


def test_specs_become_lists_of_axes(module):
    layer = {"w": P(None, "model"), "b": P(("data", "model"))}
    file = sharding_file(
        module,
        {"state": {"layers": [layer], "step": P()}, "x": P("data")},
        ({"layers": [layer], "step": None}, {"loss": P(), "y": P(None, "data")}),
        mesh=MESH,
    )
    assert file == {
        "mesh": {"data": 4, "model": 2},
        "parameters": {
            "state/layers/0/b": [["data", "model"]],
            "state/layers/0/w": [[], ["model"]],
            "state/step": [],
            "x": [["data"], []],
        },
        "outputs": {
            "state/layers/0/b": [["data", "model"]],
            "state/layers/0/w": [[], ["model"]],
            "out/1/loss": [],
            "out/1/y": [[], ["data"]],
        },
    }
    assert list(json.loads(json.dumps(file))["mesh"]) == ["data", "model"]


def test_a_sharding_stands_for_all_below_it(module):
    everything = NamedSharding(MESH, P())
    file = sharding_file(module, ({"layers": everything, "step": None}, None))
    assert file["parameters"] == {
        "state/layers/0/b": [[]],
        "state/layers/0/w": [[], []],
    }
    assert sharding_file(module, everything)["parameters"].keys() == {
        p.name for p in module.parameters
    }
    assert len(sharding_file(module, None, everything)["outputs"]) == 5
    file = sharding_file(module, {"state": everything, "state/layers": None})
    assert file["parameters"] == {"state/step": []}


def test_outputs_can_be_given_by_name(module):
    file = sharding_file(module, None, {"out/1/y": P("model")}, mesh=MESH)
    assert file["outputs"] == {"out/1/y": [["model"], []]}


def test_dimensions_can_be_left_open(module):
    file = sharding_file(module, {"x": P(P.UNCONSTRAINED, "data")}, mesh=MESH)
    assert file["parameters"] == {"x": ["?", ["data"]]}
    assert named_shardings(file, module, MESH)["x"].spec == P(P.UNCONSTRAINED, "data")


def test_named_shardings_come_back(module):
    shardings = {
        "state": {
            "layers": [
                {
                    "w": NamedSharding(MESH, P(("model", "data"), None)),
                    "b": NamedSharding(MESH, P("model")),
                }
            ],
            "step": None,
        },
        "x": NamedSharding(MESH, P("data", None)),
    }
    file = sharding_file(module, shardings, NamedSharding(MESH, P()))
    file = json.loads(json.dumps(file))
    assert named_shardings(file, module, MESH) == {
        "state/layers/0/w": shardings["state"]["layers"][0]["w"],
        "state/layers/0/b": shardings["state"]["layers"][0]["b"],
        "x": shardings["x"],
    }
    outputs = named_output_shardings(file, module, MESH)
    assert outputs["out/1/y"].spec == P(None, None)


def test_files_written_by_hand_are_read(module):
    file = {
        "mesh": {"data": 1, "model": 1},
        "parameters": {"*/w": "[-, model]", "state/*": None, "x": ["data", None]},
    }
    found = named_shardings(file, module)  # On this machine's device.
    assert {name: sharding.spec for name, sharding in found.items()} == {
        "state/layers/0/w": P(None, "model"),
        "x": P("data", None),
    }
    assert found["x"].mesh.shape == {"data": 1, "model": 1}


def test_text_is_parsed():
    assert parse_sharding("[]") == []
    assert parse_sharding(" [ data ,-,( a, b ) ] ") == [["data"], [], ["a", "b"]]


CASES = {
    "no mesh": (lambda m: sharding_file(m, {"x": P()}), "give mesh="),
    "two meshes": (
        lambda m: sharding_file(
            m, {"x": NamedSharding(abstract_mesh(d=2), P())}, mesh=MESH
        ),
        "x is on the mesh {'d': 2}, others are on {'data': 4, 'model': 2}",
    ),
    "unknown axis": (
        lambda m: sharding_file(m, {"x": P("dta")}, mesh=MESH),
        "x: no mesh axis 'dta'; the mesh is {'data': 4, 'model': 2}",
    ),
    "unknown argument": (
        lambda m: sharding_file(m, {"y": P()}, mesh=MESH),
        "no parameter is called 'y'",
    ),
    "unknown leaf": (
        lambda m: sharding_file(m, {"state": {"v": P()}}, mesh=MESH),
        "no parameter is called 'state/v'",
    ),
    "too long": (
        lambda m: sharding_file(m, {"x": P(None, None, "data")}, mesh=MESH),
        "is longer than its rank, 2",
    ),
    "too few arguments": (
        lambda m: sharding_file(m, (P(),), mesh=MESH),
        "1 in_shardings for 2 arguments (state, x)",
    ),
    "too few outputs": (
        lambda m: sharding_file(m, None, (P(), P()), mesh=MESH),
        "2 out_shardings for 5 outputs",
    ),
    "no sharding": (
        lambda m: sharding_file(m, {"x": "data"}, mesh=MESH),
        "x: 'data' is no NamedSharding",
    ),
    "wrong rank": (
        lambda m: named_shardings({"mesh": {}, "parameters": {"x": "[d]"}}, m, MESH),
        "x: the sharding has 1 dimensions, the tensor has 2",
    ),
    "pending": (lambda m: parse_sharding("[-] +{data}"), "cannot express"),
    "strided": (lambda m: parse_sharding("[3:- 4:data]"), "cannot express"),
    "part of an axis": (
        lambda m: named_shardings(
            {"mesh": {}, "parameters": {"x": [["data:(2)2"], []]}}, m, MESH
        ),
        "x: jax cannot express parts of axes",
    ),
    "too few devices": (
        lambda m: named_shardings({"mesh": {"d": 4096}}, m),
        "needs 4096 devices",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_mistakes_are_named(module, case):
    call, message = CASES[case]
    with pytest.raises(MeshwrightError) as error:
        call(module)
    assert message in str(error.value)
