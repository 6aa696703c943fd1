"""States between steps: scripts look into them and put them together as they do with
the trees and arrays of `jax.jit`."""

import copy
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax.training.train_state import TrainState

import meshwright

X = np.ones(4, np.float32)


def init():
    return {"w": jnp.full((3, 4), 2.0), "n": jnp.zeros((), jnp.int32), "rate": 0.5}


def fn(state, x):
    after = {"w": state["w"] + state["rate"] * x, "n": state["n"] + 1}
    return {**state, **after}, x.sum()


@pytest.fixture
def step(parallelize):
    return parallelize(fn, cluster="cpu:2")


def test_an_array_of_a_state_acts_as_the_array(step):
    state, _ = step(step.init(init), X)
    own, n = state["w"], state["n"]
    w = np.full((3, 4), 2.5, np.float32)
    for found, expected in (
        (own + 1, w + 1),
        (2 - own, 2 - w),
        (w * own, w * w),
        (jnp.asarray(w) / own, w / w),
        (own @ own.T, w @ w.T),
        (-own, -w),
        (own > 1, w > 1),
        (own == w, w == w[0, 0]),
        (own[1:, 0], w[1:, 0]),
        (own.mean(), w.mean()),
        (jnp.asarray(own), w),
    ):
        np.testing.assert_array_equal(found, expected)
    assert (own.shape, own.dtype, own.size, own.ndim) == ((3, 4), w.dtype, 12, 2)
    assert len(own) == 3
    assert (int(n), float(n), n.item(), f"{n}", bool(n)) == (1, 1.0, 1, "1", True)
    assert n == 1 and n % 2 == 1 and [5, 6, 7][n] == 6
    assert n.block_until_ready() is n


def test_a_tree_is_no_array(step):
    state = step.init(init)
    for use in (int, abs, lambda tree: tree + 1, lambda tree: 1.0 * tree):
        with pytest.raises(TypeError, match="the state is a tree of 3 arrays, not an"):
            use(state)
    other = step.init(init)
    assert state and state != other and state in [other, state]
    with pytest.raises(AttributeError, match="the state has no 'mean'"):
        _ = state.mean


def test_a_dictionary_of_a_state_acts_as_one(step):
    state = step.init(init)
    assert list(state) == list(state.keys()) == ["n", "rate", "w"]
    assert len(state) == 3 and "n" in state and "m" not in state
    assert {name: part.shape for name, part in state.items()}["w"] == (3, 4)
    assert [part.ndim for part in state.values()] == [0, 0, 2]


def test_a_part_of_a_state_is_replaced(step, tmp_path):
    """By an array, which is state from then on; with the plan that there is."""
    expected, state = init(), step.init(init)
    for number in range(4):
        if number in (1, 2):
            changed = {"n": 10 * number, "rate": np.float32(number)}
            expected, state = {**expected, **changed}, {**state, **changed}
        expected, _ = jax.jit(fn)(expected, X)
        state, _ = step(state, X)
    assert len(step._plans) == 1
    step.save(tmp_path)
    for part in (state, step.restore(tmp_path, step.init(init))):
        for name, value in expected.items():
            np.testing.assert_array_equal(part[name], value)


def test_many_steps_of_a_replaced_part(step):
    state, _ = step.many(3, {**step.init(init), "n": 5}, X)
    assert state["n"] == 8
    np.testing.assert_array_equal(state["w"], np.full((3, 4), 3.5))


class Training(NamedTuple):
    params: dict
    opt_state: object
    step: object


