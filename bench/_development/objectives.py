"""Losses of their own: preferences, policies, retrieval, codes, rendered rays, adapters."""

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from training import BATCH, cross_entropy, integers, labelled, struct, tokens, training

WIDTH, VOCABULARY = 128, 1024


class Block(nn.Module):
    heads: int = 4
    causal: bool = True

    @nn.compact
    def __call__(self, x):
        length, width = x.shape[-2:]
        mask = jnp.tril(jnp.ones((length, length), bool)) if self.causal else None
        h = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(self.heads)(h, h, mask=mask)
        return x + nn.Dense(width)(nn.gelu(nn.Dense(4 * width)(nn.LayerNorm()(x))))


class Decoder(nn.Module):
    layers: int = 2
    width: int = WIDTH

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(VOCABULARY, self.width)(tokens)
        x = x + self.param("at", nn.initializers.normal(), (x.shape[1], self.width))
        for _ in range(self.layers):
            x = Block()(x)
        return nn.Dense(VOCABULARY)(nn.LayerNorm()(x))


def shapes_of(model, *inputs):
    return jax.eval_shape(model.init, jax.random.PRNGKey(0), *inputs)


def log_likelihood(logits, tokens):
    each = jax.nn.log_softmax(logits[:, :-1])
    return jnp.take_along_axis(each, tokens[:, 1:, None], -1)[..., 0].sum(-1)


def preference_pairs():
    """DPO: of two answers, one is preferred to what a fixed model thinks of both."""
    model = Decoder()
    batch = {"better": integers(BATCH, 48), "worse": integers(BATCH, 48)}
    params = shapes_of(model, batch["better"])

    def loss_of(params, reference, batch):
        def margin(of):
            both = [
                log_likelihood(model.apply(of, batch[name]), batch[name])
                for name in ("better", "worse")
            ]
            return both[0] - both[1]

        ahead = margin(params) - jax.lax.stop_gradient(margin(reference))
        return -jnp.mean(jax.nn.log_sigmoid(0.1 * ahead)), reference

    return training(loss_of, params, batch, extra=params)


class ActorCritic(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (256, 256):
            x = nn.tanh(nn.Dense(width)(x))
        return nn.Dense(6)(x), nn.Dense(1)(x)[..., 0]


def clipped_policy():
    """PPO: advantages by a reverse scan over time, and a clipped ratio."""
    model = ActorCritic()
    length, actors = 64, 32
    batch = {"x": struct(length, actors, 48), "action": integers(length, actors)}
    names = ("reward", "done", "log_probability", "value")
    batch |= {name: struct(length, actors) for name in names}
    params = shapes_of(model, batch["x"])

    def advantages(batch):
        def back(carry, now):
            later, next_value = carry
            reward, done, value = now
            error = reward + 0.99 * next_value * (1 - done) - value
            later = error + 0.95 * 0.99 * (1 - done) * later
            return (later, value), later

        none = jnp.zeros(actors)
        steps = (batch["reward"], batch["done"], batch["value"])
        return jax.lax.scan(back, (none, none), steps, reverse=True)[1]

    def loss_of(params, _, batch):
        logits, value = model.apply(params, batch["x"])
        chances = jax.nn.log_softmax(logits)
        chosen = jnp.take_along_axis(chances, batch["action"][..., None], -1)[..., 0]
        ahead = advantages(batch)
        ratio = jnp.exp(chosen - batch["log_probability"])
        gain = jnp.minimum(ratio * ahead, jnp.clip(ratio, 0.8, 1.2) * ahead)
        error = (value - batch["value"] - ahead) ** 2
        entropy = -jnp.sum(jnp.exp(chances) * chances, -1)
        return jnp.mean(0.5 * error - gain - 0.01 * entropy), None

    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(3e-4))
    return training(loss_of, params, batch, optimizer)


class Towers(nn.Module):
    @nn.compact
    def __call__(self, pictures, words):
        x = nn.Conv(96, (8, 8), (8, 8))(pictures).reshape(pictures.shape[0], -1, 96)
        for _ in range(2):
            x = Block(causal=False)(x)
        y = nn.Embed(512, 96)(words)
        for _ in range(2):
            y = Block(causal=False)(y)
        both = [nn.Dense(64)(side.mean(1)) for side in (x, y)]
        return [side / jnp.linalg.norm(side, axis=-1, keepdims=True) for side in both]


