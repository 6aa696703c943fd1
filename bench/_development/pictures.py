"""Models of pictures: convolutions, mixers, diffusion, contrastive losses."""

import equinox as eqx
import haiku as hk
import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from training import (
    cross_entropy,
    equinox_training,
    images,
    labelled,
    linen_training,
    struct,
    training,
)


class ConvNextBlock(nn.Module):
    @nn.compact
    def __call__(self, x):
        width = x.shape[-1]
        h = nn.Conv(width, (7, 7), feature_group_count=width)(x)
        h = nn.gelu(nn.Dense(4 * width)(nn.LayerNorm()(h)))
        scale = self.param("scale", nn.initializers.constant(1e-2), (width,))
        return x + scale * nn.Dense(width)(h)


class ConvNext(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (32, 64):
            x = nn.Conv(width, (2, 2), (2, 2))(nn.LayerNorm()(x))
            for _ in range(2):
                x = ConvNextBlock()(x)
        return nn.Dense(10)(x.mean((1, 2)))


def linen_convnext():
    return linen_training(ConvNext(), images(32), labelled)


class DiffusionNet(nn.Module):
    """Downwards, upwards, and told how much noise there is."""

    @nn.compact
    def __call__(self, inputs):
        x, time = inputs
        angles = time[:, None] * jnp.exp(jnp.linspace(0.0, 6.0, 16))
        time = nn.silu(
            nn.Dense(64)(jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1))
        )
        x = nn.Conv(32, (3, 3))(x)
        skips = []
        for width in (32, 64):
            h = nn.silu(nn.GroupNorm(8)(nn.Conv(width, (3, 3))(x)))
            x = h + nn.Dense(width)(time)[:, None, None]
            skips.append(x)
            x = nn.avg_pool(x, (2, 2), (2, 2))
        for width, skip in zip((64, 32), reversed(skips), strict=True):
            x = jax.image.resize(x, (*skip.shape[:3], x.shape[3]), "nearest")
            x = jnp.concatenate([x, skip], -1)
            x = nn.silu(nn.GroupNorm(8)(nn.Conv(width, (3, 3))(x)))
        return nn.Conv(3, (3, 3))(x)


def linen_diffusion():
    batch = {"x": struct(16, 24, 24, 3), "noise": struct(16, 24, 24, 3)}
    batch["time"] = struct(16)
    model = DiffusionNet()
    params = jax.eval_shape(
        model.init, jax.random.PRNGKey(0), (batch["x"], batch["time"])
    )

    def loss_of(params, average, batch):
        share = jax.nn.sigmoid(batch["time"])[:, None, None, None]
        noisy = jnp.sqrt(share) * batch["x"] + jnp.sqrt(1 - share) * batch["noise"]
        guess = model.apply(params, (noisy, batch["time"]))
        average = jax.tree.map(lambda a, p: 0.99 * a + 0.01 * p, average, params)
        return jnp.mean((guess - batch["noise"]) ** 2), jax.lax.stop_gradient(average)

    return training(loss_of, params, batch, extra=params)


class MixerBlock(eqx.Module):
    tokens: eqx.nn.MLP
    channels: eqx.nn.MLP
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.tokens = eqx.nn.MLP(64, 64, 128, 1, jax.nn.gelu, key=first)
        self.channels = eqx.nn.MLP(96, 96, 384, 1, jax.nn.gelu, key=second)
        self.norm1 = eqx.nn.LayerNorm((96, 64))
        self.norm2 = eqx.nn.LayerNorm((96, 64))

    def __call__(self, x):
        x = x + jax.vmap(self.tokens)(self.norm1(x))
        return x + jax.vmap(self.channels, 1, 1)(self.norm2(x))


class Mixer(eqx.Module):
    patches: eqx.nn.Conv2d
    blocks: list
    head: eqx.nn.Linear

    def __init__(self, key):
        keys = jax.random.split(key, 5)
        self.patches = eqx.nn.Conv2d(3, 96, 4, stride=4, key=keys[0])
        self.blocks = [MixerBlock(key) for key in keys[1:4]]
        self.head = eqx.nn.Linear(96, 10, key=keys[4])

    def __call__(self, x):
        x = self.patches(x).reshape(96, -1)
        for block in self.blocks:
            x = block(x)
        return self.head(jnp.mean(x, 1))


def equinox_mixer_lamb():
    def loss_of(model, batch):
        return labelled(jax.vmap(model)(batch["x"]), batch)

    batch = images(32, channels_first=True)
    return equinox_training(Mixer, batch, loss_of, optax.lamb(1e-3))


def haiku_resnet_bottleneck():
    def forward(x):
        net = hk.nets.ResNet(
            blocks_per_group=(1, 1, 1, 1),
            num_classes=10,
            bottleneck=True,
            channels_per_group=(32, 64, 64, 128),
            use_projection=(True, True, True, True),
        )
        return net(x, is_training=True)

    net = hk.transform_with_state(forward)
    batch = images(48, 16)
    params, state = jax.eval_shape(net.init, jax.random.PRNGKey(0), batch["x"])

    def loss_of(params, state, batch):
        logits, state = net.apply(params, state, None, batch["x"])
        return cross_entropy(logits, batch["y"]), state

    return training(loss_of, params, batch, optax.lars(0.1), state)


class Encoder(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (32, 64, 96):
            x = nn.relu(nn.GroupNorm(8)(nn.Conv(width, (3, 3), (2, 2))(x)))
        x = nn.relu(nn.Dense(256)(x.reshape(x.shape[0], -1)))
        return nn.Dense(64)(x)


def linen_contrastive():
    """Two views of each picture find each other in the batch."""
    model = Encoder()
    views = {"a": struct(32, 32, 32, 3), "b": struct(32, 32, 32, 3)}
    params = jax.eval_shape(model.init, jax.random.PRNGKey(0), views["a"])

    def loss_of(params, _, views):
        both = jnp.concatenate([views["a"], views["b"]])
        out = model.apply(params, both)
        out = out / jnp.linalg.norm(out, axis=-1, keepdims=True)
        alike = out @ out.T / 0.1 - 1e9 * jnp.eye(64)
        partner = jnp.roll(jnp.arange(64), 32)
        return cross_entropy(alike, partner), None

    return training(loss_of, params, views)


class Autoencoder(nn.Module):
    @nn.compact
    def __call__(self, x, key):
        for width in (32, 64):
            x = nn.relu(nn.Conv(width, (4, 4), (2, 2))(x))
        flat = x.reshape(x.shape[0], -1)
        mean, log_variance = jnp.split(nn.Dense(64)(flat), 2, -1)
        noise = jax.random.normal(key, mean.shape)
        x = nn.Dense(flat.shape[-1])(mean + jnp.exp(log_variance / 2) * noise)
        x = nn.relu(x).reshape(x.shape[0], 8, 8, 64)
        for width in (32, 3):
            x = nn.ConvTranspose(width, (4, 4), (2, 2))(nn.relu(x))
        return x, mean, log_variance


def linen_variational():
    model = Autoencoder()
    batch = struct(16, 32, 32, 3)
    key = jax.eval_shape(lambda: jax.random.PRNGKey(0))
    params = jax.eval_shape(model.init, key, batch, key)

    def loss_of(params, key, batch):
        key, drawn = jax.random.split(key)
        out, mean, log_variance = model.apply(params, batch, drawn)
        divergence = jnp.exp(log_variance) + mean**2 - 1 - log_variance
        return jnp.mean((out - batch) ** 2) + 1e-3 * jnp.mean(divergence), key

    return training(loss_of, params, batch, extra=key)
