"""public_models.py FOLDER NAME...: lowers training steps of public libraries' models.

Each is a function here that returns what `meshwright.lower` takes; sizes are tiny.
"""

import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What the development set's steps are made of, too.
sys.path.append(str(ROOT / "bench" / "_development"))

import jax
import jax.numpy as jnp
import optax
from training import (
    cross_entropy,
    equinox_training,
    integers,
    labelled,
    linen_training,
    struct,
    training,
)

import meshwright

BATCH = 8


def images(size=16):
    return {"x": struct(BATCH, size, size, 3), "y": integers(BATCH)}


def tokens(length=16):
    return {"x": integers(BATCH, length), "y": integers(BATCH, length)}


def haiku_resnet():
    import haiku as hk

    def forward(x):
        net = hk.nets.ResNet(
            blocks_per_group=(1, 1, 1, 1),
            num_classes=10,
            bottleneck=False,
            channels_per_group=(8, 8, 16, 16),
            use_projection=(True, True, True, True),
        )
        return net(x, is_training=True)

    net = hk.transform_with_state(forward)
    batch = images(size=32)
    params, state = jax.eval_shape(net.init, jax.random.PRNGKey(0), batch["x"])

    def loss_of(params, state, batch):
        logits, state = net.apply(params, state, None, batch["x"])
        return cross_entropy(logits, batch["y"]), state

    return training(loss_of, params, batch, optax.sgd(0.1, 0.9), state)


def haiku_lstm():
    import haiku as hk

    def forward(tokens):
        core = hk.DeepRNN([hk.LSTM(32), jax.nn.relu, hk.LSTM(32), hk.Linear(48)])
        x = jax.nn.one_hot(tokens, 48)
        out, _ = hk.dynamic_unroll(
            core, x, core.initial_state(x.shape[0]), time_major=False
        )
        return out

    net = hk.without_apply_rng(hk.transform(forward))
    batch = tokens(12)
    params = jax.eval_shape(net.init, jax.random.PRNGKey(0), batch["x"])

    def loss_of(params, _, batch):
        return cross_entropy(net.apply(params, batch["x"]), batch["y"]), None

    return training(loss_of, params, batch, optax.rmsprop(1e-3))


def haiku_vqvae():
    import haiku as hk

    def forward(x):
        z = hk.Sequential([hk.Conv2D(16, 4, stride=2), jax.nn.relu, hk.Conv2D(8, 3)])(x)
        quantized = hk.nets.VectorQuantizerEMA(8, 32, 0.25, 0.99)(z, is_training=True)
        decoder = [hk.Conv2DTranspose(16, 4, stride=2), jax.nn.relu, hk.Conv2D(3, 1)]
        out = hk.Sequential(decoder)(quantized["quantize"])
        return jnp.mean((out - x) ** 2) + quantized["loss"]

    net = hk.transform_with_state(forward)
    x = struct(BATCH, 16, 16, 3)
    params, state = jax.eval_shape(net.init, jax.random.PRNGKey(0), x)

    def loss_of(params, state, x):
        return net.apply(params, state, None, x)

    return training(loss_of, params, x, extra=state)


