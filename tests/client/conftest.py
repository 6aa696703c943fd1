"""Settings of the client's tests: real engines, coordinators and workers."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import meshwright
from meshwright.client.engine import find_program

ROOT = Path(__file__).resolve().parents[2]
WIDTH, HIDDEN, BATCH = 16, 64, 32


def pytest_configure(config):
    # Whoever runs this in the background may have had it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "long: takes minutes; left out by default")


class Regression:
    """A small model in plain jax: its step, its first state, its data."""

    optimizer = optax.adam(1e-2)

    def init(self, key):
        first, second = jax.random.split(key)
        params = {
            "up": jax.random.normal(first, (WIDTH, HIDDEN)) * 0.2,
            "down": jax.random.normal(second, (HIDDEN, WIDTH)) * 0.2,
        }
        return {
            "params": params,
            "optimizer": self.optimizer.init(params),
            "steps": jnp.zeros((), jnp.int32),
        }

    def train_step(self, state, batch):
        def loss_fn(params):
            hidden = jnp.tanh(batch["x"] @ params["up"])
            return jnp.mean((hidden @ params["down"] - batch["y"]) ** 2)

        loss, gradients = jax.value_and_grad(loss_fn)(state["params"])
        updates, optimizer = self.optimizer.update(gradients, state["optimizer"])
        params = optax.apply_updates(state["params"], updates)
        after = {"params": params, "optimizer": optimizer, "steps": state["steps"] + 1}
        return after, {"loss": loss, "norm": optax.global_norm(gradients)}

    def batches(self, count, size=BATCH, seed=0):
        rng = np.random.default_rng(seed)
        for _ in range(count):
            x = rng.normal(size=(size, WIDTH)).astype(np.float32)
            yield {"x": x, "y": np.roll(x, 1, axis=1)}

    def reference(self, key, batches):
        """The losses and the last state of plain jax on one device."""
        step, state = jax.jit(self.train_step), jax.jit(self.init)(key)
        losses = []
        for batch in batches:
            state, metrics = step(state, batch)
            losses.append(float(metrics["loss"]))
        return losses, state


@pytest.fixture(scope="session")
def regression():
    return Regression()


@pytest.fixture
def parallelize():
    """`meshwright.parallelize` on 4 virtual devices, closed after the test."""
    with contextlib.ExitStack() as stack:

        def make(fn, cluster="cpu:4", **options):
            return stack.enter_context(
                meshwright.parallelize(fn, cluster=cluster, **options)
            )

        yield make


@pytest.fixture(scope="module")
def coordinator():
    """The address of one with two workers, of two devices each."""
    with contextlib.ExitStack() as stack:

        def start(*words):
            child = subprocess.Popen(
                [find_program(), *words],
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(child.wait, 30)
            stack.callback(child.terminate)
            return child

        serve = start(
            "serve", "--listen", "127.0.0.1:0", "--cluster", "cpu:4", "--workers", "2"
        )
        address = serve.stdout.readline().split()[2].rstrip(";")
        for _ in range(2):
            start("worker", "--join", address, "--devices", "2", "--platform", "cpu")
        for line in serve.stdout:
            if "2 of 2 workers" in line:
                break
        yield address


def trained(step, state, batches):
    losses = []
    for batch in batches:
        state, metrics = step(state, batch)
        losses.append(float(metrics["loss"]))
    return losses, state


def assert_same(tree, other, rtol=1e-4, atol=1e-6):
    jax.tree_util.tree_map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=rtol, atol=atol), tree, other
    )
