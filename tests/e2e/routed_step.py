"""Lowers steps of a mixture whose rows are sorted by expert, without a capacity.

python routed_step.py OUT.hlo.pb scatter|inverse|set|one_hot|capacity [--checkpoint]

How the rows come back: added up at their tokens, taken by the inverse permutation, or
set at their own places; `one_hot` has one expert for each token, and counts rows by
one-hot vectors; `capacity` drops rows by their place among all rows of their expert.
With --checkpoint layers are in a loop, and computed again in the backward pass.
"""

import argparse

import jax
import jax.numpy as jnp

import meshwright

EXPERTS, WIDTH, HIDDEN, LAYERS = 4, 16, 32, 2


def mixture(p, x, style):
    tokens = x.reshape(-1, WIDTH)
    gates = jax.nn.softmax(tokens @ p["gate"], axis=-1)
    many = 1 if style == "one_hot" else 2
    weights, chosen = jax.lax.top_k(gates, many)
    experts = chosen.reshape(-1)
    order = jnp.argsort(experts, stable=True)
    if style == "one_hot":
        sizes = jax.nn.one_hot(experts, EXPERTS, dtype=jnp.int32).sum(0)
    else:
        sizes = jnp.bincount(experts, length=EXPERTS).astype(jnp.int32)
    sent = tokens[order // many]
    hidden = jax.nn.silu(jax.lax.ragged_dot(sent, p["up"], sizes))
    done = jax.lax.ragged_dot(hidden, p["down"], sizes)
    if style == "capacity":
        place = jnp.arange(order.size) - (jnp.cumsum(sizes) - sizes)[experts[order]]
        done = jnp.where(place[:, None] < 2 * order.size // EXPERTS, done, 0.0)
    if style in ("inverse", "set"):
        if style == "inverse":
            back = done[jnp.argsort(order)]
        else:
            back = jnp.zeros_like(done).at[order].set(done, unique_indices=True)
        back = back.reshape(-1, many, WIDTH)
        y = (back * weights[..., None]).sum(1)
    else:
        done = done * weights.reshape(-1)[order][:, None]
        y = jnp.zeros_like(tokens).at[order // many].add(done)
    # The load of experts is evened out in each sequence.
    per_sequence = (*x.shape[:2], EXPERTS)
    taken = jax.nn.one_hot(chosen[:, 0], EXPERTS).reshape(per_sequence).mean(1)
    share = jnp.mean(gates.reshape(per_sequence).mean(1) * taken)
    return y.reshape(x.shape), share


def step_of(style, checkpoint):
    def layer(x, p):
        y, share = mixture(p, x, style)
        return x + y, share

    def step(state, batch):
        def loss(state):
            x, balance = batch, 0.0
            if checkpoint:
                stacked = jax.tree.map(lambda *p: jnp.stack(p), *state["layers"])
                x, shares = jax.lax.scan(jax.checkpoint(layer), x, stacked)
                balance = shares.sum()
            else:
                for p in state["layers"]:
                    x, share = layer(x, p)
                    balance += share
            return jnp.mean((x @ state["head"]) ** 2) + balance

        value, gradients = jax.value_and_grad(loss)(state)
        return jax.tree.map(lambda p, g: p - 10 * g, state, gradients), value

    return step


def init():
    shapes = {
        "gate": (WIDTH, EXPERTS),
        "up": (EXPERTS, WIDTH, HIDDEN),
        "down": (EXPERTS, HIDDEN, WIDTH),
    }
    layer = {k: jax.ShapeDtypeStruct(s, jnp.float32) for k, s in shapes.items()}
    head = jax.ShapeDtypeStruct((WIDTH, WIDTH), jnp.float32)
    return {"layers": [layer] * LAYERS, "head": head}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("style")
    parser.add_argument("--checkpoint", action="store_true")
    asked = parser.parse_args()
    batch = jax.ShapeDtypeStruct((16, 8, WIDTH), jnp.float32)
    step = step_of(asked.style, asked.checkpoint)
    meshwright.lower(step, init(), batch, platform="cuda").save(asked.out)


if __name__ == "__main__":
    main()
