"""Lowers a step for CUDA around cuDNN's attention with dropout.

python dropout_step.py OUT.hlo.pb INPUTS.safetensors linear|squared

The linear loss is so in the last layer's `v`, and the next state is the gradient: if
backward drops what forward dropped, the loss is the product of `v` and its next value.
The squared one is trained, and needs what forward computed.
"""

import sys

import jax
import jax.numpy as jnp
from jax._src.cudnn.fused_attention_stablehlo import dot_product_attention
from meshwright.tensors import save_tensors

import meshwright

LAYERS = 2
BATCH, LENGTH, WIDTH, HEADS, KEY_HEADS, SIZE = 16, 32, 64, 8, 4, 16
SHAPES = {
    "q": (WIDTH, HEADS * SIZE),
    "k": (WIDTH, KEY_HEADS * SIZE),
    "v": (WIDTH, KEY_HEADS * SIZE),
    "out": (HEADS * SIZE, WIDTH),
}


def attention(p, x, seed):
    def project(name, heads):
        return (x @ p[name].astype(x.dtype)).reshape(*x.shape[:2], heads, SIZE)

    q, k, v = project("q", HEADS), project("k", KEY_HEADS), project("v", KEY_HEADS)
    y = dot_product_attention(q, k, v, scale=1.0, dropout_rate=0.5, seed=seed)
    return y.reshape(*x.shape[:2], -1) @ p["out"].astype(x.dtype)


def layers(state, batch):
    x = batch.astype(jnp.bfloat16)
    for i, p in enumerate(state[:-1]):
        x = x + attention(p, x, 7 + i)
    y = attention(state[-1], x, 7 + len(state))
    return y.astype(jnp.float32)


def linear(state, batch, goal):
    def loss(state):
        return jnp.sum(layers(state, batch) * goal)

    value, gradients = jax.value_and_grad(loss)(state)
    return gradients, value


def squared(state, batch, goal):
    def loss(state):
        return jnp.mean((layers(state, batch) - goal) ** 2)

    value, gradients = jax.value_and_grad(loss)(state)
    return jax.tree.map(lambda p, g: p - g, state, gradients), value


def main():
    keys = iter(jax.random.split(jax.random.key(0), 4 * LAYERS + 2))
    state = [
        {
            name: jax.random.normal(next(keys), shape) / shape[0] ** 0.5
            for name, shape in SHAPES.items()
        }
        for _ in range(LAYERS)
    ]
    batch = jax.random.normal(next(keys), (BATCH, LENGTH, WIDTH))
    goal = jax.random.normal(next(keys), batch.shape)
    step = {"linear": linear, "squared": squared}[sys.argv[3]]
    meshwright.lower(step, state, batch, goal, platform="cuda").save(sys.argv[1])
    save_tensors(sys.argv[2], state=state, batch=batch, goal=goal)


if __name__ == "__main__":
    main()
