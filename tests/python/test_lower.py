"""Lowering: names, roles, aliases and loss for functions of many forms."""

import dataclasses
import functools
import re
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.lib import xla_client

import meshwright
from meshwright.hlo_module import HloModule

F32 = jnp.float32


def shape(*dimensions, dtype=F32):
    return jax.ShapeDtypeStruct(dimensions, dtype)


def sgd(state, x):
    """The smallest training step there is."""
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p["w"] + p["b"]) ** 2))(
        state
    )
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, state, grads), loss


STATE = {"w": shape(3, 2), "b": shape(2)}
X = shape(4, 3)


def roles(module):
    return {p.name: p.role for p in module.parameters}


def output_names(module):
    return [output.name for output in module.outputs]


def text(module) -> str:
    """XLA's own print of the module: it parses what we wrote."""
    namespace = getattr(xla_client, "hlo", xla_client._xla)
    return namespace.XlaComputation(module.hlo).as_hlo_text()


def test_a_step_has_names_roles_aliases_and_a_loss():
    module = meshwright.lower(sgd, STATE, X)
    parameters = [(p.name, p.shape, p.dtype, p.role) for p in module.parameters]
    assert parameters == [
        ("state/b", (2,), "f32", "state"),
        ("state/w", (3, 2), "f32", "state"),
        ("x", (4, 3), "f32", "data"),
    ]
    assert output_names(module) == ["state/b", "state/w", "out/1"]
    assert module.aliases == {0: 0, 1: 1}
    assert module.loss == 2


def test_xla_reads_what_is_written():
    printed = text(meshwright.lower(sgd, STATE, X))
    assert (
        "input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }"
        in (printed)
    )
    assert 'frontend_attributes={mw.name="state/w",mw.role="state"}' in printed
    assert re.search(r'mw\.format="?1', printed)


@pytest.mark.parametrize(
    "fn",
    [
        sgd,
        jax.jit(sgd),
        jax.jit(sgd, donate_argnums=0),
        jax.jit(sgd, donate_argnames="state"),
        functools.partial(sgd),
    ],
    ids=["plain", "jit", "donate_argnums", "donate_argnames", "partial"],
)
def test_plain_and_jitted_functions_lower_alike(fn):
    module = meshwright.lower(fn, STATE, X)
    assert roles(module) == {"state/b": "state", "state/w": "state", "x": "data"}
    assert module.aliases == {0: 0, 1: 1}


def test_arrays_and_shapes_lower_to_the_same_bytes():
    arrays = {"w": np.ones((3, 2), np.float32), "b": jnp.ones(2)}
    calls = (STATE, X), (arrays, np.ones((4, 3), np.float32))
    from_shapes, from_arrays = [meshwright.lower(sgd, *call) for call in calls]
    assert from_arrays.hlo == from_shapes.hlo


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["plain", "jitted"])
def test_unused_arguments_stay_parameters(jit):
    fn = jit(lambda state, unused, x: (state + x, x.sum()))
    module = meshwright.lower(fn, shape(3), {"a": shape(7), "b": None}, shape(3))
    assert roles(module) == {"state": "state", "unused/a": "data", "x": "data"}
    assert "HloModule jit__lambda" in text(module)


def test_state_by_position_and_by_name():
    def fn(x, params, extra):
        return params * x.sum(), extra + 1

    arguments = shape(3), shape(3), shape(3)
    for state in ("params", 1, [1], ("params",), -2):
        module = meshwright.lower(fn, *arguments, state=state)
        assert roles(module) == {"x": "data", "params": "state", "extra": "data"}
    both = meshwright.lower(fn, *arguments, state=("params", 2))
    assert both.aliases == {1: 0, 2: 1}


def test_default_state_is_what_reappears_but_not_a_learning_rate():
    def fn(params, momentum, x, rate):
        return params - rate * momentum, momentum * x.sum(), x.sum()

    module = meshwright.lower(fn, shape(3), shape(3), shape(5), 0.1)
    assert roles(module) == {
        "params": "state",
        "momentum": "state",
        "x": "data",
        "rate": "data",
    }
    assert module.loss == 2


def test_results_are_matched_by_name_before_order():
    def fn(params, momentum):
        return {"momentum": momentum, "params": params}

    module = meshwright.lower(fn, shape(3), shape(3))
    assert output_names(module) == ["momentum", "params"]
    assert module.aliases == {0: 1, 1: 0}


