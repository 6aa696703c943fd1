"""What goes where is found by the step: attention over edges, top-2 experts, lattices,
selective scans; long sequences, sound, and gradients taken twice."""

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from objectives import Block, shapes_of
from training import (
    cross_entropy,
    images,
    integers,
    labelled,
    linen_training,
    struct,
    tokens,
    training,
)


class EdgeAttention(nn.Module):
    heads: int = 4
    width: int = 32

    @nn.compact
    def __call__(self, nodes, senders, receivers):
        count = nodes.shape[0]
        h = nn.Dense(self.heads * self.width, use_bias=False)(nodes)
        h = h.reshape(count, self.heads, self.width)
        ends = [
            jnp.einsum(
                "nhw,hw->nh", h, self.param(name, nn.initializers.normal(), h.shape[1:])
            )
            for name in ("sender", "receiver")
        ]
        scores = nn.leaky_relu(ends[0][senders] + ends[1][receivers], 0.2)
        largest = jax.ops.segment_max(scores, receivers, count)
        weights = jnp.exp(scores - jax.lax.stop_gradient(largest)[receivers])
        total = jax.ops.segment_sum(weights, receivers, count)[receivers]
        messages = h[senders] * (weights / (total + 1e-9))[..., None]
        return jax.ops.segment_sum(messages, receivers, count).reshape(count, -1)


class GraphAttention(nn.Module):
    @nn.compact
    def __call__(self, nodes, senders, receivers):
        for _ in range(2):
            nodes = nn.elu(EdgeAttention()(nodes, senders, receivers))
        return nn.Dense(16)(nodes)


def graph_attention():
    """Each node weighs its neighbours by a softmax over its edges."""
    model = GraphAttention()
    batch = {"nodes": struct(2048, 96), "y": integers(2048)}
    batch |= {"senders": integers(8192), "receivers": integers(8192)}
    names = ("nodes", "senders", "receivers")
    params = shapes_of(model, *(batch[name] for name in names))

    def loss_of(params, _, batch):
        out = model.apply(params, *(batch[name] for name in names))
        return cross_entropy(out, batch["y"]), None

    return training(loss_of, params, batch)


class SelectiveScan(nn.Module):
    """Mamba's layer: how much a state keeps depends on the token."""

    states: int = 8

    @nn.compact
    def __call__(self, x):
        inner = 2 * x.shape[-1]
        h, gate = jnp.split(nn.Dense(2 * inner)(nn.RMSNorm()(x)), 2, -1)
        h = nn.silu(
            nn.Conv(inner, (4,), padding="CAUSAL", feature_group_count=inner)(h)
        )
        span = nn.softplus(nn.Dense(inner)(nn.Dense(8)(h)))
        write, read = jnp.split(nn.Dense(2 * self.states)(h), 2, -1)
        rates = self.param("rates", nn.initializers.ones, (inner, self.states))

        def body(state, now):
            span, write, read, h = now
            kept = jnp.exp(-span[..., None] * jnp.exp(rates))
            state = kept * state + (span * h)[..., None] * write[:, None]
            return state, jnp.einsum("bis,bs->bi", state, read)

        now = jax.tree.map(lambda a: jnp.swapaxes(a, 0, 1), (span, write, read, h))
        start = jnp.zeros((x.shape[0], inner, self.states))
        out = jnp.swapaxes(jax.lax.scan(body, start, now)[1], 0, 1)
        skip = self.param("skip", nn.initializers.ones, (inner,))
        return x + nn.Dense(x.shape[-1])((out + skip * h) * nn.silu(gate))


