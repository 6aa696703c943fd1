"""What users get wrong is told in one line, with the argument's name."""

import re
import subprocess
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import meshwright

KEY = jax.random.key(0)


@pytest.fixture
def refused(parallelize):
    """Calls a function with what makes steps; gives the line of the error."""

    def run(call):
        with pytest.raises(meshwright.MeshwrightError) as caught:
            call(parallelize)
        text = str(caught.value)
        assert "\n" not in text
        return text

    return run


def init():
    return {"w": jnp.ones((8, 8)), "b": jnp.ones(8)}


def step_fn(state, x):
    return {"w": state["w"] * 2, "b": state["b"] + x.sum()}, {"loss": x.sum()}


X = np.ones((8, 4), np.float32)


def test_not_an_array(refused):
    def call(parallelize):
        step = parallelize(step_fn)
        step(step.init(init), "text")

    assert refused(call) == "x is a str, not an array"


def test_a_leaf_that_is_no_array(refused):
    def call(parallelize):
        step = parallelize(lambda state, batch: (state, batch["x"].sum()))
        step(step.init(init), {"x": X, "name": ["a"]})

    assert refused(call) == "batch['name'][0] is a str, not an array"


@pytest.mark.parametrize(
    "array", [np.array(["a", "b"]), np.array([object()]), np.array(["2026-01"], "M8")]
)
def test_arrays_of_no_numbers(refused, array):
    def call(parallelize):
        step = parallelize(lambda state, batch: (state, batch["x"].sum()))
        step(step.init(init), {"x": X, "names": array})

    told = f"batch['names'] is an array of {array.dtype}, not of numbers"
    assert refused(call) == told


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (2**40, "1099511627776, more than an array of int32 holds"),
        (
            np.ma.masked_array(np.ones(4), [0, 1, 0, 0]),
            "a masked array, whose mask jax does not know: give its filled()",
        ),
    ],
    ids=["int", "masked"],
)
@pytest.mark.parametrize("is_known", [False, True])
def test_what_jax_would_not_take(refused, value, line, is_known):
    """Also when the call's form is known: nothing is cut off, or counted in."""

    def call(parallelize):
        step = parallelize(lambda batch: batch["x"].sum(), cluster="cpu:1")
        if is_known:
            step({"x": 3 if isinstance(value, int) else np.ones(4)})
        step({"x": value})

    assert refused(call) in (f"batch['x'] is {line}", f"batch/x is {line}")


def test_a_static_argument_without_hash(refused):
    def call(parallelize):
        step = parallelize(lambda x, sizes: x.sum(), static_argnames="sizes")
        step(X, [1, 2])

    assert refused(call).startswith("sizes is static and a list, which has no hash")


def test_an_argument_of_a_type_without_hash(refused):
    assert (
        refused(lambda make: make(step_fn)({1, 2}, X)) == "state is a set, not an array"
    )


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap])
@pytest.mark.parametrize("is_known", [False, True])
def test_calls_within_jax(refused, transform, is_known):
    def call(parallelize):
        step = parallelize(lambda batch: batch["x"].sum())
        if is_known:
            step({"x": X if transform is jax.jit else X[0]})
        transform(lambda x: step({"x": x}))(X)

    assert re.match(
        r"batch(\['x'\]|/x) is traced: a step is called from Python", refused(call)
    )


def test_arrays_in_place_of_an_init_function(refused):
    def call(parallelize):
        parallelize(step_fn).init(init())

    assert (
        refused(call)
        == "init takes a function, not dict: arrays are handed over by put"
    )


def test_a_name_in_a_state_that_is_one_array(refused):
    def call(parallelize):
        parallelize(step_fn).put(jnp.ones(3)).fetch("w")

    assert refused(call) == "the state has no 'w': it is one array, which fetch() gives"


def test_arguments_that_are_missing(refused):
    def call(parallelize):
        step = parallelize(step_fn)
        step(step.init(init))

    assert refused(call) == "step_fn: missing a required argument: 'x'"


def test_a_state_of_another_type_comes_back(refused):
    def changed(state, x):
        return {**state, "w": state["w"].astype(jnp.bfloat16)}, x.sum()

    def call(parallelize):
        step = parallelize(changed)
        step(step.init(init), X)

    assert refused(call) == (
        "state/w goes into the step as float32[8, 8] and comes back as "
        "bfloat16[8, 8]: a state must keep its shapes and dtypes"
    )


