"""Steps of flax.nnx and equinox, as their users write them."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import equinox_mixer
import jax
import jax.numpy as jnp
import nnx_transformer
import numpy as np
import pytest
from flax import nnx
from made_up_plan import write_plan

import meshwright
from meshwright import LoweredModule, MeshwrightError
from meshwright.plans import make_plan
from meshwright.shardings import _entry
from meshwright.tensors import load_tensors, named_tensors, save_tensors

X = np.random.default_rng(0).normal(size=(4, 8)).astype("f4")


@functools.cache
def made(model):
    """Shapes do."""
    shapes = nnx.eval_shape if model is nnx_transformer else eqx.filter_eval_shape
    return (*shapes(model.make), model.batch(0))


@functools.cache
def lowered(model, step):
    return meshwright.lower(step, *made(model))


def roles(module):
    """Names by role."""
    found = {"state": [], "data": []}
    for parameter in module.parameters:
        found[parameter.role].append(parameter.name)
    return found


@pytest.mark.parametrize("step", ["step", "jitted"])
def test_nnx_objects_are_state(step):
    module = lowered(nnx_transformer, getattr(nnx_transformer, step))
    names = roles(module)
    assert names["data"] == ["batch/targets", "batch/tokens"]
    assert "model/blocks/1/attention/qkv/kernel" in names["state"]
    assert "optimizer/opt_state/0/mu/blocks/1/attention/qkv/kernel" in names["state"]
    # Each once, also where the optimizer holds the model.
    assert not any(name.startswith("optimizer/model") for name in names["state"])
    assert [o.name for o in module.outputs] == [*names["state"], "out"]
    assert module.aliases == {i: i for i in range(len(names["state"]))}
    assert module.outputs[module.loss].name == "out"
    assert any(p.key for p in module.parameters)


@pytest.mark.parametrize("step", ["step", "jitted"])
def test_equinox_modules_are_state(step):
    module = lowered(equinox_mixer, getattr(equinox_mixer, step))
    names = roles(module)
    assert names["data"] == ["batch/images", "batch/labels"]
    assert "model/blocks/1/channels/layers/0/weight" in names["state"]
    assert "opt_state/0/mu/blocks/1/channels/layers/0/weight" in names["state"]
    assert names["state"][-1] == "key"
    assert [o.name for o in module.outputs] == [*names["state"], "out/3"]


def test_a_jitted_function_is_lowered_like_a_plain_one():
    """But for the lines of the source, and what jitting does inside."""
    for model in (nnx_transformer, equinox_mixer):
        plain, jitted = (lowered(model, s) for s in (model.step, model.jitted))
        assert plain.parameters == jitted.parameters
        assert plain.outputs == jitted.outputs
        assert b"jit(step)/jit(step)" not in jitted.hlo


def test_arrays_are_named_as_in_the_module():
    for model in (nnx_transformer, equinox_mixer):
        names = [p.name for p in lowered(model, model.step).parameters]
        *state, batch = made(model)
        arguments = list(dict.fromkeys(name.split("/")[0] for name in names))
        trees = dict(zip(arguments, (*state, batch), strict=True))
        assert list(named_tensors(**trees)) == names


def test_tensors_are_saved_and_loaded(tmp_path):
    path = tmp_path / "saved.safetensors"
    layer = eqx.nn.Dropout(0.5), eqx.nn.Linear(8, 4, key=jax.random.key(0))
    model = nnx.Sequential(linear(), nnx.Dropout(0.5, rngs=nnx.Rngs(3)))
    trees = {"z": layer, "model": model, "key": jax.random.key(5)}
    save_tensors(path, **trees)
    other = nnx.Sequential(nnx.Linear(8, 8, rngs=nnx.Rngs(9)),
                           nnx.Dropout(0.5, rngs=nnx.Rngs(7)))  # fmt: skip
    blank = eqx.tree_at(lambda t: t[1].weight, layer, jnp.zeros((4, 8)))
    loaded = load_tensors(path, z=blank, model=other, key=jax.random.key(0))
    assert eqx.tree_equal(loaded["z"], layer)
    assert (loaded["key"] == trees["key"]).all()
    np.testing.assert_array_equal(loaded["model"](X), model(X))
    with pytest.raises(MeshwrightError, match="there is no other/bias"):
        load_tensors(path, other=linear())
    with pytest.raises(MeshwrightError, match=r"key is \[2\], not \[4\]"):
        load_tensors(path, key=jax.random.key(0, impl="rbg"))
    path.write_bytes(b"junk")
    with pytest.raises(MeshwrightError, match="saved.safetensors: SafetensorError"):
        load_tensors(path, key=jax.random.key(0))


@pytest.mark.parametrize("model", [nnx_transformer, equinox_mixer])
def test_expert_plans_know_the_model(model):
    """Also where nothing is called params."""
    module = lowered(model, model.step)
    file = make_plan("zero3", module, {"data": 8})
    shardings = {
        p.name: value
        for p in module.parameters
        if (value := _entry(file["parameters"], p.name)) is not None
    }
    moments = [name for name in shardings if "/mu/" in name]
    assert len(moments) > 4
    for name in moments:
        assert shardings[name] == shardings["model/" + name.partition("/mu/")[2]]
    only_moments = make_plan("zero2", module, {"data": 8})["parameters"]
    assert _entry(only_moments, moments[0]) is not None
    assert _entry(only_moments, "model/" + moments[0].partition("/mu/")[2]) is None


def set_kernel(model, value):
    if hasattr(nnx, "List"):
        model.kernel[...] = value
    else:  # Older versions.
        model.kernel.value = value


def linear():
    return nnx.Linear(8, 8, rngs=nnx.Rngs(0))


def test_a_model_that_comes_back_is_its_own_next_value():
    """Functional style: the argument is not touched, a new model is returned."""

    def step(model, x):
        graph, state = nnx.split(model)
        new = nnx.merge(graph, jax.tree_util.tree_map(lambda w: w * 2, state))
        return new, model(x).sum()

    for fn in (step, nnx.jit(step)):
        module = meshwright.lower(fn, linear(), X)
        assert roles(module)["state"] == ["model/bias", "model/kernel"]
        outputs = [o.name for o in module.outputs]
        assert outputs == ["model/bias", "model/kernel", "out/1"]


def test_the_state_of_a_model_is_named_as_the_model():
    graph, state = nnx.split(linear())

    def step(state, x):
        loss = nnx.merge(graph, state)(x).sum()
        return jax.tree_util.tree_map(lambda w: w * 2, state), loss

    module = meshwright.lower(step, state, X)
    assert roles(module) == {"state": ["state/bias", "state/kernel"], "data": ["x"]}


def test_state_can_be_chosen_among_objects():
    def step(frozen, model, x):
        set_kernel(model, model.kernel * frozen.kernel)
        return model(x).sum()

    model = linear()
    frozen = nnx.Linear(8, 8, rngs=nnx.Rngs(1))
    module = meshwright.lower(step, frozen, model, X, state="model")
    assert roles(module)["state"] == ["model/bias", "model/kernel"]
    outputs = [o.name for o in module.outputs]
    assert outputs == ["model/bias", "model/kernel", "out"]


def test_static_numbers_of_a_jitted_function():
    def step(model, x, scale, flag):
        return model(x).sum() * scale if flag else model(x).mean()

    static = nnx.jit(step, static_argnums=(3,))
    module = meshwright.lower(static, linear(), X, 0.5, True)
    assert roles(module)["data"] == ["x", "scale"]
    plain = meshwright.lower(step, linear(), X, 0.5, True, static_argnums=3)
    assert roles(plain)["data"] == ["x", "scale"]
    filtered = meshwright.lower(eqx.filter_jit(lambda x, n: x * n), X, 3)
    assert [p.name for p in filtered.parameters] == ["x"]


def test_a_variable_that_a_step_adds_is_named():
    def step(model, x):
        model.extra = nnx.Param(x)
        return model(x).sum()

    with pytest.raises(MeshwrightError, match="step adds .* variable 'extra'"):
        meshwright.lower(step, linear(), X)


def test_errors_are_whole_and_name_the_step():
    def step(model, x):
        return model(x) if x.sum() > 0 else x

    for fn, first in ((step, linear()), (nnx.jit(step), linear()),
                      (eqx.filter_jit(step), lambda x: x)):  # fmt: skip
        with pytest.raises(MeshwrightError) as caught:
            meshwright.lower(fn, first, X)
        text = str(caught.value)
        assert "cannot trace step: TracerBoolConversionError: Attempted" in text
        assert "\n" not in text
        assert "tracing.py" not in text  # Where it is written, if anywhere.
        # The whole of a sentence, or where to read on.
        assert text.endswith((".", "TracerBoolConversionError"))


def test_what_jax_itself_cannot_trace_is_named():
    """Of jax.jit, a module that holds functions and strings."""
    with pytest.raises(MeshwrightError, match="cannot trace step: TypeError: .*type"):
        meshwright.lower(jax.jit(equinox_mixer.step), *made(equinox_mixer))


def test_a_planned_step_updates_objects_in_place(tmp_path):
    def step(model, x):
        set_kernel(model, model.kernel * 2)
        return {"loss": model(x).sum()}

    want, model = linear(), linear()
    module = meshwright.lower(step, model, X)
    write_plan(module, tmp_path / "plan.json", {"data": 1, "model": 1})
    planned = meshwright.load_plan(tmp_path / "plan.json").jit(step, model, X)
    for _ in range(3):
        loss = step(want, X)["loss"]
        np.testing.assert_allclose(planned(model, X)["loss"], loss, rtol=1e-6)
    np.testing.assert_allclose(model.kernel + 0, want.kernel + 0)
    with pytest.raises(MeshwrightError, match="planned for 3 arrays, this call has 4"):
        planned(model, {"a": X, "b": X})


def test_a_planned_step_follows_what_is_static(tmp_path):
    """As `model.eval()` is, which is no array."""

    def step(model, x):
        return jnp.sum(model(x))

    model = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
    module = meshwright.lower(step, model, X)
    write_plan(module, tmp_path / "plan.json", {"data": 1, "model": 1})
    planned = meshwright.load_plan(tmp_path / "plan.json").jit(step, model, X)
    assert planned(model, X) != X.sum()
    model.eval()
    assert planned(model, X) == pytest.approx(X.sum())


MODELS = Path(equinox_mixer.__file__).parent
DIFFUSION = pytest.param("diffusion", marks=pytest.mark.long)
OLD = jax.__version_info__ < (0, 5)


@pytest.mark.skipif(not OLD, reason="tests/e2e trains them with real plans")
@pytest.mark.parametrize("name", ["nnx_transformer", "equinox_mixer", DIFFUSION])
def test_training_on_eight_devices(name, tmp_path):
    def run(*args):
        argv = [sys.executable, MODELS / "train.py", *args]
        return subprocess.run(argv, check=True, capture_output=True, env=os.environ)

    module, plan = tmp_path / "step.hlo.pb", tmp_path / "plan.json"
    run("lower", name, module)
    write_plan(LoweredModule.load(module), plan)
    report = json.loads(run("train", name, plan).stdout)
    assert report["planned"] == pytest.approx(report["alone"], rel=1e-5)
    assert report["shardings"] == pytest.approx(report["alone"], rel=1e-5)
    assert {2, 4} <= set(report["parts"].values())
