"""Lowers training steps for CUDA around what only accelerators have.

python fused_step.py OUT.hlo.pb attention|ragged
"""

import sys

import jax
import jax.numpy as jnp

import meshwright

HEADS, KEY_HEADS, SIZE = 8, 4, 16


def attention(p, x):
    batch, length, _ = x.shape
    q = (x @ p["q"]).reshape(batch, length, HEADS, SIZE)
    k = (x @ p["k"]).reshape(batch, length, KEY_HEADS, SIZE)
    v = (x @ p["v"]).reshape(batch, length, KEY_HEADS, SIZE)
    y = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
    return x + y.reshape(batch, length, -1) @ p["out"]


def ragged(p, x):
    scores = x.astype(jnp.float32) @ p["gate"]
    chosen = jnp.argmax(scores, axis=-1)
    order = jnp.argsort(chosen, stable=True)
    sizes = jnp.bincount(chosen, length=p["gate"].shape[1]).astype(jnp.int32)
    hidden = jax.nn.gelu(jax.lax.ragged_dot(x[order], p["up"], sizes))
    done = jax.lax.ragged_dot(hidden, p["down"], sizes)
    weights = jax.nn.softmax(scores, axis=-1).max(axis=-1)
    return jnp.zeros_like(x).at[order].set(done) * weights[:, None]


def normal(shapes, dtype):
    keys = jax.random.split(jax.random.key(0), len(shapes))
    return {
        name: 0.2 * jax.random.normal(key, shape, dtype)
        for key, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


CASES = {
    "attention": (
        attention,
        {"q": (64, 128), "k": (64, 64), "v": (64, 64), "out": (128, 64)},
        (8, 128, 64),
        jnp.bfloat16,
    ),
    "ragged": (
        ragged,
        {"gate": (32, 8), "up": (8, 32, 64), "down": (8, 64, 32)},
        (256, 32),
        jnp.float32,
    ),
}


def main():
    layer, shapes, batch, dtype = CASES[sys.argv[2]]

    def step(state, batch):
        def loss(state):
            return jnp.mean(layer(state, batch).astype(jnp.float32) ** 2)

        value, gradients = jax.value_and_grad(loss)(state)
        return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradients), value

    state = normal(shapes, dtype)
    lowered = meshwright.lower(step, state, jnp.ones(batch, dtype), platform="cuda")
    lowered.save(sys.argv[1])


if __name__ == "__main__":
    main()
