"""Steps on datasets that the workers read: as if the batches were given by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import meshwright

VOCABULARY, SEQUENCE, BATCH = 64, 16, 8
KEY = jax.random.key(0)


def init(key):
    return {"embed": jax.random.normal(key, (VOCABULARY, 32)) * 0.1}


def step_fn(state, batch):
    def loss_fn(params):
        hidden = jnp.tanh(params["embed"][batch["inputs"]])
        logits = hidden @ params["embed"].T
        chosen = jnp.take_along_axis(
            jax.nn.log_softmax(logits), batch["targets"][..., None], axis=-1
        )
        return -jnp.mean(chosen)

    loss, gradients = jax.value_and_grad(loss_fn)(state)
    return jax.tree_util.tree_map(lambda p, g: p - 0.5 * g, state, gradients), loss


@pytest.fixture
def dataset(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(2):
        ids = rng.integers(0, VOCABULARY, 700)
        meshwright.data.write_tokens(tmp_path / f"train-{i}.bin", ids)

    def make(**options):
        return meshwright.data.tokens(
            tmp_path / "train-*.bin",
            sequence=SEQUENCE,
            batch=BATCH,
            shuffle=3,
            **options,
        )

    return make


def reference(data, count):
    state, losses = jax.jit(init)(KEY), []
    for _ in range(count):
        state, loss = jax.jit(step_fn)(state, next(data))
        losses.append(float(loss))
    return losses


@pytest.mark.parametrize("options", [{}, {"strategy": "dp"}, {"micro_batches": 2}])
def test_workers_read_the_same_batches(parallelize, dataset, options):
    expected = reference(dataset(), 14)  # More than an epoch.
    step, data = parallelize(step_fn, **options), dataset()
    state, losses = step.init(init, KEY), []
    for _ in range(4):
        state, loss = step(state, data)
        losses.append(float(loss))
    assert data.position == 4 * BATCH
    state, loss = step.many(10, state, data)
    losses += step.losses
    assert float(loss) == losses[-1]
    np.testing.assert_allclose(losses, expected, rtol=1e-4)


def test_of_a_coordinator(coordinator, parallelize, dataset):
    expected = reference(dataset(), 3)
    step, data = parallelize(step_fn, cluster=coordinator), dataset()
    step.many(3, step.init(init, KEY), data)
    np.testing.assert_allclose(step.losses, expected, rtol=1e-4)


def test_goes_on_from_a_position(parallelize, dataset):
    expected = reference(dataset(), 6)
    step, data = parallelize(step_fn), dataset()
    state, _ = step.many(4, step.init(init, KEY), data)
    again = dataset().seek(data.position)
    step.many(2, state, again)
    np.testing.assert_allclose(step.losses, expected[4:], rtol=1e-4)


def test_batches_that_stay_on_the_devices(parallelize, dataset):
    expected = reference(dataset(sink=2), 7)
    step, data = parallelize(step_fn), dataset(sink=2)
    step.many(7, step.init(init, KEY), data)
    np.testing.assert_allclose(step.losses, expected, rtol=1e-4)


def test_a_file_that_goes_away(parallelize, dataset, tmp_path):
    step, data = parallelize(step_fn), dataset()
    (tmp_path / "train-0.bin").unlink()
    (tmp_path / "train-1.bin").unlink()
    with pytest.raises(meshwright.MeshwrightError, match=r"train-"):
        step(step.init(init, KEY), data)
