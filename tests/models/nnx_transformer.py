"""A transformer in flax.nnx with dropout, and its training step.

The dropout's typed PRNG keys and counters are state, as the weights are.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

VOCABULARY, WIDTH, HEADS, LENGTH, BATCH = 64, 32, 4, 16, 16
# Lists of modules are a class of their own in newer versions, which also give the
# model to the optimizer with each update.
_NEWER = hasattr(nnx, "List")
_list = nnx.List if _NEWER else list


class Attention(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.qkv = nnx.Linear(WIDTH, 3 * WIDTH, rngs=rngs)
        self.out = nnx.Linear(WIDTH, WIDTH, rngs=rngs)

    def __call__(self, x):
        heads = (*x.shape[:2], HEADS, WIDTH // HEADS)
        q, k, v = (part.reshape(heads) for part in jnp.split(self.qkv(x), 3, axis=-1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (WIDTH // HEADS) ** 0.5
        causal = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
        weights = jax.nn.softmax(jnp.where(causal, scores, -1e9))
        return self.out(jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape))


class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.norm1 = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.attention = Attention(rngs)
        self.norm2 = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.up = nnx.Linear(WIDTH, 4 * WIDTH, rngs=rngs)
        self.down = nnx.Linear(4 * WIDTH, WIDTH, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.activation = jax.nn.gelu

    def __call__(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        hidden = self.activation(self.up(self.norm2(x)))
        return x + self.dropout(self.down(hidden))


class Transformer(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, layers: int = 2):
        self.embedding = nnx.Embed(VOCABULARY, WIDTH, rngs=rngs)
        self.blocks = _list([Block(rngs) for _ in range(layers)])
        self.head = nnx.Linear(WIDTH, VOCABULARY, rngs=rngs)

    def __call__(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def make():
    """The arguments of a step before its batch."""
    model = Transformer(nnx.Rngs(0))
    of_parameters = {"wrt": nnx.Param} if _NEWER else {}
    return model, nnx.Optimizer(model, optax.adamw(1e-2), **of_parameters)


def batch(seed: int):
    tokens = np.random.default_rng(seed).integers(0, 8, (BATCH, LENGTH + 1))
    return {
        "tokens": tokens[:, :-1].astype("i4"),
        "targets": tokens[:, 1:].astype("i4"),
    }


def step(model, optimizer, batch):
    """Updates model and optimizer in place."""

    def loss_of(model):
        losses = optax.softmax_cross_entropy_with_integer_labels(
            model(batch["tokens"]), batch["targets"]
        )
        return losses.mean()

    loss, gradients = nnx.value_and_grad(loss_of)(model)
    optimizer.update(*([model] if _NEWER else []), gradients)
    return loss


jitted = nnx.jit(step)
