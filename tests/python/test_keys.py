"""Typed PRNG keys wherever the package meets leaves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from made_up_plan import write_plan
from safetensors.numpy import load_file

import meshwright
from meshwright import MeshwrightError
from meshwright.plans import make_plan
from meshwright.shardings import named_output_shardings, named_shardings, sharding_file
from meshwright.tensors import save_tensors

WORDS = {"threefry2x32": 2, "rbg": 4, "unsafe_rbg": 4}


def step(state, batch):
    key, own = jax.random.split(state["key"])
    noise = jax.vmap(lambda k: jax.random.normal(k, (8,)))(batch["keys"])
    x = batch["x"] + noise + jax.random.normal(own, (4, 8))
    loss = (x @ state["w"]).sum()
    return {"key": key, "w": state["w"] * 0.9}, {"loss": loss, "used": own}


def arguments(implementation):
    key = jax.random.key(3, impl=implementation)
    state = {"key": key, "w": jnp.ones((8, 8))}
    return state, {"keys": jax.random.split(key, 4), "x": jnp.ones((4, 8))}


@pytest.fixture(params=WORDS)
def implementation(request):
    return request.param


@pytest.fixture
def module(implementation):
    return meshwright.lower(step, *arguments(implementation))


def test_a_module_says_which_integers_are_keys(module, implementation):
    words = WORDS[implementation]
    assert [(p.name, p.shape, p.dtype, p.role, p.key) for p in module.parameters] == [
        ("state/key", (words,), "u32", "state", implementation),
        ("state/w", (8, 8), "f32", "state", ""),
        ("batch/keys", (4, words), "u32", "data", implementation),
        ("batch/x", (4, 8), "f32", "data", ""),
    ]
    assert [(o.name, o.key) for o in module.outputs] == [
        ("state/key", implementation),
        ("state/w", ""),
        ("out/1/loss", ""),
        ("out/1/used", implementation),
    ]
    assert module.loss == 2


def test_shardings_of_a_plan_are_those_of_the_keys(module, implementation, one_device):
    plan = one_device(module)
    args = arguments(implementation)
    for given in (args, jax.eval_shape(lambda: args)):
        split = plan.shardings(step, *given)
        state, batch = split.arguments
        assert (state["key"].spec, batch["keys"].spec) == (P(), P("data"))
        assert split.parameters["batch/keys"].spec == P("data")
        new, out = split.results
        assert (new["key"].spec, out["used"].spec) == (P(), P())
        assert split.outputs["state/key"].spec == P()
        jitted = jax.jit(step, in_shardings=split.arguments,
                         out_shardings=split.results)  # fmt: skip
        _, got = jitted(*args)
        assert got["loss"] == jax.jit(step)(*args)[1]["loss"]
    # Without the function, nothing says which integers are a key.
    assert plan.shardings().parameters["batch/keys"].spec == P("data", None)


def test_a_planned_step_takes_and_returns_keys(module, implementation, one_device):
    args = arguments(implementation)
    want_state, want = step(*args)
    state, out = one_device(module).jit(step, *args)(*args)
    assert (state["key"] == want_state["key"]).all()
    assert jax.random.key_impl(state["key"]) == jax.random.key_impl(args[0]["key"])
    np.testing.assert_allclose(out["loss"], want["loss"], rtol=1e-6)


def test_sharding_files_and_back(module, implementation):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
    shardings = {"batch": NamedSharding(mesh, P("data")), "state": {"key": P()}}
    file = sharding_file(module, shardings, {"out/1/used": P()})
    assert file["parameters"] == {
        "state/key": [[]],
        "batch/keys": [["data"], []],
        "batch/x": [["data"], []],
    }
    assert file["outputs"] == {"out/1/used": [[]]}
    named = named_shardings(file, module, mesh)
    state, batch = arguments(implementation)
    # jax puts no key where the sharding has a dimension more than it.
    assert jax.device_put(batch["keys"], named["batch/keys"]).shape == (4,)
    assert jax.device_put(state["key"], named["state/key"]).shape == ()
    outputs = named_output_shardings(file, module, mesh)
    assert outputs["out/1/used"].spec == P()


def test_a_sharding_with_a_dimension_that_only_the_integers_have(module):
    with pytest.raises(
        MeshwrightError, match=r"batch/keys: .* longer than its rank, 1"
    ):
        sharding_file(module, {"batch": {"keys": P(None, "data")}}, mesh={"data": 2})


def test_plans_split_keys_like_other_data(module, implementation):
    shardings = make_plan("dp", module, {"data": 2})["parameters"]
    assert shardings == {"batch/*": [["data"], []]}


def test_keys_are_saved_as_integers(tmp_path, implementation):
    state, batch = arguments(implementation)
    save_tensors(tmp_path / "in.safetensors", state=state, batch=batch)
    tensors = load_file(tmp_path / "in.safetensors")
    assert tensors.keys() == {"state/key", "state/w", "batch/keys", "batch/x"}
    np.testing.assert_array_equal(
        tensors["batch/keys"], jax.random.key_data(batch["keys"])
    )


@pytest.fixture
def one_device(tmp_path):
    def load(module):
        write_plan(module, tmp_path / "plan.json", {"data": 1, "model": 1})
        return meshwright.load_plan(tmp_path / "plan.json")

    return load
