"""What a call is made of besides arrays, as `jax.jit` takes it."""

import functools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import meshwright

X = np.ones((8, 8), np.float32)


def powered(state, x, count):
    for _ in range(count):
        x = x * 2
    return state, x.sum()


class Trainer:
    @functools.partial(jax.jit, static_argnums=(0, 3))
    def step(self, state, x, count):
        return powered(state, x, count)


@pytest.mark.parametrize(
    ("fn", "options"),
    [
        (powered, {"static_argnums": 2}),
        (powered, {"static_argnames": "count"}),
        (jax.jit(powered, static_argnums=-1), {}),
        (jax.jit(powered, static_argnames="count"), {}),
        (functools.wraps(powered)(jax.jit(powered, static_argnums=2)), {}),
        (Trainer().step, {}),
        (eqx.filter_jit(powered), {}),
    ],
    ids=["argnums", "argnames", "jit", "jit names", "wrapped", "method", "filter_jit"],
)
def test_static_arguments(parallelize, fn, options):
    step = parallelize(fn, cluster="cpu:1", **options)
    state = step.init(lambda: {"w": jnp.ones(3)})
    for count in (1, 3, 1):
        state, total = step(state, X, count)
        assert total == 64 * 2**count
    if "static_argnums" not in options:
        return
    state, total = step(state, X, count=2)  # As jit finds their names.
    assert total == 256
    assert len(step._forms) == 3


def test_texts_are_static_if_said_so(parallelize):
    @functools.partial(jax.jit, static_argnames=("mode", "train"))
    def fn(x, mode="sum", *, train=True):
        return (x.sum() if mode == "sum" else x.max()) * (1 if train else 3)

    step = parallelize(fn, cluster="cpu:1")
    assert [step(X), step(X, "max"), step(X, mode="max", train=False)] == [64, 1, 3]


def test_equinox_modules_with_numbers(parallelize):
    """As arguments of a call: they decide what is computed."""

    class Repeat(eqx.Module):
        w: jax.Array
        count: int

        def __call__(self, x):
            for _ in range(self.count):
                x = x * self.w
            return x

    step = parallelize(lambda model, x, scale: model(x).sum() * scale, cluster="cpu:1")
    for count in (1, 2):
        for scale in (1, 5):
            total = step(Repeat(jnp.full((), 2.0), count), X, scale)
            assert total == 64 * 2**count * scale


def test_weak_types_give_way(parallelize):
    """A number in a state does not make float32 of bfloat16."""

    def init():
        return {"w": jnp.ones(8, jnp.bfloat16), "rate": 0.5, "n": 0}

    def fn(state, scale):
        after = {"w": state["w"] * state["rate"], "rate": state["rate"] * 0.5}
        return {**after, "n": state["n"] + 1}, state["w"] * scale

    step = parallelize(fn, cluster="cpu:1")
    for state in (step.init(init), step.put(init())):
        expected = init()
        for scale in (2.0, jnp.asarray(2.0), np.float32(2)):
            expected, scaled = jax.jit(fn)(expected, scale)
            state, own = step(state, scale)
            assert own.dtype == scaled.dtype
        for name, value in state.fetch().items():
            assert value.dtype == expected[name].dtype
            np.testing.assert_array_equal(value, expected[name])


def of(value):
    return lambda: {"w": jnp.full(8, value), "b": jnp.full(3, value)}


def test_a_network_that_is_only_read(parallelize):
    """Of two states that fit, the one that is updated comes back."""

    def fn(target, params, x):
        return {k: params[k] + target[k].mean() * x for k in params}, x

    step = parallelize(fn, cluster="cpu:1")
    target, params = step.init(of(1.0)), step.init(of(0.0))
    for _ in range(3):
        params, _ = step(target, params, 2.0)
    assert params.fetch("w")[0] == 6
    assert target.fetch("w")[0] == 1


def test_two_states_of_one_form(parallelize, tmp_path):
    """In whichever order they come back, and from checkpoints by name."""

    def fn(player, critic, x):
        player = {k: v + 1 for k, v in player.items()}
        return {k: v + 100 for k, v in critic.items()}, player, x

    step = parallelize(fn, cluster="cpu:1")
    player, critic = step.init(of(0.0)), step.init(of(1000.0))
    for _ in range(3):
        critic, player, _ = step(player, critic, 0.0)
    step.save(tmp_path)
    with pytest.raises(
        meshwright.MeshwrightError, match="several states have b, those of .*argument="
    ):
        step.restore(tmp_path, player)
    first = step.restore(tmp_path, player, argument="player")
    second = step.restore(tmp_path, critic, argument="critic")
    assert (first.fetch("w")[0], second.fetch("w")[0]) == (3, 1300)  # From files.
    second, first, _ = step(first, second, 0.0)
    assert (first.fetch("w")[0], second.fetch("b")[0]) == (4, 1400)

    both = step.init(lambda: (of(0.0)(), of(1000.0)()))
    player, critic = both
    critic, player, _ = step(player, critic, 0.0)
    step.save(tmp_path / "both")
    player, critic = step.restore(tmp_path / "both", both)
    assert (player.fetch("w")[0], critic.fetch("w")[0]) == (1, 1100)


class Training(NamedTuple):
    params: dict
    step: jax.Array
    name: str | None = None


def test_parts_of_a_state_by_attribute(parallelize):
    def fn(state, x):
        params = {"w": state.params["w"] + x}
        return Training(params, state.step + 1), x

    step = parallelize(fn, cluster="cpu:1")
    evaluate = parallelize(lambda params: params["w"].sum(), cluster="cpu:1")
    state = step.init(lambda: Training({"w": jnp.ones(8)}, 0))
    before = state.params
    state, _ = step(state, 2.0)
    assert evaluate(state.params) == 24
    assert np.asarray(state.step) == 1
    with pytest.raises(AttributeError, match="has no 'name'"):
        _ = state.name
    with pytest.raises(meshwright.MeshwrightError, match="returned the next one"):
        before.fetch()


@pytest.mark.parametrize(
    ("value", "after", "inner"),
    [
        ({"w": 1, "b": 1}, lambda s: {"state": s}, lambda r: r["state"]),
        ({"w": 1}, lambda s: [{"x": s}], lambda r: r[0]["x"]),
        ({"w": 1}, lambda s: {"x": s["w"]}, lambda r: r["x"]),
        (1, lambda s: (s,), lambda r: r[0]),
        (1, lambda s: {"w": [s]}, lambda r: r["w"][0]),
    ],
)
def test_a_result_that_is_a_state_and_nothing_else(parallelize, value, after, inner):
    """Keeps what is around the state."""

    def fn(state, x):
        return after(jax.tree_util.tree_map(lambda w: w + x, state))

    step = parallelize(fn, cluster="cpu:1")
    value = jax.tree_util.tree_map(lambda w: jnp.full(4, float(w)), value)
    found, expected = step(step.put(value), 1.0), fn(value, 1.0)
    structure = jax.tree_util.tree_structure(expected)
    assert (
        jax.tree_util.tree_structure(
            jax.tree_util.tree_map(np.asarray, jax.device_get(found))
        )
        == structure
    )
    np.testing.assert_array_equal(
        *(
            jax.tree_util.tree_leaves(jax.device_get(inner(r)))[0]
            for r in (found, expected)
        )
    )
