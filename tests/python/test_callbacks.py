"""Calls of Python in a step, and steps without state: told when lowering."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

import meshwright
from meshwright import MeshwrightError, MeshwrightWarning

STATE = {"w": jnp.ones((4, 4)), "key": jax.random.key(0)}
X = jnp.ones((2, 4))
VECTOR = jax.ShapeDtypeStruct((4,), jnp.float32)


def step_with(call):
    def step(state, x):
        def body(carry, row):
            call(row)
            return carry + row @ state["w"].sum(1), None

        loss, _ = jax.lax.scan(body, 0.0, x)
        return {"w": state["w"] * 0.9, "key": state["key"]}, loss

    return step


DROPPED = {
    "print": (lambda row: jax.debug.print("{}", row), "jax.debug.print"),
    "ordered print": (
        lambda row: jax.debug.print("{}", row, ordered=True),
        "jax.debug.print",
    ),
    "debug callback": (lambda row: jax.debug.callback(print, row), "jax.debug"),
    "io without a result": (
        lambda row: io_callback(print, None, row),
        "jax.experimental.io_callback",
    ),
    "ordered io": (
        lambda row: io_callback(print, None, row, ordered=True),
        "jax.experimental.io_callback",
    ),
    "under a condition": (
        lambda row: jax.lax.cond(
            row[0] > 0, lambda: jax.debug.print("positive"), lambda: None
        ),
        "jax.debug.print",
    ),
    "jitted": (jax.jit(lambda row: jax.debug.print("{}", row)), "jax.debug.print"),
    "under remat": (
        lambda row: jax.checkpoint(lambda r: jax.debug.print("{}", r))(row),
        "jax.debug.print",
    ),
}


@pytest.mark.parametrize("case", DROPPED)
def test_callbacks_that_nothing_needs_are_left_out(case):
    call, name = DROPPED[case]
    step = step_with(call)
    with pytest.warns(MeshwrightWarning) as caught:
        module = meshwright.lower(step, STATE, X)
    (warning,) = caught
    text = str(warning.message)
    assert text.startswith(name)
    assert "test_callbacks.py:" in text and "is left out" in text
    assert warning.filename == __file__
    assert b"custom-call" not in module.hlo
    assert [o.name for o in module.outputs] == ["state/key", "state/w", "out/1"]
    assert len(module.parameters) == 3


def test_the_line_is_named():
    def step(w):
        jax.debug.print("{}", w)
        return w * 2

    line = step.__code__.co_firstlineno + 1
    with pytest.warns(
        MeshwrightWarning, match=rf"\(test_callbacks.py:{line}\) is left"
    ):
        meshwright.lower(step, X)


NEEDED = {
    "pure": lambda w: jax.pure_callback(np.sin, w, w),
    "io": lambda w: io_callback(np.sin, w, w),
    "ordered io": lambda w: io_callback(np.sin, w, w, ordered=True),
}


@pytest.mark.parametrize("case", NEEDED)
def test_callbacks_whose_result_is_needed_are_refused(case):
    def step(w, x):
        return w + NEEDED[case](w), x.sum()

    with pytest.raises(MeshwrightError) as caught:
        meshwright.lower(step, VECTOR, X)
    text = str(caught.value)
    name = "jax.pure_callback" if case == "pure" else "jax.experimental.io_callback"
    assert f"step calls Python by {name} (test_callbacks.py:" in text
    assert "as an argument" in text
    assert "\n" not in text


def test_a_step_without_state_is_told():
    with pytest.warns(MeshwrightWarning, match="evaluate has no training state") as all:
        meshwright.lower(evaluate, X)
    assert "state=" in str(all[0].message)
    assert all[0].filename == __file__


def evaluate(x):
    return x.sum()


def test_a_step_with_state_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        meshwright.lower(step_with(lambda row: None), STATE, X)