def linen_transformer():
    from flax import linen as nn

    class Layer(nn.Module):
        @nn.compact
        def __call__(self, x):
            h = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(4)(h, h)
            h = nn.silu(nn.Dense(64, name="gate")(nn.LayerNorm()(x)))
            return x + nn.Dense(32, name="down")(h)

    class Model(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(64, 32)(tokens)
            for i in range(3):
                x = Layer(name=f"layers_{i}")(x)
            return nn.Dense(64, name="head")(nn.LayerNorm()(x))

    return linen_training(Model(), tokens(), labelled)


def linen_lstm_adafactor():
    from flax import linen as nn

    class Model(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(32, 32)(tokens)
            x = nn.RNN(nn.OptimizedLSTMCell(32))(x)
            return nn.Dense(32)(x)

    optimizer = optax.adafactor(1e-3, min_dim_size_to_factor=16)
    return linen_training(Model(), tokens(10), labelled, optimizer)


def nnx_transformer():
    from flax import nnx

    class Block(nnx.Module):
        def __init__(self, rngs):
            self.norm = nnx.LayerNorm(32, rngs=rngs)
            self.attention = nnx.MultiHeadAttention(
                4, 32, decode=False, dropout_rate=0.1, deterministic=False, rngs=rngs
            )
            self.up = nnx.Linear(32, 64, rngs=rngs)
            self.down = nnx.Linear(64, 32, rngs=rngs)
            self.drop = nnx.Dropout(0.1, rngs=rngs)

        def __call__(self, x):
            x = x + self.attention(self.norm(x))
            return x + self.drop(self.down(nnx.gelu(self.up(x))))

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.embed = nnx.Embed(64, 32, rngs=rngs)
            self.layers = nnx.List([Block(rngs) for _ in range(2)])
            self.head = nnx.Linear(32, 64, rngs=rngs)

        def __call__(self, tokens):
            x = self.embed(tokens)
            for layer in self.layers:
                x = layer(x)
            return self.head(x)

    abstract = nnx.eval_shape(lambda: Model(nnx.Rngs(0)))
    graph, params, rest = nnx.split(abstract, nnx.Param, ...)

    def loss_of(params, rest, batch):
        model = nnx.merge(graph, params, rest)
        loss = cross_entropy(model(batch["x"]), batch["y"])
        return loss, nnx.split(model, nnx.Param, ...)[2]

    params, rest = nnx.to_pure_dict(params), nnx.to_pure_dict(rest)
    state_of = partial(_nnx_state, nnx, abstract)

    def pure_loss(params, rest, batch):
        loss, left = loss_of(state_of(params, 1), state_of(rest, 2), batch)
        return loss, nnx.to_pure_dict(left)

    return training(pure_loss, params, tokens(), extra=rest)


def _nnx_state(nnx, abstract, values, part):
    state = nnx.split(abstract, nnx.Param, ...)[part]
    nnx.replace_by_pure_dict(state, values)
    return state


def equinox_mixer():
    import equinox as eqx

    class Block(eqx.Module):
        tokens: eqx.nn.MLP
        channels: eqx.nn.MLP
        norm: eqx.nn.LayerNorm

        def __init__(self, key):
            a, b = jax.random.split(key)
            self.tokens = eqx.nn.MLP(16, 16, 32, 1, key=a)
            self.channels = eqx.nn.MLP(24, 24, 48, 1, key=b)
            self.norm = eqx.nn.LayerNorm((24, 16))

        def __call__(self, x):
            x = x + jax.vmap(self.tokens)(self.norm(x))
            return x + jax.vmap(self.channels, 1, 1)(self.norm(x))

    class Mixer(eqx.Module):
        patches: eqx.nn.Conv2d
        blocks: list
        head: eqx.nn.Linear

        def __init__(self, key):
            keys = jax.random.split(key, 4)
            self.patches = eqx.nn.Conv2d(3, 24, 4, stride=4, key=keys[0])
            self.blocks = [Block(key) for key in keys[1:3]]
            self.head = eqx.nn.Linear(24, 10, key=keys[3])

        def __call__(self, x):
            x = self.patches(x)
            x = x.reshape(24, -1)
            for block in self.blocks:
                x = block(x)
            return self.head(jnp.mean(x, 1))

    def loss_of(model, batch):
        return labelled(jax.vmap(model)(batch["x"]), batch)

    batch = {"x": struct(BATCH, 3, 16, 16), "y": integers(BATCH)}
    return equinox_training(Mixer, batch, loss_of, optax.lion(1e-3))


def equinox_gru_muon():
    import equinox as eqx

    class Model(eqx.Module):
        cell: eqx.nn.GRUCell
        head: eqx.nn.Linear

        def __init__(self, key):
            self.cell = eqx.nn.GRUCell(8, 32, key=key)
            self.head = eqx.nn.Linear(32, 8, key=key)

        def __call__(self, xs):
            def body(h, x):
                return self.cell(x, h), None

            h, _ = jax.lax.scan(body, jnp.zeros(32), xs)
            return self.head(h)

    def loss_of(model, batch):
        return jnp.mean((jax.vmap(model)(batch["x"]) - batch["y"]) ** 2)

    batch = {"x": struct(BATCH, 10, 8), "y": struct(BATCH, 8)}
    return equinox_training(Model, batch, loss_of, optax.contrib.muon(1e-3))


def penzai_llama():
    from penzai import pz
    from penzai.models.transformer.variants import llamalike_common as variants

    config = variants.LlamalikeTransformerConfig(
        num_kv_heads=2,
        query_head_multiplier=2,
        embedding_dim=32,
        projection_dim=8,
        mlp_hidden_dim=64,
        num_decoder_blocks=2,
        vocab_size=64,
        mlp_variant="swiglu",
        tie_embedder_and_logits=False,
        parameter_dtype=jnp.float32,
        activation_dtype=jnp.float32,
    )
    model = variants.build_llamalike_transformer(
        config, init_base_rng=jax.random.PRNGKey(0), name="model"
    )
    unbound, variables = pz.unbind_params(model, freeze=True)
    values = {str(one.label): one.value for one in variables}

    def loss_of(values, _, batch):
        bound = pz.bind_variables(
            unbound,
            [pz.ParameterValue(label=k, value=v) for k, v in values.items()],
        )
        x = pz.nx.wrap(batch["x"]).tag("batch", "seq")
        out = bound(x, token_positions=pz.nx.arange("seq", 16))
        logits = out.untag("batch", "seq", "vocabulary").unwrap()
        return cross_entropy(logits, batch["y"]), None

    return training(loss_of, values, tokens())


def e3nn_message_passing():
    import e3nn_jax as e3nn
    from e3nn_jax import flax as e3nn_flax
    from flax import linen as nn

    senders = jnp.array([0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 4, 6])
    receivers = jnp.array([1, 2, 3, 4, 5, 6, 7, 0, 4, 6, 0, 2])

    class Model(nn.Module):
        @nn.compact
        def __call__(self, positions):
            vectors = e3nn.IrrepsArray("1o", positions[receivers] - positions[senders])
            harmonics = e3nn.spherical_harmonics("0e + 1o + 2e", vectors, True)
            nodes = e3nn.IrrepsArray("8x0e", jnp.ones((8, 8)))
            for i in range(2):
                message = e3nn.tensor_product(nodes[senders], harmonics)
                message = e3nn_flax.Linear("8x0e + 4x1o", name=f"message_{i}")(message)
                nodes = e3nn.scatter_sum(message, dst=receivers, output_size=8)
                nodes = e3nn.gate(
                    e3nn_flax.Linear("8x0e + 4x0e + 4x1o", name=f"update_{i}")(nodes)
                )
            out = e3nn_flax.Linear("0e", name="readout")(nodes)
            return jnp.sum(out.array)

    model = Model()
    batch = {"x": struct(BATCH, 8, 3), "y": struct(BATCH)}
    params = jax.eval_shape(model.init, jax.random.PRNGKey(0), struct(8, 3))

    def loss_of(params, _, batch):
        out = jax.vmap(lambda x: model.apply(params, x))(batch["x"])
        return jnp.mean((out - batch["y"]) ** 2), None

    return training(loss_of, params, batch)


def diffrax_neural_ode():
    import diffrax
    import equinox as eqx

    def loss_of(net, batch):
        def solve(y0):
            solution = diffrax.diffeqsolve(
                diffrax.ODETerm(lambda t, y, args: net(y)),
                diffrax.Heun(),
                0.0,
                1.0,
                0.25,
                y0,
                adjoint=diffrax.DirectAdjoint(),
                max_steps=8,
                throw=False,
            )
            return solution.ys[-1]

        return jnp.mean((jax.vmap(solve)(batch["x"]) - batch["y"]) ** 2)

    def field(key):
        return eqx.nn.MLP(8, 8, 32, 2, jnp.tanh, key=key)

    batch = {"x": struct(BATCH, 8), "y": struct(BATCH, 8)}
    return equinox_training(field, batch, loss_of)


def flowjax_flow():
    import equinox as eqx
    import paramax
    from flowjax.distributions import Normal
    from flowjax.flows import masked_autoregressive_flow

    flow = masked_autoregressive_flow(
        jax.random.PRNGKey(0),
        base_dist=Normal(jnp.zeros(8)),
        flow_layers=2,
        nn_width=16,
    )
    params, static = eqx.partition(
        flow,
        eqx.is_inexact_array,
        is_leaf=lambda leaf: isinstance(leaf, paramax.NonTrainable),
    )

    def loss_of(params, _, x):
        model = paramax.unwrap(eqx.combine(params, static))
        return -jnp.mean(model.log_prob(x)), None

    return training(loss_of, params, struct(BATCH, 8))


MODELS = {
    model.__name__: model
    for model in (
        haiku_resnet,
        haiku_lstm,
        haiku_vqvae,
        linen_transformer,
        linen_lstm_adafactor,
        nnx_transformer,
        equinox_mixer,
        equinox_gru_muon,
        penzai_llama,
        e3nn_message_passing,
        diffrax_neural_ode,
        flowjax_flow,
    )
}


def lower_all(models, folder, names):
    for name in names:
        step, args = models[name]()
        meshwright.lower(step, *args, state=0).save(folder / f"{name}.hlo.pb.zst")


if __name__ == "__main__":
    lower_all(MODELS, Path(sys.argv[1]), sys.argv[2:])
