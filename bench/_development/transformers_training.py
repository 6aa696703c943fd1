"""Steps of transformers' Flax models, whose parameters are never made."""

import jax
import jax.numpy as jnp
from training import BATCH, integers, labelled, tokens, training


def abstract_parameters(model):
    def init():
        return model.init_weights(jax.random.PRNGKey(0), model.input_shape)

    return jax.eval_shape(init)


def trained(model, batch, loss_of, optimizer=None):
    """loss_of(model, params, batch)."""

    def loss(params, _, batch):
        return loss_of(model, params, batch), None

    return training(loss, abstract_parameters(model), batch, optimizer)


def labels_loss(model, params, batch):
    return labelled(model(batch["x"], params=params).logits, batch)


def of_tokens(model_class, config, optimizer=None):
    model = model_class(config, (1, 64), _do_init=False)
    return trained(model, tokens(), labels_loss, optimizer)


def sequence_classes(model_class, config, optimizer=None):
    batch = {"x": integers(BATCH, 64), "y": integers(BATCH)}
    model = model_class(config, (1, 64), _do_init=False)
    return trained(model, batch, labels_loss, optimizer)


def of_pairs(model_class, config, optimizer=None):
    batch = tokens()
    model = model_class(config, (1, 64), _do_init=False)

    def loss_of(model, params, batch):
        shifted = jnp.pad(batch["y"][:, :-1], ((0, 0), (1, 0)))
        out = model(batch["x"], decoder_input_ids=shifted, params=params)
        return labelled(out.logits, batch)

    return trained(model, batch, loss_of, optimizer)


def of_images(model_class, config, batch, optimizer=None):
    model = model_class(config, _do_init=False)
    return trained(model, batch, labels_loss, optimizer)


def with_statistics(model_class, config, batch, optimizer=None):
    """Models that normalise by the batch."""
    size = batch["x"].shape[2]
    model = model_class(config, (1, size, size, 3), _do_init=False)
    variables = abstract_parameters(model)

    def loss_of(params, statistics, batch):
        both = {"params": params, "batch_stats": statistics}
        out, changed = model(batch["x"], params=both, train=True)
        return labelled(out.logits, batch), changed["batch_stats"]

    params, statistics = variables["params"], variables["batch_stats"]
    return training(loss_of, params, batch, optimizer, statistics)