class SelectiveScans(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(512, 96)(tokens)
        for _ in range(2):
            x = SelectiveScan()(x)
        return nn.Dense(512)(nn.RMSNorm()(x))


def selective_scans():
    return linen_training(SelectiveScans(), tokens(64), labelled)


class TopTwo(nn.Module):
    """Tokens are sorted by expert, computed in rows of equal length, and put back."""

    experts: int = 8

    @nn.compact
    def __call__(self, x):
        width = x.shape[-1]
        flat = x.reshape(-1, width)
        gates = nn.softmax(nn.Dense(self.experts, use_bias=False)(flat))
        shares, chosen = jax.lax.top_k(gates, 2)
        shares = shares / shares.sum(-1, keepdims=True)
        room = 3 * flat.shape[0] // self.experts
        expert = chosen.reshape(-1)
        order = jnp.argsort(expert, stable=True)
        first = jnp.searchsorted(expert[order], jnp.arange(self.experts))
        place = jnp.arange(order.size) - first[expert[order]]
        slot = jnp.where(
            place < room, expert[order] * room + place, self.experts * room
        )
        rows = (
            jnp.zeros((self.experts * room, width))
            .at[slot]
            .set(flat[order // 2], mode="drop")
        )
        shape = (self.experts, width, 2 * width)
        init = nn.initializers.lecun_normal(batch_axis=0)
        up, gate = self.param("up", init, shape), self.param("gate", init, shape)
        down = self.param("down", init, (self.experts, 2 * width, width))
        rows = rows.reshape(self.experts, room, width)
        hidden = nn.silu(jnp.einsum("erd,edf->erf", rows, gate))
        hidden = hidden * jnp.einsum("erd,edf->erf", rows, up)
        out = jnp.einsum("erf,efd->erd", hidden, down).reshape(-1, width)
        back = out.at[slot].get(mode="fill", fill_value=0)
        back = back * shares.reshape(-1)[order][:, None]
        return jnp.zeros_like(flat).at[order // 2].add(back).reshape(x.shape)


class TopTwoMixture(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(512, 64)(tokens)
        for _ in range(2):
            h = nn.RMSNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(4)(h, h)
            x = x + TopTwo()(nn.RMSNorm()(x))
        return nn.Dense(512)(x)


def top_two_mixture():
    return linen_training(TopTwoMixture(), tokens(32), labelled)


class Transducer(nn.Module):
    @nn.compact
    def __call__(self, sound, labels):
        x = nn.RNN(nn.OptimizedLSTMCell(96))(nn.Dense(96)(sound))
        before = jnp.pad(labels[:, :-1], ((0, 0), (1, 0)))
        y = nn.RNN(nn.GRUCell(96))(nn.Embed(64, 96)(jnp.pad(before, ((0, 0), (0, 1)))))
        joint = nn.tanh(nn.Dense(128)(x)[:, :, None] + nn.Dense(128)(y)[:, None])
        return nn.log_softmax(nn.Dense(64)(joint))


def lattice_transducer():
    """RNN-T: sums over all alignments of sound and labels, row by row."""
    model = Transducer()
    batch = {"sound": struct(16, 32, 40), "labels": integers(16, 8)}
    params = shapes_of(model, batch["sound"], batch["labels"])

    def loss_of(params, _, batch):
        chances = model.apply(params, batch["sound"], batch["labels"])
        blank = chances[..., 0]
        index = batch["labels"][:, None, :, None]
        label = jnp.take_along_axis(chances[:, :, :-1], index, -1)[..., 0]

        def row(above, now):
            blank, label = now

            def cell(left, now):
                above, label = now
                both = jnp.logaddexp(above, left + label)
                return both, both

            start = above[:, 0]
            _, rest = jax.lax.scan(cell, start, (above[:, 1:].T, label.T))
            out = jnp.concatenate([start[:, None], rest.T], 1)
            return out + blank, None

        start = jnp.full((16, 9), -1e9).at[:, 0].set(0.0)
        steps = (jnp.swapaxes(blank, 0, 1), jnp.swapaxes(label, 0, 1))
        end, _ = jax.lax.scan(row, start, steps)
        return -jnp.mean(end[:, -1]), None

    return training(loss_of, params, batch)


class Dilated(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(48, (1,))(x)
        skips = 0.0
        for level in range(6):
            h = nn.Conv(96, (2,), kernel_dilation=2**level, padding="CAUSAL")(x)
            a, b = jnp.split(h, 2, -1)
            h = nn.tanh(a) * nn.sigmoid(b)
            skips = skips + nn.Conv(64, (1,))(h)
            x = x + nn.Conv(48, (1,))(h)
        return nn.Conv(64, (1,))(nn.relu(nn.Conv(64, (1,))(nn.relu(skips))))


def dilated_sound():
    """WaveNet: the next sample of sound by dilated causal convolutions."""
    batch = {"x": struct(16, 512, 1), "y": integers(16, 512)}
    return linen_training(Dilated(), batch, labelled)


class LongDecoder(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(512, 128)(tokens)
        for _ in range(2):
            x = Block()(x)
        return nn.Dense(512)(x)


def long_sequences():
    """Fewer sequences than devices."""
    return linen_training(LongDecoder(), tokens(768, batch=2), labelled)


class SpatialGates(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(96, (4, 4), (4, 4))(x).reshape(x.shape[0], -1, 96)
        for _ in range(3):
            h = nn.gelu(nn.Dense(384)(nn.LayerNorm()(x)))
            a, b = jnp.split(h, 2, -1)
            b = jnp.swapaxes(nn.LayerNorm()(b), 1, 2)
            b = nn.Dense(b.shape[-1], bias_init=nn.initializers.ones)(b)
            x = x + nn.Dense(96)(a * jnp.swapaxes(b, 1, 2))
        return nn.Dense(10)(x.mean(1))


def spatial_gates():
    return linen_training(SpatialGates(), images(32, 64), labelled)


class SmallNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (32, 64, 128):
            x = nn.relu(nn.GroupNorm(8)(nn.Conv(width, (3, 3))(x)))
            x = nn.max_pool(x, (2, 2), (2, 2))
        return nn.Dense(10)(x.mean((1, 2)))


def sharpness_aware():
    """SAM: the gradient at the worst place nearby."""
    model = SmallNet()
    batch = images(32, 64)
    params = shapes_of(model, batch["x"])
    optimizer = optax.sgd(0.1, 0.9)

    def step(state, batch):
        def loss_of(params):
            return labelled(model.apply(params, batch["x"]), batch)

        gradient = jax.grad(loss_of)(state["params"])
        scale = 0.05 / (optax.global_norm(gradient) + 1e-12)
        worst = jax.tree.map(lambda p, g: p + scale * g, state["params"], gradient)
        loss, gradient = jax.value_and_grad(loss_of)(worst)
        updates, slots = optimizer.update(gradient, state["slots"])
        params = optax.apply_updates(state["params"], updates)
        return {"params": params, "slots": slots}, loss

    slots = jax.eval_shape(optimizer.init, params)
    return step, ({"params": params, "slots": slots}, batch)


class Sessions(nn.Module):
    items: int = 16384

    @nn.compact
    def __call__(self, clicked, sampled):
        table = nn.Embed(self.items, 64)
        x = table(clicked)
        for _ in range(2):
            x = Block(heads=2)(x)
        logits = jnp.einsum("btd,nd->btn", x, table(sampled))
        return logits


def session_recommender():
    """The next item among sampled ones; the table is read three times."""
    model = Sessions()
    batch = {"clicked": integers(128, 20), "sampled": integers(256)}
    batch["y"] = integers(128, 20)
    params = shapes_of(model, batch["clicked"], batch["sampled"])

    def loss_of(params, _, batch):
        logits = model.apply(params, batch["clicked"], batch["sampled"])
        return labelled(logits, batch), None

    return training(loss_of, params, batch, optax.lion(1e-4))