@pytest.mark.parametrize(
    ("changed", "how"),
    [
        (lambda state: {"w": state["w"]}, "without b"),
        (lambda state: {**state, "n": state["b"]}, "with n"),
        (lambda state: {"w": state["w"], "c": state["b"]}, "without b and with c"),
    ],
)
def test_a_state_that_comes_back_as_another_tree(parallelize, changed, how):
    """As with jit the values are right, but it is not the state any more."""
    step = parallelize(lambda state, x: (changed(state), x.sum()))
    with pytest.warns(meshwright.MeshwrightWarning) as caught:
        after, _ = step(step.init(init), X)
    told = f"state comes back as another tree, {how}: its arrays are new ones, "
    assert any(str(one.message).startswith(told) for one in caught), list(caught)
    assert np.array_equal(after["w"], np.ones((8, 8)))


def test_other_results_are_no_states(parallelize):
    """Neither are they warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", meshwright.MeshwrightWarning)
        for fn in (
            lambda state, x: {"loss": x.sum(), "b": state["b"].sum()},
            lambda state, x: (state["w"], x),
            lambda state, x: {"params": state},
        ):
            step = parallelize(fn)
            step(step.init(init), X)


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        (lambda: {"w": jnp.ones((8, 8))}, "has state/b, which is not among the 1 "),
        (
            lambda: {**init(), "n": jnp.ones(3)},
            "the state has n, the checkpoint does not: it has state/b, state/w",
        ),
        (
            lambda: {**init(), "b": jnp.ones(8, jnp.bfloat16)},
            "b is f32[8] there, here bf16[8]",
        ),
        (
            lambda: {**init(), "w": jnp.ones((4, 8))},
            "w is f32[8, 8] there, here f32[4, 8]",
        ),
        (
            lambda: (jnp.ones(8), jnp.ones((8, 8))),
            "the state has 0, the checkpoint does not: it has state/b, state/w",
        ),
    ],
    ids=["fewer", "more", "dtype", "shape", "tree"],
)
def test_a_state_that_has_changed_since_it_was_saved(refused, tmp_path, changed, line):
    def call(parallelize):
        step = parallelize(step_fn)
        step(step.init(init), X)
        step.save(tmp_path)
        other = parallelize(lambda state, x: (state, x.sum()))
        other(other.restore(tmp_path, other.init(changed)), X)

    assert f"{tmp_path / 'step_00000001'}: {line}" in refused(call)


def test_a_state_that_was_handed_over(refused):
    def call(parallelize):
        step = parallelize(step_fn)
        state = step.init(init)
        step(state, X)
        step(state, X)

    assert "use that (state, metrics = step(state, batch))" in refused(call)


def test_side_effects(refused):
    def loud(state, x):
        return state, float(x.sum())

    def call(parallelize):
        step = parallelize(loud)
        step(step.init(init), X)

    assert refused(call).startswith("jax.jit cannot trace loud: ")


def test_an_init_that_fails(refused):
    def call(parallelize):
        parallelize(step_fn).init(lambda key: jnp.ones(3) @ jnp.ones(4), KEY)

    assert "cannot trace" in refused(call)


def test_a_batch_that_cannot_be_cut(refused):
    def call(parallelize):
        step = parallelize(step_fn, micro_batches=3)
        step(step.init(init), X)

    assert "micro-batches" in refused(call)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"stratgy": "dp"}, "parallelize has no option 'stratgy'"),
        ({"strategy": "best"}, "no strategy is called 'best'"),
        ({"mesh": {"data": 8}}, "8 devices"),
        ({"assumed": "yes"}, "option assumed must be true or false"),
        ({"cluster": "abacus:4"}, 'unknown device kind "abacus"'),
        ({"cluster": "localhost:1"}, "no coordinator answers at localhost:1"),
        ({"pins": "nowhere.json"}, "pins=nowhere.json: No such file"),
        ({"tls": {"ca": "nowhere.pem"}, "cluster": "h.x:1"}, "nowhere.pem"),
    ],
    ids=str,
)
def test_options(refused, options, line):
    def call(parallelize):
        step = parallelize(step_fn, **options)
        step(step.init(init), X)

    assert re.search(re.escape(line), refused(call))


def test_not_a_function(refused):
    assert refused(lambda make: make(3)) == "parallelize takes a function, not 3"


def test_without_jax():
    script = (
        "import sys; sys.modules['jax'] = None\n"
        "import meshwright\n"
        "try: meshwright.parallelize(print)\n"
        "except meshwright.MeshwrightError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert done.stdout == "lowering needs jax: pip install 'meshwright[jax]'\n"
