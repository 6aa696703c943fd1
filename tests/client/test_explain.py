"""`step.explain(name)`: names are those of the user's modules and state."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import meshwright

KEY = jax.random.key(0)
LAYERS = 3
X = np.ones((32, 16), np.float32)


def loss_of(y):
    return jnp.mean((y - X) ** 2)


def init(key):
    keys = jax.random.split(key, 2 * LAYERS)
    return {
        f"layer_{i}": {
            "attn": {"w": jax.random.normal(keys[2 * i], (16, 16))},
            "mlp": {"w": jax.random.normal(keys[2 * i + 1], (16, 16))},
        }
        for i in range(LAYERS)
    }


def scoped_step(params, x):
    def loss_fn(params):
        y = x
        for i in range(LAYERS):
            for part in ("attn", "mlp"):
                with jax.named_scope(f"layer_{i}/{part}"):
                    y = jnp.tanh(y @ params[f"layer_{i}"][part]["w"])
        return loss_of(y)

    loss, gradients = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss


class Layer(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.Linear(16, 16, rngs=rngs)
        self.mlp = nnx.Linear(16, 16, rngs=rngs)

    def __call__(self, x):
        return self.mlp(jnp.tanh(self.attn(x)))


class Model(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.List([Layer(rngs) for _ in range(LAYERS)])

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def make_nnx(key):
    model = Model(nnx.Rngs(key))
    return model, nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)


def nnx_step(model, optimizer, x):
    loss, gradients = nnx.value_and_grad(lambda m: loss_of(m(x)))(model)
    optimizer.update(model, gradients)
    return loss


def make_equinox(key):
    return eqx.nn.MLP(16, 16, 16, LAYERS, key=key)


def equinox_step(model, x):
    loss, gradients = eqx.filter_value_and_grad(lambda m: loss_of(jax.vmap(m)(x)))(
        model
    )
    return eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, gradients)), loss


@pytest.fixture(scope="module")
def steps():
    """Prepared, by the library that the model is of."""
    with (
        meshwright.parallelize(scoped_step, cluster="cpu:4", strategy="dp") as scoped,
        meshwright.parallelize(nnx_step, cluster="cpu:4", strategy="dp") as of_nnx,
        meshwright.parallelize(equinox_step, cluster="cpu:4", strategy="dp") as of_eqx,
    ):
        scoped.prepare(scoped.init(init, KEY), X)
        of_nnx.prepare(*of_nnx.init(make_nnx, KEY), X)
        of_eqx.prepare(of_eqx.init(make_equinox, KEY), X)
        yield {"jax": scoped, "nnx": of_nnx, "equinox": of_eqx}


@pytest.mark.parametrize(
    ("library", "module", "parameter"),
    [
        ("jax", "layer_1/attn", "params/layer_1/attn/w"),
        ("nnx", "layers/1/attn", "model/layers/1/attn/kernel"),
        ("equinox", "layers/1", "model/layers/1/weight"),
    ],
)
def test_a_module_and_a_parameter(steps, library, module, parameter):
    step = steps[library]
    part = step.explain(module)
    assert part.startswith(f"{module}\n")
    shown = parameter.replace("1", "*")
    assert shown in part or parameter in part
    assert "blocks, those with most computing first" in part and "chosen" in part
    # A parameter by its whole name, or by that which state.fetch takes.
    for name in (parameter, parameter.partition("/")[2]):
        own = step.explain(name)
        assert "(parameter f32[16,16]" in own and "what would change it" in own
    whole = step.explain()
    assert "what would change it" not in whole and not whole.startswith(module)


def test_a_name_that_there_is_not(steps):
    with pytest.raises(meshwright.MeshwrightError) as caught:
        steps["jax"].explain("layer_7/attn")
    assert str(caught.value) == (
        "meshwright explain: no module, parameter or instruction that matters is "
        'called "layer_7/attn"; did you mean layer_0/attn or layer_1/attn or '
        "layer_2/attn?"
    )
    with pytest.raises(meshwright.MeshwrightError, match=r"did you mean .*layer_1/"):
        steps["jax"].explain("layr_1/attn/w")
