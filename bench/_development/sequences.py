"""Models of sequences: scanned stacks, recurrent nets, state spaces, mixtures."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from flax import nnx
from training import (
    BATCH,
    equinox_training,
    integers,
    labelled,
    linen_training,
    struct,
    tokens,
    training,
)

WIDTH, VOCABULARY = 128, 1024


class Layer(nn.Module):
    width: int = WIDTH

    @nn.compact
    def __call__(self, x, _=None):
        h = nn.RMSNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(4)(h, h)
        h = nn.gelu(nn.Dense(4 * self.width)(nn.RMSNorm()(x)))
        return x + nn.Dense(self.width)(h), None


class Stack(nn.Module):
    layers: int = 4

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(VOCABULARY, WIDTH)(tokens)
        scanned = nn.scan(
            nn.remat(Layer, prevent_cse=False),
            variable_axes={"params": 0},
            split_rngs={"params": True},
            length=self.layers,
        )
        x, _ = scanned()(x, None)
        return nn.Dense(VOCABULARY)(nn.RMSNorm()(x))


def linen_scanned_remat():
    return linen_training(Stack(), tokens(), labelled)


class Switch(nn.Module):
    """Every token to one of the experts, as far as there is room."""

    experts: int = 8

    @nn.compact
    def __call__(self, x):
        width = x.shape[-1]
        flat = x.reshape(-1, width)
        room = 2 * flat.shape[0] // self.experts
        gates = jax.nn.softmax(nn.Dense(self.experts, use_bias=False)(flat))
        chosen = jax.nn.one_hot(jnp.argmax(gates, -1), self.experts)
        place = jnp.cumsum(chosen, 0) * chosen - 1
        dispatch = jax.nn.one_hot(place.astype(jnp.int32), room) * chosen[..., None]
        up = self.param(
            "up", nn.initializers.lecun_normal(), (self.experts, width, 4 * width)
        )
        down = self.param(
            "down", nn.initializers.lecun_normal(), (self.experts, 4 * width, width)
        )
        inputs = jnp.einsum("tec,td->ecd", dispatch, flat)
        hidden = nn.gelu(jnp.einsum("ecd,edf->ecf", inputs, up))
        outputs = jnp.einsum("ecf,efd->ecd", hidden, down)
        combine = dispatch * jnp.max(gates, -1)[:, None, None]
        return jnp.einsum("tec,ecd->td", combine, outputs).reshape(x.shape)


class Mixture(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(512, 64)(tokens)
        for _ in range(2):
            h = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(4)(h, h)
            x = x + Switch()(nn.LayerNorm()(x))
        return nn.Dense(512)(x)


def linen_switch_mixture():
    return linen_training(Mixture(), tokens(32), labelled)


class Recurrent(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(512, 128)(tokens)
        for _ in range(2):
            x = nn.RNN(nn.OptimizedLSTMCell(128))(x)
        return nn.Dense(512)(x)


def linen_lstm():
    return linen_training(Recurrent(), tokens(32), labelled, optax.rmsprop(1e-3))


class BidirectionalGru(eqx.Module):
    cells: list
    head: eqx.nn.Linear

    def __init__(self, key):
        keys = jax.random.split(key, 3)
        self.cells = [eqx.nn.GRUCell(32, 128, key=k) for k in keys[:2]]
        self.head = eqx.nn.Linear(256, 10, key=keys[2])

    def __call__(self, xs):
        ends = []
        for cell, reverse in zip(self.cells, (False, True), strict=True):

            def body(h, x, cell=cell):
                return cell(x, h), None

            end, _ = jax.lax.scan(body, jnp.zeros(128), xs, reverse=reverse)
            ends.append(end)
        return self.head(jnp.concatenate(ends))


def equinox_gru():
    batch = {"x": struct(32, 24, 32), "y": integers(32)}

    def loss_of(model, batch):
        return labelled(jax.vmap(model)(batch["x"]), batch)

    return equinox_training(BidirectionalGru, batch, loss_of, optax.adabelief(1e-3))


class StateSpace(nn.Module):
    """Linear recurrences by a parallel scan, gated."""

    @nn.compact
    def __call__(self, x):
        width = x.shape[-1]
        h = nn.RMSNorm()(x)
        values, gate = jnp.split(nn.Dense(4 * width)(h), 2, -1)
        decay = nn.sigmoid(nn.Dense(2 * width)(h))

        def combine(a, b):
            return a[0] * b[0], a[1] * b[0] + b[1]

        _, states = jax.lax.associative_scan(
            combine, (decay, (1 - decay) * values), axis=1
        )
        return x + nn.Dense(width)(states * nn.silu(gate))


class StateSpaces(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(512, 96)(tokens)
        for _ in range(2):
            x = StateSpace()(x)
        return nn.Dense(512)(x)


def linen_state_space():
    return linen_training(StateSpaces(), tokens(32), labelled)


class NnxBlock(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(
            4, WIDTH, decode=False, dropout_rate=0.1, deterministic=False, rngs=rngs
        )
        self.up = nnx.Linear(WIDTH, 4 * WIDTH, rngs=rngs)
        self.down = nnx.Linear(4 * WIDTH, WIDTH, rngs=rngs)

    def __call__(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.down(nnx.gelu(self.up(x)))


class NnxTransformer(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(VOCABULARY, WIDTH, rngs=rngs)
        self.layers = nnx.List([NnxBlock(rngs) for _ in range(2)])
        self.head = nnx.Linear(WIDTH, VOCABULARY, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def nnx_training(make, batch, optimizer):
    """An nnx model and its optimizer are changed in place."""

    def both():
        model = make(nnx.Rngs(0))
        return model, nnx.Optimizer(model, optimizer, wrt=nnx.Param)

    def step(model, optimizer, batch):
        def loss_of(model):
            return labelled(model(batch["x"]), batch)

        loss, gradients = nnx.value_and_grad(loss_of)(model)
        optimizer.update(model, gradients)
        return loss

    return step, (*nnx.eval_shape(both), batch)


def nnx_transformer_muon():
    return nnx_training(NnxTransformer, tokens(), optax.contrib.muon(1e-3))


def sequence_autoencoder():
    """Plain jax: a loop over time in a loop over layers, with gradient clipping."""
    width, layers, length = 96, 3, 24
    params = {
        "w": struct(layers, 2 * width, width),
        "b": struct(layers, width),
        "out": struct(width, 32),
        "in": struct(32, width),
    }

    def loss_of(params, _, batch):
        def layer(x, weights):
            def cell(h, x):
                h = jnp.tanh(jnp.concatenate([h, x], -1) @ weights["w"] + weights["b"])
                return h, h

            _, ys = jax.lax.scan(cell, jnp.zeros_like(x[0]), x)
            return x + ys, None

        x = jnp.swapaxes(batch["x"], 0, 1) @ params["in"]
        x, _ = jax.lax.scan(layer, x, {"w": params["w"], "b": params["b"]})
        return jnp.mean((jnp.swapaxes(x @ params["out"], 0, 1) - batch["x"]) ** 2), None

    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.nadam(1e-3))
    return training(loss_of, params, {"x": struct(BATCH, length, 32)}, optimizer)
