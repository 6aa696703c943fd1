"""Calls keep their names, so that copies of one function can be told apart."""

import re

import jax
import jax.numpy as jnp
import pytest

import meshwright
from meshwright.call_names import name_calls
from meshwright.wire import Message

OPCODE, METADATA, COMPUTATIONS, INSTRUCTIONS, OP_NAME = 2, 7, 3, 2, 2


@jax.jit
def norm(x):
    return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def step(weights, x):
    def loss_of(weights):
        h = x
        for i, w in enumerate(weights):
            with jax.named_scope(f"layers_{i}"):
                h = jax.nn.silu(norm(h @ w))

        def body(h, w):
            with jax.named_scope("inner"):
                return norm(h @ w), None

        with jax.named_scope("stack"):
            h, _ = jax.lax.scan(body, h, jnp.stack(weights))
        return jnp.sum(h)

    loss, gradients = jax.value_and_grad(loss_of)(weights)
    return [w - 0.1 * g for w, g in zip(weights, gradients, strict=True)], loss


@pytest.fixture(scope="module")
def data():
    weights = [jax.ShapeDtypeStruct((8, 8), jnp.float32)] * 3
    x = jax.ShapeDtypeStruct((4, 8), jnp.float32)
    return meshwright.lower(step, weights, x, state=0).hlo


def call_names(data):
    module = Message.parse(data)
    return [
        instruction.child(METADATA).text(OP_NAME)
        for computation in map(Message.parse, module.all(COMPUTATIONS))
        for instruction in map(Message.parse, computation.all(INSTRUCTIONS))
        if instruction.text(OPCODE) == "call"
    ]


def test_every_call_has_a_name(data):
    names = call_names(data)
    assert names and all(names)


@pytest.mark.parametrize("layer", ["layers_0", "layers_1", "layers_2"])
def test_calls_of_a_function_are_named_by_their_scopes(data, layer):
    forward = [name for name in call_names(data) if f"jvp({layer})" in name]
    backward = [name for name in forward if f"transpose(jvp({layer}))" in name]
    assert len(forward) > len(backward) > 0


def test_calls_in_loops(data):
    assert any(re.search("stack.*while/body/", name) for name in call_names(data))


def test_a_module_that_is_not_the_programs_stays(data):
    def other(x):
        return jax.nn.silu(x)

    lowered = jax.jit(other).trace(jax.ShapeDtypeStruct((4,), jnp.float32)).lower()
    bare = _without_names(data)
    assert name_calls(bare, lowered.compiler_ir) == bare


def _without_names(data):
    """As older versions of jaxlib make it."""
    module = Message.parse(data)
    for i, (number, kind, value) in enumerate(module.fields):
        if number != COMPUTATIONS:
            continue
        computation = Message.parse(value)
        for j, (field, wire, inner) in enumerate(computation.fields):
            if field != INSTRUCTIONS:
                continue
            instruction = Message.parse(inner)
            if instruction.text(OPCODE) == "call":
                instruction.remove(METADATA)
            computation.fields[j] = (field, wire, instruction.serialize())
        module.fields[i] = (number, kind, computation.serialize())
    return module.serialize()