def test_a_state_output_after_a_lookalike_is_found_as_a_tree():
    def fn(state, x):
        return {"grads": x}, state, x.sum()

    module = meshwright.lower(jax.jit(fn, donate_argnums=0), {"w": shape(3)}, shape(3))
    assert output_names(module) == ["out/0/grads", "state/w", "out/2"]
    assert module.aliases == {0: 1}


def test_donated_data_is_a_donor_and_never_an_alias():
    fn = jax.jit(lambda state, x: (state * 2, x * 3), donate_argnums=(0, 1))
    module = meshwright.lower(fn, shape(3), shape(4), state="state")
    assert module.aliases == {0: 0}
    assert HloModule(module.hlo).donors == [1]


def test_a_function_without_state():
    module = meshwright.lower(lambda x: x.sum(axis=0), shape(4, 3))
    assert roles(module) == {"x": "data"}
    assert output_names(module) == ["out"]
    assert module.aliases == {}
    assert module.loss is None


def test_the_loss_is_known_by_its_key():
    def fn(state, x):
        metrics = {"aux_loss": x.max(), "gradient_norm": x.min(), "loss": x.sum()}
        return state + x, metrics

    module = meshwright.lower(fn, shape(3), shape(3), state=0)
    assert module.outputs[module.loss].name == "out/1/loss"


@pytest.mark.parametrize("loss", [2, "out/1/accuracy"])
def test_the_loss_can_be_chosen(loss):
    def fn(state, x):
        return state, {"accuracy": x.max(), "a_norm": x.sum()}

    assert meshwright.lower(fn, shape(3), shape(3)).loss == 1
    assert meshwright.lower(fn, shape(3), shape(3), loss=loss).loss == 2


def test_integer_scalars_are_no_loss():
    module = meshwright.lower(lambda x: (x.argmax(), x.sum()), shape(3))
    assert module.loss == 1


def test_scalars_with_keys_are_state():
    """A line is fitted: all of its state are scalars. A learning rate is none."""

    def fn(state, rate, x):
        loss = (state["a"] * x + state["b"]) ** 2
        return {"a": state["a"] - rate * x, "b": state["b"] - rate}, loss

    number = shape()
    module = meshwright.lower(fn, {"a": number, "b": number}, number, number)
    expected = {"state/a": "state", "state/b": "state", "rate": "data", "x": "data"}
    assert roles(module) == expected
    assert module.loss == 2


def test_names_replace_the_arguments_names():
    module = meshwright.lower(sgd, STATE, X, names=["weights", "data"])
    assert [p.name for p in module.parameters] == ["weights/b", "weights/w", "data"]


def test_variadic_and_keyword_arguments():
    def fn(first, *rest, scale):
        return first * scale + rest[0] + rest[1]["a"]

    module = meshwright.lower(
        fn, shape(3), shape(3), {"a": shape(3)}, kwargs={"scale": 2.0}, state=()
    )
    assert list(roles(module)) == ["first", "rest/0", "rest/1/a", "scale"]


@pytest.mark.parametrize("jitted", [False, True])
def test_static_arguments_are_not_parameters(jitted):
    def fn(count, state, step, mode):
        return state * count + (step if mode == "add" else -step)

    arguments = 3, shape(3), 4, "add"
    if jitted:
        module = meshwright.lower(jax.jit(fn, static_argnums=(0, 3)), *arguments)
    else:
        module = meshwright.lower(fn, *arguments, static_argnums=(0, 3))
    assert roles(module) == {"state": "state", "step": "data"}


class Moments(NamedTuple):
    mean: object
    square: object


@dataclasses.dataclass
class TrainState:
    params: object
    moments: object


jax.tree_util.register_dataclass(
    TrainState, data_fields=["params", "moments"], meta_fields=[]
)


@jax.tree_util.register_pytree_node_class
class Opaque:
    """A node without keys, as older libraries register them."""

    def __init__(self, *children):
        self.children = children

    def tree_flatten(self):
        return self.children, None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


def test_every_kind_of_tree_gives_readable_names():
    state = TrainState(
        params={"layers": [shape(2), (shape(3), None)]},
        moments=Moments(shape(4), Opaque(shape(5), shape(6))),
    )
    module = meshwright.lower(lambda state: state, state)
    assert [p.name for p in module.parameters] == [
        "state/params/layers/0",
        "state/params/layers/1/0",
        "state/moments/mean",
        "state/moments/square/0",
        "state/moments/square/1",
    ]
    assert set(roles(module).values()) == {"state"}


