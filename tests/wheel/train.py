"""Run by the wheel's test in a clean environment: an MLP on four virtual devices."""

import sys

import jax
import jax.numpy as jnp
from meshwright.executable import find_program

import meshwright


def init(key):
    first, second = jax.random.split(key)
    return {
        "w1": jax.random.normal(first, (16, 32)) * 0.3,
        "w2": jax.random.normal(second, (32, 8)) * 0.3,
    }


def train_step(state, batch):
    def loss_of(weights):
        hidden = jnp.tanh(batch["x"] @ weights["w1"])
        return jnp.mean((hidden @ weights["w2"] - batch["y"]) ** 2)

    loss, gradient = jax.value_and_grad(loss_of)(state)
    return jax.tree.map(lambda w, g: w - 0.1 * g, state, gradient), loss


for path in (meshwright.__file__, find_program()):
    if not path.startswith(sys.prefix):
        sys.exit(f"{path} is not of {sys.prefix}")

x, y = (jax.random.normal(jax.random.key(n), (64, m)) for n, m in ((1, 16), (2, 8)))
batch = {"x": x, "y": y}
step = meshwright.parallelize(train_step, cluster="cpu:4", strategy="dp")
state, plain = step.init(init, jax.random.key(0)), init(jax.random.key(0))
for _ in range(3):
    state, loss = step(state, batch)
    plain, expected = jax.jit(train_step)(plain, batch)
    if not jnp.allclose(jnp.asarray(loss), expected, rtol=1e-4):
        sys.exit(f"the loss is {loss}, not {expected}")
print(f"loss {float(loss):.4f}")
