"""Mixture of experts: a GPT in which every second MLP is a layer of experts.

As in GShard: each token goes to its two best experts, an expert takes at most
`capacity` tokens of a group, tokens over the capacity only take the residual path, and
an auxiliary loss encourages an even load. With `routing="ragged"` no token is dropped:
tokens are sorted by expert, and each expert multiplies as many rows as it received.
"""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from meshwright.zoo import data
from meshwright.zoo.config import TrainConfig
from meshwright.zoo.layers import (
    causal_mask,
    cross_entropy,
    embed,
    gelu_mlp,
    init_attention,
    init_mlp,
    init_norm,
    layer_norm,
    normal,
    self_attention,
)

_AUXILIARY_WEIGHT = 0.01


@dataclass(frozen=True, kw_only=True)
class Config(TrainConfig):
    layers: int
    width: int
    heads: int
    vocab: int
    seq: int
    experts: int
    group: int  # Tokens routed together.
    mlp_ratio: int = 8
    capacity_factor: float = 1.0
    routing: str = "gshard"  # Or "ragged".

    @property
    def hidden(self) -> int:
        return self.mlp_ratio * self.width

    @property
    def capacity(self) -> int:
        """Tokens per expert and group if two experts per token have an even load."""
        return math.ceil(2 * self.group / self.experts * self.capacity_factor)


def batch_fields(config: Config):
    shape = (config.batch, config.seq)
    return {
        "tokens": data.integers(shape, below=config.vocab),
        "targets": data.integers(shape, below=config.vocab),
    }


def init(key, config: Config):
    tokens, positions, *blocks = jax.random.split(key, 2 + config.layers)
    params = {
        "tokens": normal(tokens, (config.vocab, config.width)),
        "positions": normal(positions, (config.seq, config.width)),
        "blocks": [_init_block(k, i, config) for i, k in enumerate(blocks)],
        "norm": init_norm(config.width),
    }
    return params, None


def loss_fn(params, stats, batch, config: Config):
    mask = causal_mask(config.seq)
    x = embed(params["tokens"], batch["tokens"], config.compute_dtype)
    x = x + params["positions"].astype(x.dtype)
    auxiliary = 0.0
    for p in params["blocks"]:
        normed = layer_norm(p["norm1"], x)
        x = x + self_attention(p["attention"], normed, config.heads, mask)
        normed = layer_norm(p["norm2"], x)
        if "experts" in p:
            mlp = ragged_mlp if config.routing == "ragged" else expert_mlp
            y, imbalance = mlp(p["experts"], normed, config)
            auxiliary += imbalance
        else:
            y = gelu_mlp(p["mlp"], normed)
        x = x + y
    x = layer_norm(params["norm"], x)
    logits = jnp.einsum("bsw,vw->bsv", x, params["tokens"].astype(x.dtype))
    loss = cross_entropy(logits, batch["targets"])
    return loss + _AUXILIARY_WEIGHT * auxiliary, stats


def expert_mlp(params, x, config: Config):
    """Returns the combined result and the load imbalance of experts (1 if even)."""
    grouped = x.reshape(-1, config.group, config.width)
    scores = grouped.astype(jnp.float32) @ params["gate"]
    combine, imbalance = top2_gating(scores, config.capacity)
    combine = combine.astype(x.dtype)
    dispatch = (combine > 0).astype(x.dtype)
    sent = jnp.einsum("gsec,gsw->egcw", dispatch, grouped)
    hidden = jnp.einsum("egcw,ewh->egch", sent, params["up"].astype(x.dtype))
    hidden = jax.nn.gelu(hidden)
    done = jnp.einsum("egch,ehw->egcw", hidden, params["down"].astype(x.dtype))
    return jnp.einsum("gsec,egcw->gsw", combine, done).reshape(x.shape), imbalance


def ragged_mlp(params, x, config: Config):
    """As expert_mlp, for all tokens together and without a capacity."""
    tokens = x.reshape(-1, config.width)
    gates = jax.nn.softmax(tokens.astype(jnp.float32) @ params["gate"], axis=-1)
    weights, chosen = jax.lax.top_k(gates, 2)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    order = jnp.argsort(chosen.reshape(-1), stable=True)
    sizes = jnp.bincount(chosen.reshape(-1), length=config.experts).astype(jnp.int32)
    sent = tokens[order // 2]
    hidden = jax.lax.ragged_dot(sent, params["up"].astype(x.dtype), sizes)
    hidden = jax.nn.gelu(hidden)
    done = jax.lax.ragged_dot(hidden, params["down"].astype(x.dtype), sizes)
    done = done * weights.reshape(-1)[order][:, None].astype(x.dtype)
    y = jnp.zeros_like(tokens).at[order // 2].add(done)
    # As for expert_mlp of each group: a sum over all tokens could not be in
    # micro-batches.
    first = jax.nn.one_hot(chosen[:, 0], config.experts)
    gates, first = (
        shares.reshape(-1, config.group, config.experts).mean(axis=1)
        for shares in (gates, first)
    )
    imbalance = jnp.mean(gates * first) * config.experts**2
    return y.reshape(x.shape), imbalance


def top2_gating(scores, capacity: int):
    """Weights for combining the outputs of experts: [groups, tokens, experts,
    capacity].

    `scores` is [groups, tokens, experts]. A token's two weights sum to one before
    tokens over the capacity are dropped; first choices have priority over second ones.
    """
    experts = scores.shape[-1]
    gates = jax.nn.softmax(scores, axis=-1)
    first = jax.nn.one_hot(jnp.argmax(gates, axis=-1), experts)
    second = jax.nn.one_hot(jnp.argmax(gates * (1 - first), axis=-1), experts)
    place1 = jnp.cumsum(first, axis=1) - 1
    place2 = jnp.cumsum(second, axis=1) - 1 + first.sum(axis=1, keepdims=True)
    weight1 = (gates * first).sum(axis=-1)
    weight2 = (gates * second).sum(axis=-1)
    total = weight1 + weight2
    combine = _slots(first, place1, weight1 / total, capacity)
    combine += _slots(second, place2, weight2 / total, capacity)
    imbalance = jnp.mean(gates.mean(axis=1) * first.mean(axis=1)) * experts**2
    return combine, imbalance


def _slots(choice, place, weight, capacity: int):
    """Each token's weight, at its expert and at its position in that expert's queue."""
    kept = choice * (place < capacity)
    queue = jax.nn.one_hot((place * kept).sum(axis=-1).astype(jnp.int32), capacity)
    return jnp.einsum("gs,gse,gsc->gsec", weight, kept, queue)


def _init_block(key, index: int, config: Config):
    attention, mlp = jax.random.split(key)
    block = {
        "norm1": init_norm(config.width),
        "attention": init_attention(attention, config.width),
        "norm2": init_norm(config.width),
    }
    if index % 2:
        return block | {"experts": _init_experts(mlp, config)}
    return block | {"mlp": init_mlp(mlp, config.width, config.hidden)}


def _init_experts(key, config: Config):
    gate, up, down = jax.random.split(key, 3)
    experts, width, hidden = config.experts, config.width, config.hidden
    return {
        "gate": normal(gate, (width, experts)),
        "up": normal(up, (experts, width, hidden), 1 / math.sqrt(width)),
        "down": normal(down, (experts, hidden, width), 1 / math.sqrt(hidden)),
    }
