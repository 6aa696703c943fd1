"""An MLP-mixer in equinox with dropout, and its training step.

The model holds functions and numbers beside arrays; the dropout's key is an argument
that comes back split.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

PATCHES, CHANNELS, CLASSES, BATCH = 16, 32, 10, 16
optimizer = optax.adam(1e-2)


class Block(eqx.Module):
    tokens: eqx.nn.MLP
    channels: eqx.nn.MLP
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm
    dropout: eqx.nn.Dropout

    def __init__(self, key):
        first, second = jax.random.split(key)
        mlp = eqx.nn.MLP
        self.tokens = mlp(PATCHES, PATCHES, 64, 1, jax.nn.gelu, key=first)
        self.channels = mlp(CHANNELS, CHANNELS, 128, 1, jax.nn.gelu, key=second)
        self.norm1 = eqx.nn.LayerNorm((CHANNELS, PATCHES))
        self.norm2 = eqx.nn.LayerNorm((PATCHES, CHANNELS))
        self.dropout = eqx.nn.Dropout(0.1)

    def __call__(self, x, key):
        first, second = jax.random.split(key)
        x = x + self.dropout(jax.vmap(self.tokens)(self.norm1(x)), key=first)
        x = x.T
        x = x + self.dropout(jax.vmap(self.channels)(self.norm2(x)), key=second)
        return x.T


class Mixer(eqx.Module):
    embed: eqx.nn.Linear
    blocks: list
    head: eqx.nn.Linear
    name: str

    def __init__(self, key, layers: int = 2):
        keys = jax.random.split(key, layers + 2)
        self.embed = eqx.nn.Linear(12, CHANNELS, key=keys[0])
        self.blocks = [Block(key) for key in keys[2:]]
        self.head = eqx.nn.Linear(CHANNELS, CLASSES, key=keys[1])
        self.name = "mixer"

    def __call__(self, patches, key):
        x = jax.vmap(self.embed)(patches).T
        for block, block_key in zip(
            self.blocks, jax.random.split(key, len(self.blocks)), strict=True
        ):
            x = block(x, block_key)
        return self.head(x.mean(axis=1))


def make():
    """The arguments of a step before its batch."""
    model = Mixer(jax.random.key(0))
    state = optimizer.init(eqx.filter(model, eqx.is_array))
    return model, state, jax.random.key(1)


def batch(seed: int):
    random = np.random.default_rng(seed)
    images = random.normal(size=(BATCH, PATCHES, 12)).astype("f4")
    return {"images": images, "labels": (images.sum((1, 2)) > 0).astype("i4")}


def step(model, opt_state, key, batch):
    key, own = jax.random.split(key)

    def loss_of(model):
        keys = jax.random.split(own, BATCH)
        logits = jax.vmap(model)(batch["images"], keys)
        losses = optax.softmax_cross_entropy_with_integer_labels(
            logits, batch["labels"]
        )
        return jnp.mean(losses)

    loss, gradients = eqx.filter_value_and_grad(loss_of)(model)
    updates, opt_state = optimizer.update(gradients, opt_state)
    return eqx.apply_updates(model, updates), opt_state, key, loss


jitted = eqx.filter_jit(step)
