"""Steps of transformers' Flax models, whose parameters are never made."""

import jax
import jax.numpy as jnp
from training import BATCH, cross_entropy, integers, tokens, training


def trained(model, batch, loss_of, optimizer=None):
    """loss_of(model, params, batch)."""

    def init():
        return model.init_weights(jax.random.PRNGKey(0), model.input_shape)

    params = jax.eval_shape(init)

    def loss(params, _, batch):
        return loss_of(model, params, batch), None

    return training(loss, params, batch, optimizer)


def of_tokens(model_class, config, optimizer=None):
    batch = tokens()
    model = model_class(config, (1, 64), _do_init=False)

    def loss_of(model, params, batch):
        logits = model(batch["x"], params=params).logits
        return cross_entropy(logits, batch["y"])

    return trained(model, batch, loss_of, optimizer)


def sequence_classes(model_class, config, optimizer=None):
    batch = {"x": integers(BATCH, 64), "y": integers(BATCH)}
    model = model_class(config, (1, 64), _do_init=False)

    def loss_of(model, params, batch):
        logits = model(batch["x"], params=params).logits
        return cross_entropy(logits, batch["y"])

    return trained(model, batch, loss_of, optimizer)


def of_pairs(model_class, config, optimizer=None):
    batch = tokens()
    model = model_class(config, (1, 64), _do_init=False)

    def loss_of(model, params, batch):
        shifted = jnp.pad(batch["y"][:, :-1], ((0, 0), (1, 0)))
        logits = model(batch["x"], decoder_input_ids=shifted, params=params).logits
        return cross_entropy(logits, batch["y"])

    return trained(model, batch, loss_of, optimizer)


def of_images(model_class, config, batch, optimizer=None):
    model = model_class(config, _do_init=False)

    def loss_of(model, params, batch):
        logits = model(batch["x"], params=params).logits
        return cross_entropy(logits, batch["y"])

    return trained(model, batch, loss_of, optimizer)


def with_statistics(model_class, config, batch, optimizer=None):
    """Models that normalise by the batch."""
    size = batch["x"].shape[2]
    model = model_class(config, (1, size, size, 3), _do_init=False)

    def init():
        return model.init_weights(jax.random.PRNGKey(0), model.input_shape)

    variables = jax.eval_shape(init)

    def loss_of(params, statistics, batch):
        both = {"params": params, "batch_stats": statistics}
        out, changed = model(batch["x"], params=both, train=True)
        return cross_entropy(out.logits, batch["y"]), changed["batch_stats"]

    params, statistics = variables["params"], variables["batch_stats"]
    return training(loss_of, params, batch, optimizer, statistics)
