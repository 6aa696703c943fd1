"""Lowers the small modules that the tests of analysis/ read.

    python make_testdata.py jax04   # with jax 0.4.35
    python make_testdata.py jax10   # with jax 0.10.2
"""

import gzip
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import lax

LAYERS, HEADS, WIDTH, VOCAB, BATCH, LENGTH = 4, 2, 8, 11, 2, 5


def scan(w, x):
    return lax.scan(lambda c, w: (jnp.tanh(c @ w), None), x, w)[0].sum()


def fori(x):
    return lax.fori_loop(2, 9, lambda i, c: c + x * i, x)


def dynamic_fori(x, n):
    return lax.fori_loop(0, n, lambda i, c: c + x * i, x)


def one_hot(labels, x):
    return (jax.nn.one_hot(labels, 10) * x).sum()


def take(table, rows, columns, start):
    both = table[rows, columns]
    part = lax.dynamic_slice_in_dim(table, start, 3, 0)
    return both.sum() + part.sum() + jnp.take(table, rows, axis=0).sum()


def norm(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def layer(x, w):
    q, k, v = jnp.split(norm(x) @ w["qkv"], 3, -1)
    heads = (*x.shape[:2], HEADS, WIDTH // HEADS)
    q, k, v = (t.reshape(heads) for t in (q, k, v))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    scores = jax.nn.softmax(jnp.where(mask, scores, -1e9))
    mixed = jnp.einsum("bhqk,bkhd->bqhd", scores, v).reshape(x.shape)
    x = x + mixed @ w["out"]
    return x + jax.nn.gelu(norm(x) @ w["up"]) @ w["down"]


def loss_fn(params, tokens, labels, scanned):
    x = params["tokens"][tokens] + params["positions"]
    if scanned:
        x, _ = lax.scan(lambda x, w: (layer(x, w), None), x, params["layers"])
    else:
        for w in params["layers"]:
            x = layer(x, w)
    log_p = jax.nn.log_softmax(norm(x) @ params["tokens"].T)
    return -jnp.take_along_axis(log_p, labels[..., None], -1).mean()


def gpt(state, tokens, labels, scanned):
    """AdamW; state is (params, mu, nu, step)."""
    params, mu, nu, step = state
    loss, grads = jax.value_and_grad(loss_fn)(params, tokens, labels, scanned)
    step = step + 1
    each = jax.tree_util.tree_map
    mu = each(lambda m, g: 0.9 * m + 0.1 * g, mu, grads)
    nu = each(lambda n, g: 0.999 * n + 0.001 * g**2, nu, grads)

    def update(p, m, n):
        m = m / (1 - 0.9**step)
        n = n / (1 - 0.999**step)
        return p - 1e-3 * (m / (jnp.sqrt(n) + 1e-8) + 0.01 * p)

    return (each(update, params, mu, nu), mu, nu, step), loss


def gpt_state(scanned):
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH)}
    shapes |= {"up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    layers = {k: jnp.ones(s) for k, s in shapes.items()}
    if scanned:
        layers = {k: jnp.ones((LAYERS, *s)) for k, s in shapes.items()}
    params = {
        "tokens": jnp.ones((VOCAB, WIDTH)),
        "positions": jnp.ones((LENGTH, WIDTH)),
        "layers": layers if scanned else [layers] * LAYERS,
    }
    return params, params, params, jnp.int32(0)


def main(suffix):
    # Leave the folder of this file out of the modules.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    w, x = jnp.ones((5, 8, 8)), jnp.ones((4, 8))
    ints = jnp.zeros((BATCH, LENGTH), jnp.int32)
    rows = jnp.zeros((3,), jnp.int32)
    modules = {
        "scan_gradient": (jax.jit(jax.grad(scan)), (w, x)),
        "fori": (jax.jit(fori), (x,)),
        "dynamic_fori": (jax.jit(dynamic_fori), (x, 3)),
        "one_hot": (jax.jit(one_hot), (rows, jnp.ones((3, 10)))),
        "take": (jax.jit(take), (jnp.ones((11, 8)), rows, rows, 0)),
    }
    for scanned, name in ((False, "gpt"), (True, "gpt_scanned")):

        def step(state, tokens, labels, scanned=scanned):
            return gpt(state, tokens, labels, scanned)

        modules[name] = (
            jax.jit(step, donate_argnums=0),
            (gpt_state(scanned), ints, ints),
        )
    for name, (function, args) in modules.items():
        hlo = function.lower(*args).compiler_ir("hlo")
        data = gzip.compress(hlo.as_serialized_hlo_module_proto(), mtime=0)
        Path(__file__).with_name(f"{name}.{suffix}.hlo.pb.gz").write_bytes(data)


main(sys.argv[1])
