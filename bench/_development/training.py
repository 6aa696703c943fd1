"""What steps of the development set, and those of tests/e2e/public_models.py, are made of."""

import jax
import jax.numpy as jnp
import optax

BATCH = 16


def struct(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def integers(*shape):
    return struct(*shape, dtype=jnp.int32)


def tokens(length=64, batch=BATCH):
    return {"x": integers(batch, length), "y": integers(batch, length)}


def images(size=32, batch=BATCH, channels_first=False):
    shape = (3, size, size) if channels_first else (size, size, 3)
    return {"x": struct(batch, *shape), "y": integers(batch)}


def cross_entropy(logits, labels):
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    return jnp.mean(losses)


def labelled(logits, batch):
    return cross_entropy(logits, batch["y"])


def training(loss_of, params, batch, optimizer=None, extra=None):
    """A step of `loss_of(params, extra, batch) -> (loss, extra)`, and its arguments."""
    optimizer = optimizer or optax.adamw(1e-3)

    def step(state, batch):
        (loss, extra), gradients = jax.value_and_grad(loss_of, has_aux=True)(
            state["params"], state["extra"], batch
        )
        updates, slots = optimizer.update(gradients, state["slots"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        return {"params": params, "slots": slots, "extra": extra}, loss

    slots = jax.eval_shape(optimizer.init, params)
    return step, ({"params": params, "slots": slots, "extra": extra}, batch)


def linen_training(model, batch, loss_of, optimizer=None):
    """The same of a flax.linen model; loss_of(outputs, batch)."""
    variables = jax.eval_shape(model.init, jax.random.PRNGKey(0), batch["x"])

    def loss(variables, _, batch):
        return loss_of(model.apply(variables, batch["x"]), batch), None

    return training(loss, variables, batch, optimizer)


def equinox_training(make, batch, loss_of, optimizer=None):
    """The same of equinox; loss_of(model, batch)."""
    import equinox as eqx

    model = eqx.filter_eval_shape(make, jax.random.PRNGKey(0))
    params, static = eqx.partition(model, lambda leaf: hasattr(leaf, "shape"))

    def loss(params, _, batch):
        return loss_of(eqx.combine(params, static), batch), None

    return training(loss, params, batch, optimizer)