def test_replace_of_containers(parallelize):
    tx = optax.sgd(0.5, momentum=0.9)

    def create(kind):
        params = {"w": jnp.ones(4)}
        if kind is TrainState:
            return TrainState.create(apply_fn=None, params=params, tx=tx)
        return Training(params, tx.init(params), 0)

    def train(state, x):
        grads = jax.grad(lambda p: jnp.sum((p["w"] * x) ** 2))(state.params)
        if isinstance(state, TrainState):
            return state.apply_gradients(grads=grads)
        updates, opt_state = tx.update(grads, state.opt_state)
        params = optax.apply_updates(state.params, updates)
        return Training(params, opt_state, state.step + 1)

    for kind in (TrainState, Training):
        step = parallelize(train, cluster="cpu:1")
        expected, state = create(kind), step.put(create(kind))
        for _ in range(2):
            state, expected = step(state, X), jax.jit(train)(expected, X)
            replace = "replace" if kind is TrainState else "_replace"
            state = getattr(state, replace)(step=7)
            expected = getattr(expected, replace)(step=7)
        state, expected = step(state, X), jax.jit(train)(expected, X)
        assert isinstance(state, kind)
        assert state.step == 8
        np.testing.assert_allclose(state.params["w"], expected.params["w"])


def test_a_state_given_twice_is_copied(parallelize):
    """As a target network is set, without donation."""

    def train(state, x):
        params = jax.tree_util.tree_map(lambda w: w + x.mean(), state["params"])
        total = sum(w.sum() for w in jax.tree_util.tree_leaves(state["target"]))
        return {**state, "params": params}, total

    step = parallelize(train, cluster="cpu:2")
    state = step.init(lambda: {k: [jnp.zeros(4)] * 2 for k in ("params", "target")})
    totals = []
    for number in range(4):
        state, total = step(state, X)
        totals.append(float(total))
        if number == 1:
            state = {"params": state["params"], "target": state["params"]}
    assert totals == [0, 0, 16, 16]
    assert state["params"][0][0] == 4 and state["target"][0][0] == 2

    both = parallelize(lambda a, b, x: (a + x, b * x), cluster="cpu:1")
    first = both.put(np.full(4, 3.0))
    kept = copy.deepcopy(first)
    first, second = both(first, first, 2 * X)
    assert first[0] == 5 and second[0] == 6 and kept[0] == 3


def test_results_that_are_no_next_state(parallelize):
    """Gradients have the parameters' tree; `state` says that they are not the next."""
    w = np.arange(4, dtype=np.float32)

    def gradients(params, x):
        return jax.grad(lambda p: jnp.sum(p["w"] ** 2 * x))(params)

    silent = parallelize(gradients, cluster="cpu:1")
    params = silent.put({"w": w})
    silent(params, X)
    with pytest.raises(meshwright.MeshwrightError, match=r"parallelize\(..., state=\("):
        silent(params, X)

    told = parallelize(gradients, cluster="cpu:1", state=())
    params = told.put({"w": w})
    for _ in range(2):
        np.testing.assert_array_equal(told(params, X)["w"], 2 * w)
    half = parallelize(
        lambda params: {"w": params["w"].astype(jnp.bfloat16)},
        cluster="cpu:1",
        state=(),
    )
    assert half(params)["w"].dtype == jnp.bfloat16
    assert params.fetch("w")[3] == 3


def test_what_is_ready(step):
    """Loops that measure time wait for results."""
    state, loss = step(step.init(init), X)
    assert loss.block_until_ready() is loss and isinstance(loss, np.ndarray)
    assert jax.block_until_ready(state) is state
    assert repr(loss) == "array(4., dtype=float32)" and f"{loss:.2f}" == "4.00"


def test_64_bits_of_this_thread(parallelize):
    """`jax.enable_x64` holds for a thread; calls have their own."""
    import jax.experimental

    # Where the oldest and the newest jax have it.
    owner = jax if hasattr(jax, "enable_x64") else jax.experimental
    with owner.enable_x64(True):
        step = parallelize(lambda s, x: (s + x, x * 2), cluster="cpu:1")
        state = step.put(np.ones(4))
        state, twice = step(state, np.full(4, 1 + 1e-12))
        assert twice.dtype == np.float64 and twice[0] == 2 + 2e-12
        assert state.fetch()[0] == 2 + 1e-12