def paired_towers():
    """Pictures and captions, each against all others of a large batch."""
    model = Towers()
    batch = {"pictures": struct(256, 32, 32, 3), "words": integers(256, 16)}
    variables = {
        "model": shapes_of(model, batch["pictures"], batch["words"]),
        "scale": struct(),
    }

    def loss_of(params, _, batch):
        a, b = model.apply(params["model"], batch["pictures"], batch["words"])
        alike = jnp.exp(params["scale"]) * a @ b.T
        labels = jnp.arange(256)
        return (cross_entropy(alike, labels) + cross_entropy(alike.T, labels)) / 2, None

    return training(loss_of, variables, batch)


class Coded(nn.Module):
    codes: int = 512

    @nn.compact
    def __call__(self, x):
        for width in (32, 64):
            x = nn.relu(nn.Conv(width, (4, 4), (2, 2))(x))
        book = self.param("book", nn.initializers.normal(), (self.codes, 64))
        flat = x.reshape(-1, 64)
        apart = (flat**2).sum(-1, keepdims=True) - 2 * flat @ book.T
        nearest = book[jnp.argmin(apart + (book**2).sum(-1), -1)].reshape(x.shape)
        stop = jax.lax.stop_gradient
        commit = jnp.mean((stop(nearest) - x) ** 2)
        commit = 0.25 * commit + jnp.mean((nearest - stop(x)) ** 2)
        x = x + stop(nearest - x)
        for width in (32, 3):
            x = nn.ConvTranspose(width, (4, 4), (2, 2))(nn.relu(x))
        return x, commit


def quantised_autoencoder():
    """VQ-VAE: each position of a picture is the nearest of a book of codes."""
    model = Coded()
    batch = struct(32, 32, 32, 3)

    def loss_of(params, _, batch):
        out, commit = model.apply(params, batch)
        return jnp.mean((out - batch) ** 2) + commit, None

    return training(loss_of, shapes_of(model, batch), batch)


class Field(nn.Module):
    @nn.compact
    def __call__(self, points):
        angles = (points[..., None] * 2.0 ** jnp.arange(8)).reshape(
            *points.shape[:-1], -1
        )
        first = x = jnp.concatenate([points, jnp.sin(angles), jnp.cos(angles)], -1)
        for layer in range(5):
            x = nn.relu(nn.Dense(128)(x))
            if layer == 2:
                x = jnp.concatenate([x, first], -1)
        return nn.sigmoid(nn.Dense(3)(x)), nn.softplus(nn.Dense(1)(x)[..., 0])


def rendered_rays():
    """NeRF: colours along each ray, weighted by what light gets through."""
    model, samples = Field(), 32
    batch = {name: struct(256, 3) for name in ("origin", "toward", "colour")}
    params = shapes_of(model, struct(256, samples, 3))

    def loss_of(params, _, batch):
        depths = jnp.linspace(0.1, 4.0, samples)
        points = batch["origin"][:, None] + depths[:, None] * batch["toward"][:, None]
        colours, density = model.apply(params, points)
        opaque = 1 - jnp.exp(-density * (depths[1] - depths[0]))
        through = jnp.cumprod(1 - opaque + 1e-6, -1)
        weights = opaque * jnp.pad(through[:, :-1], ((0, 0), (1, 0)), constant_values=1)
        seen = jnp.sum(weights[..., None] * colours, 1)
        return jnp.mean((seen - batch["colour"]) ** 2), None

    return training(loss_of, params, batch)


def low_rank_adapters():
    """LoRA: weights stay, and products of thin matrices are trained."""
    model, rank = Decoder(3), 8
    batch = tokens()
    fixed = shapes_of(model, batch["x"])

    def thin(leaf):
        if len(leaf.shape) != 2:
            return {}
        return {"a": struct(leaf.shape[0], rank), "b": struct(rank, leaf.shape[1])}

    def loss_of(adapters, fixed, batch):
        def adapted(weight, pair):
            return weight + pair["a"] @ pair["b"] if pair else weight

        weights = jax.tree.map(adapted, fixed, adapters)
        return labelled(model.apply(weights, batch["x"]), batch), fixed

    return training(loss_of, jax.tree.map(thin, fixed), batch, extra=fixed)
