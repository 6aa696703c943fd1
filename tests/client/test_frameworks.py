"""Models of flax.nnx and equinox, as they are."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import meshwright

KEY = jax.random.key(1)
OPTIMIZER = optax.adam(1e-2)


def batches(count):
    rng = np.random.default_rng(0)
    return [rng.normal(size=(32, 16)).astype(np.float32) for _ in range(count)]


class Model(nnx.Module):
    def __init__(self, rngs):
        self.up = nnx.Linear(16, 64, rngs=rngs)
        self.down = nnx.Linear(64, 16, rngs=rngs)

    def __call__(self, x):
        return self.down(nnx.relu(self.up(x)))


def make_nnx(key):
    model = Model(nnx.Rngs(key))
    return model, nnx.Optimizer(model, OPTIMIZER, wrt=nnx.Param)


def nnx_step(model, optimizer, x):
    loss, gradients = nnx.value_and_grad(lambda m: jnp.mean((m(x) - x) ** 2))(model)
    optimizer.update(model, gradients)
    return loss


@pytest.mark.parametrize("put", [False, True])
@pytest.mark.parametrize("jitted", [False, True])
def test_nnx_objects_are_updated_in_place(parallelize, put, jitted):
    reference = make_nnx(KEY)
    expected = [float(nnx.jit(nnx_step)(*reference, x)) for x in batches(4)]
    step = parallelize(nnx.jit(nnx_step) if jitted else nnx_step)
    states = step.put(make_nnx(KEY)) if put else step.init(make_nnx, KEY)
    model, optimizer = states
    losses = [float(step(model, optimizer, x)) for x in batches(4)]
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    np.testing.assert_allclose(
        model.fetch().up.kernel[...], reference[0].up.kernel[...], rtol=1e-4, atol=1e-6
    )
    assert model.names == ["down/bias", "down/kernel", "up/bias", "up/kernel"]


def make_equinox(key):
    model = eqx.nn.MLP(16, 16, 64, 2, key=key)
    return model, OPTIMIZER.init(eqx.filter(model, eqx.is_array))


def equinox_step(model, optimizer, x):
    def loss_fn(model):
        return jnp.mean((jax.vmap(model)(x) - x) ** 2)

    loss, gradients = eqx.filter_value_and_grad(loss_fn)(model)
    updates, optimizer = OPTIMIZER.update(gradients, optimizer)
    return eqx.apply_updates(model, updates), optimizer, loss


@pytest.mark.parametrize("jitted", [False, True])
def test_equinox_modules_come_back(parallelize, jitted):
    def run(step, model, optimizer):
        losses = []
        for x in batches(4):
            model, optimizer, loss = step(model, optimizer, x)
            losses.append(float(loss))
        return losses, model

    expected, reference = run(eqx.filter_jit(equinox_step), *make_equinox(KEY))
    step = parallelize(eqx.filter_jit(equinox_step) if jitted else equinox_step)
    losses, model = run(step, *step.init(make_equinox, KEY))
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    fetched = model.fetch()
    assert isinstance(fetched, eqx.nn.MLP)
    x = batches(1)[0]
    np.testing.assert_allclose(
        jax.vmap(fetched)(x), jax.vmap(reference)(x), rtol=1e-3, atol=1e-5
    )


def test_an_nnx_object_is_not_sent_with_every_call(parallelize):
    step = parallelize(nnx_step)
    with pytest.raises(meshwright.MeshwrightError, match=r"model = step.put\(model\)"):
        step(*make_nnx(KEY), batches(1)[0])