@pytest.mark.parametrize("implementation", ["threefry2x32", "rbg"])
def test_prng_keys_are_plain_integers_without_shardings(implementation):
    def fn(state, x):
        key, noise = jax.random.split(state["key"])
        w = state["w"] + jax.random.normal(noise, (3,)) * x
        return {"key": key, "w": w}, w.sum()

    state = {"key": jax.random.key(0, impl=implementation), "w": jnp.ones(3)}
    for function in (fn, jax.jit(fn, donate_argnums=0)):
        module = meshwright.lower(function, state, shape(3))
        assert module.parameters[0].dtype == "u32"
        assert module.aliases == {0: 0, 1: 1}
        assert b"sdy" not in module.hlo
        assert b"Sharding" not in module.hlo


def test_key_arrays_keep_their_shape():
    keys = jax.random.split(jax.random.key(0), 5)
    module = meshwright.lower(lambda keys: keys, keys)
    assert module.parameters[0].shape == (5, 2)


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (jnp.bfloat16, "bf16"),
        (jnp.float16, "f16"),
        (jnp.int8, "s8"),
        (jnp.uint32, "u32"),
        (jnp.bool_, "pred"),
        (jnp.complex64, "c64"),
        (jnp.float8_e4m3fn, "f8e4m3fn"),
    ],
)
def test_dtypes_have_hlos_names(dtype, name):
    module = meshwright.lower(lambda x: x, shape(3, dtype=dtype))
    assert module.parameters[0].dtype == module.outputs[0].dtype == name


def test_control_flow_and_rematerialisation():
    @jax.checkpoint
    def layer(x, w):
        return jax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x @ w)

    def fn(state, x):
        def loss(ws):
            y, _ = jax.lax.scan(lambda x, w: (layer(x, w), None), x, ws)
            y = jax.lax.fori_loop(0, 3, lambda i, y: y + i, y)
            return (y**2).mean()

        value, grads = jax.value_and_grad(loss)(state["ws"])
        count = jax.lax.while_loop(lambda n: n < 5, lambda n: n + 2, state["count"])
        return {"ws": state["ws"] - grads, "count": count}, value

    state = {"ws": shape(6, 4, 4), "count": shape(dtype=jnp.int32)}
    module = meshwright.lower(jax.jit(fn, donate_argnums=0), state, shape(2, 4))
    assert module.aliases == {0: 0, 1: 1}
    assert module.loss == 2
    printed = text(module)
    assert " while(" in printed
    assert " conditional(" in printed


def test_closed_over_arrays_stay_constants():
    table = jnp.arange(1000.0)
    module = meshwright.lower(lambda x: x + table, shape(1000))
    assert [p.name for p in module.parameters] == ["x"]


def test_lowering_for_another_platform():
    module = meshwright.lower(sgd, STATE, X, platform="cuda")
    assert module.aliases == {0: 0, 1: 1}


def test_lowering_twice_gives_the_same_bytes():
    modules = []
    for _ in range(2):
        jax.clear_caches()
        modules.append(meshwright.lower(sgd, STATE, X))
    assert modules[0] == modules[1]


@pytest.mark.parametrize("suffix", [".hlo.pb", ".hlo.pb.gz", ".hlo.pb.zst"])
def test_files_are_compressed_by_extension_and_read_by_content(tmp_path, suffix):
    module = meshwright.lower(sgd, STATE, X)
    path = tmp_path / f"step{suffix}"
    module.save(path)
    first = path.read_bytes()
    module.save(path)
    assert path.read_bytes() == first
    renamed = path.rename(tmp_path / "renamed")
    assert meshwright.LoweredModule.load(renamed) == module
    assert (first == module.hlo) == (suffix == ".hlo.pb")


@pytest.mark.parametrize(
    ("batch", "want"),
    [
        (None, {}),
        (0, {"b/len": "0", "b/x": "0"}),
        (1, {"b/x": "1"}),
        ({"b": 1, "b/len": 0}, {"b/len": "0", "b/x": "1"}),
        ({"b": 0, "b/len": None}, {"b/x": "0"}),
    ],
)
def test_the_batch_is_recorded_where_it_is_told(batch, want):
    def step(state, b, scale):
        return state + b["x"].sum(1) * scale, (b["x"] * b["len"]).sum()

    data = {"x": shape(4, 3), "len": shape(3)}
    lowered = meshwright.lower(step, shape(4), data, shape(), state=0, batch=batch)
    recorded = {
        p.attributes["mw.name"]: p.attributes["mw.batch"]
        for p in HloModule(lowered.hlo).parameters
        if "mw.batch" in p.attributes
    }
    assert recorded == want
