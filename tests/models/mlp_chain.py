"""A chain of layers in plain JAX, small enough to plan and run in a moment."""

import jax
import jax.numpy as jnp
import numpy as np

LAYERS, WIDTH, BATCH = 8, 64, 32
_random = np.random.default_rng(0)
_layers = _random.normal(size=(LAYERS, WIDTH, WIDTH)).astype("f4") * WIDTH**-0.5
_inputs = _random.normal(size=(BATCH, WIDTH)).astype("f4")
state = {"params": {"layers": [{"w": w, "b": np.zeros(WIDTH, "f4")} for w in _layers]}}
batch = {"x": _inputs, "y": np.sin(_inputs)}


def train_step(state, batch):
    def loss_of(params):
        x = batch["x"]
        for layer in params["layers"]:
            x = x + jnp.tanh(x @ layer["w"] + layer["b"])
        return jnp.mean((x - batch["y"]) ** 2)

    loss, gradients = jax.value_and_grad(loss_of)(state["params"])
    params = jax.tree_util.tree_map(
        lambda p, g: p - 0.05 * g, state["params"], gradients
    )
    return {"params": params}, loss
