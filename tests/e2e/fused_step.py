"""Lowers training steps for CUDA around what only accelerators have.

python fused_step.py OUT.hlo.pb attention|long|packed|ragged|deep|scanned
"""

import sys

import jax
import jax.numpy as jnp
from jax._src.cudnn import fused_attention_stablehlo as cudnn

import meshwright

HEADS, KEY_HEADS, SIZE = 8, 4, 16
LAYERS = 4


def attention(p, x):
    batch, length, _ = x.shape
    q = (x @ p["q"]).reshape(batch, length, HEADS, SIZE)
    k = (x @ p["k"]).reshape(batch, length, KEY_HEADS, SIZE)
    v = (x @ p["v"]).reshape(batch, length, KEY_HEADS, SIZE)
    y = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
    return x + y.reshape(batch, length, -1) @ p["out"]


def deep(p, x):
    for i in range(LAYERS):
        x = attention(jax.tree.map(lambda w, i=i: w[i], p), x)
    return x


def scanned(p, x):
    return jax.lax.scan(lambda x, p: (attention(p, x), None), x, p)[0]


def packed(p, x):
    """Rows of one to three segments, by the data; some positions are in none."""
    batch, length, _ = x.shape
    third = length // 3
    starts = [[0, -1, -1, -1], [0, third, -1, -1], [0, third, 2 * third, -1]]
    lengths = [[length, -1, -1], [third, third, -1], [third, third, third]]
    kind = (jnp.abs(x[:, 0, 0].astype(jnp.float32)) * 64).astype(jnp.int32) % 3
    starts, lengths = (jnp.array(one, jnp.int32)[kind] for one in (starts, lengths))
    q, k, v = (
        (x @ p[name]).reshape(batch, length, HEADS, SIZE) for name in ("q", "k", "v")
    )
    y = cudnn.dot_product_attention(
        *(q, k, v, None, None, lengths, lengths, starts, starts),
        scale=SIZE**-0.5,
        mask_type=cudnn.MaskType.PADDING_CAUSAL,
    )
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


STACKED = {
    "q": (LAYERS, 64, 128),
    "k": (LAYERS, 64, 64),
    "v": (LAYERS, 64, 64),
    "out": (LAYERS, 128, 64),
}
CASES = {
    "deep": (deep, STACKED, (1, 1024, 64), jnp.bfloat16),
    "scanned": (scanned, STACKED, (1, 1024, 64), jnp.bfloat16),
    "attention": (
        attention,
        {"q": (64, 128), "k": (64, 64), "v": (64, 64), "out": (128, 64)},
        (8, 128, 64),
        jnp.bfloat16,
    ),
    "long": (
        attention,
        {"q": (64, 128), "k": (64, 64), "v": (64, 64), "out": (128, 64)},
        (1, 1024, 64),
        jnp.bfloat16,
    ),
    "packed": (
        packed,
        {"q": (64, 128), "k": (64, 128), "v": (64, 128), "out": (128, 64)},
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
