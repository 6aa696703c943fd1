"""A step on a cluster gives what plain jax gives on one device."""

import os
import signal
import time
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import meshwright
from conftest import BATCH, HIDDEN, WIDTH, assert_same

KEY = jax.random.key(3)


def losses_of(step, state, batches):
    losses = []
    for batch in batches:
        state, metrics = step(state, batch)
        losses.append(float(metrics["loss"]))
    return losses, state


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strategy": "dp"},
        {"strategy": "zero3"},
        {"strategy": "megatron", "mesh": {"model": 4}},
        {"micro_batches": 2, "strategy": "dp", "assumed": True},
        {"stages": 2, "micro_batches": 4, "schedule": "1f1b"},
    ],
    ids=str,
)
def test_losses_and_state_are_those_of_one_device(regression, parallelize, options):
    batches = list(regression.batches(6))
    expected, last = regression.reference(KEY, batches)
    step = parallelize(regression.train_step, **options)
    losses, state = losses_of(step, step.init(regression.init, KEY), batches)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    assert_same(state.fetch(), last)
    assert step.plan.json["strategy"] == options.get("strategy", "auto")


def test_workers_of_a_coordinator(regression, coordinator, parallelize):
    batches = list(regression.batches(4))
    expected, last = regression.reference(KEY, batches)
    step = parallelize(regression.train_step, cluster=coordinator)
    losses, state = losses_of(step, step.init(regression.init, KEY), batches)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    assert_same(state.fetch(), last)


def test_jax_gets_states_as_it_gets_arrays(regression, parallelize):
    step = parallelize(regression.train_step)
    state = step.init(regression.init, KEY)
    before = state
    state, metrics = step(state, next(regression.batches(1)))
    found = jax.device_get({"state": state, "metrics": metrics, "one": jnp.ones(2)})
    expected = state.fetch()
    assert jax.tree_util.tree_structure(found["state"]) == (
        jax.tree_util.tree_structure(expected)
    )
    jax.tree_util.tree_map(np.testing.assert_array_equal, found["state"], expected)
    assert isinstance(found["one"], np.ndarray)
    up = np.asarray(state["params"]["up"], np.float16)
    np.testing.assert_array_equal(up, expected["params"]["up"].astype(np.float16))
    with pytest.raises(meshwright.MeshwrightError, match="returned the next one"):
        jax.device_get(before)
    with pytest.raises(ValueError, match="not producing an array"):
        np.asarray(state)


def test_what_is_fetched(regression, parallelize):
    step = parallelize(regression.train_step)
    state = step.init(regression.init, KEY)
    before = regression.init(KEY)
    # Nothing runs yet: just that array is computed, here.
    np.testing.assert_allclose(state.fetch("params/up"), before["params"]["up"], 1e-5)
    assert step.lower_only(state, next(regression.batches(1))).loss is not None
    state, _ = step(state, next(regression.batches(1)))
    assert state.fetch("steps") == 1
    params = state["params"].fetch()
    assert params["down"].shape == (HIDDEN, WIDTH)
    np.testing.assert_array_equal(state.fetch("params")["up"], params["up"])
    assert state.names[:2] == ["optimizer/0/count", "optimizer/0/mu/down"]
    assert "8 arrays" in repr(state)
    with pytest.raises(
        meshwright.MeshwrightError, match=r"no 'params/left'; there are"
    ):
        state.fetch("params/left")


def test_state_outlives_its_job(regression, parallelize):
    step = parallelize(regression.train_step)
    state, _ = step(step.init(regression.init, KEY), next(regression.batches(1)))
    step.close()
    assert state.fetch("steps") == 1
    state, _ = step(state, next(regression.batches(1)))  # On a new engine.
    assert state.fetch("steps") == 2


def test_arrays_are_a_first_state_too(regression, parallelize):
    batches = list(regression.batches(3))
    expected, _ = regression.reference(KEY, batches)
    step = parallelize(regression.train_step)
    first = regression.init(KEY)
    losses, _ = losses_of(step, first, batches)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    losses, _ = losses_of(step, step.put(first), batches)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    jobs = list(step._loaded.values())
    losses, _ = losses_of(step, step.put(first), batches)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    assert list(step._loaded.values()) == jobs  # One plan does for all of a form.


def test_two_states_take_turns(regression, parallelize):
    batches = list(regression.batches(3))
    step = parallelize(regression.train_step)
    keys = KEY, jax.random.key(4)
    states = [step.init(regression.init, key) for key in keys]
    losses = [[], []]
    for batch in batches:
        for i in range(2):
            states[i], metrics = step(states[i], batch)
            losses[i].append(float(metrics["loss"]))
    for i, key in enumerate(keys):
        np.testing.assert_allclose(
            losses[i], regression.reference(key, batches)[0], rtol=1e-4
        )


def test_other_shapes_are_another_plan(regression, parallelize):
    sizes = (BATCH, 16, BATCH)
    batches = [
        next(regression.batches(1, size, seed=i)) for i, size in enumerate(sizes)
    ]
    expected, _ = regression.reference(KEY, batches)
    step = parallelize(regression.train_step, strategy="dp")
    losses, state = losses_of(step, step.init(regression.init, KEY), batches)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    assert state.fetch("steps") == 3


def test_state_that_is_only_read(regression, parallelize):
    def evaluate(state, x):
        return jnp.tanh(x @ state["params"]["up"]).sum(), x.shape

    step = parallelize(regression.train_step)
    state = step.init(regression.init, KEY)
    score = parallelize(evaluate)
    x = next(regression.batches(1))["x"]
    for _ in range(3):
        value, shape = score(state, x)
        expected = evaluate(state.fetch(), x)[0]
        np.testing.assert_allclose(value, expected, rtol=1e-4)
        assert tuple(map(int, shape)) == x.shape
        state, _ = step(state, next(regression.batches(1)))


def test_numbers_keys_and_keyword_arguments(parallelize):
    def step_fn(state, key, scale, *, offset):
        noise = jax.random.normal(key, state["w"].shape)
        new_key = jax.random.fold_in(state["key"], 1)
        return {"w": state["w"] + scale * noise + offset, "key": new_key}, new_key

    def init(key):
        return {"w": jnp.ones((8, 4)), "key": key}

    step = parallelize(step_fn)
    state, reference = step.init(init, KEY), init(KEY)
    for i in range(2):
        key = jax.random.fold_in(KEY, i)
        state, seen = step(state, key, 0.5, offset=np.float32(1))
        reference, expected = step_fn(reference, key, 0.5, offset=np.float32(1))
        np.testing.assert_array_equal(
            jax.random.key_data(seen), jax.random.key_data(expected)
        )
    np.testing.assert_allclose(state.fetch("w"), reference["w"], rtol=1e-5)
    np.testing.assert_array_equal(
        jax.random.key_data(state.fetch("key")), jax.random.key_data(reference["key"])
    )


def test_types_of_arrays(parallelize):
    def step_fn(state, x):
        return jax.tree_util.tree_map(lambda a: a, state), x.sum()

    state = {
        "half": jnp.arange(8, dtype=jnp.bfloat16),
        "f16": jnp.arange(8, dtype=jnp.float16),
        "small": jnp.arange(8, dtype=jnp.int8),
        "flags": jnp.arange(8) % 2 == 0,
        "f8": jnp.arange(8).astype(jnp.float8_e4m3fn),
        "none": jnp.zeros((0, 3)),
        "complex": jnp.arange(8) * (1 + 2j),
    }
    step = parallelize(step_fn)
    after, total = step(step.put(state), np.arange(8, dtype=np.uint8))
    assert total == 28
    for name, array in after.fetch().items():
        assert array.dtype == state[name].dtype
        np.testing.assert_array_equal(array, np.asarray(state[name]))


def test_annotations_are_kept(regression, parallelize):
    mesh = jax.sharding.Mesh(
        np.array(jax.devices()[:1]).reshape(1, 1), ("data", "model")
    )
    spec = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data", None))

    def step_fn(state, batch):
        x = jax.lax.with_sharding_constraint(batch["x"], spec)
        return regression.train_step(state, {**batch, "x": x})

    batches = list(regression.batches(2))
    expected, _ = regression.reference(KEY, batches)
    step = parallelize(step_fn)
    losses, _ = losses_of(step, step.init(regression.init, KEY), batches)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)


def test_explained(regression, parallelize):
    step = parallelize(regression.train_step)
    step.prepare(step.init(regression.init, KEY), next(regression.batches(1)))
    assert "chosen" in step.explain()
    assert "state/params/up" in step.explain("state/params/up")
    assert step.plan.predicted.step_seconds > 0


def test_an_engine_that_dies_is_told_of(regression, parallelize):
    step = parallelize(regression.train_step)
    state, _ = step(step.init(regression.init, KEY), next(regression.batches(1)))
    os.kill(step._place._engine._process.pid, signal.SIGKILL)
    with pytest.raises(
        meshwright.MeshwrightError, match=r"the engine ended \(signal 9"
    ):
        step(state, next(regression.batches(1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step.close()  # Nothing was being saved.


def test_no_engine_is_left_behind(regression, tmp_path):
    """Also of a script that is killed."""
    import subprocess
    import sys

    script = tmp_path / "script.py"
    script.write_text(
        "import meshwright, time\n"
        "step = meshwright.parallelize(lambda s, x: (s, x.sum()), cluster='cpu:2')\n"
        "step._place.service\n"
        "print(step._place._engine._process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    child = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True
    )
    engine = int(child.stdout.readline())
    child.kill()
    child.wait()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            os.kill(engine, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError(f"the engine {engine} is still there")
