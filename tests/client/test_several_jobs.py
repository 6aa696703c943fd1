"""Several jobs beside each other: calls of several forms, and several functions, keep
what is compiled for them, and states move between them without coming here."""

import gc
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conftest import assert_same
from meshwright.client.channel import Service
from meshwright.client.jobs import Jobs
from meshwright.errors import MeshwrightError

KEY = jax.random.key(5)


@pytest.fixture
def calls(monkeypatch):
    """The names of calls that load, or carry state through this process."""
    found = []

    def count(name):
        call = getattr(Service, name)

        def called(*args, **kwargs):
            found.append(name)
            return call(*args, **kwargs)

        monkeypatch.setattr(Service, name, called)

    for name in ("load", "fetch", "init", "move"):
        count(name)
    return found


@pytest.fixture(params=["engine", "workers", "otherwise sharded", "stages"])
def options(request):
    """Where, and how: by jobs with equal shardings of the state, and with others."""
    match request.param:
        case "workers":
            return {"cluster": request.getfixturevalue("coordinator")}
        case "stages":
            return {"stages": 2, "micro_batches": 4}
        case _:
            return {}


def loss_of(params, batch):
    hidden = jnp.tanh(batch["x"] @ params["up"])
    return jnp.mean((hidden @ params["down"] - batch["y"]) ** 2)


def test_forms_of_calls_stay_compiled(regression, parallelize, options, calls):
    sizes = 32, 16
    batches = [next(regression.batches(1, sizes[i % 2], seed=i)) for i in range(6)]
    expected, last = regression.reference(KEY, batches)
    step = parallelize(regression.train_step, **options)
    state = step.init(regression.init, KEY)
    losses = []
    for i, batch in enumerate(batches):
        if i == 2:
            calls.clear()
        state, metrics = step(state, batch)
        losses.append(float(metrics["loss"]))
    assert set(calls) <= {"move"}  # Both are compiled, nothing comes here.
    assert calls.count("move") == 4
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    assert_same(state.fetch(), last)


def test_training_and_evaluation_take_turns(
    request, regression, parallelize, options, calls
):
    batches = list(regression.batches(4))
    held_out = next(regression.batches(1, seed=9))
    other = dict(options)
    if "otherwise" in request.node.callspec.id:
        options, other = {"strategy": "dp"}, {"strategy": "zero3"}
    train = parallelize(regression.train_step, **options)
    evaluate = parallelize(
        lambda params, batch: {"loss": loss_of(params, batch)}, **other
    )
    state = train.init(regression.init, KEY)
    plain, reference = jax.jit(regression.init)(KEY), jax.jit(regression.train_step)
    for i, batch in enumerate(batches):
        if i == 2:
            calls.clear()
        state, _ = train(state, batch)
        plain, _ = reference(plain, batch)
        for _ in range(2):
            found = evaluate(state["params"], held_out)["loss"]
            np.testing.assert_allclose(
                found, loss_of(plain["params"], held_out), rtol=1e-4
            )
    assert calls == ["move", "move"]  # Once after each step.
    assert_same(state.fetch(), plain)


def test_a_part_of_a_state_moves(regression, parallelize, calls):
    """And what stayed does not, when the whole is given to the first step again."""

    def nudge(model):
        return {
            **model,
            "params": jax.tree_util.tree_map(jnp.negative, model["params"]),
        }

    def nudge_part(params):
        return jax.tree_util.tree_map(jnp.negative, params)

    model = {"params": {"w": jnp.arange(8.0)}, "steps": jnp.ones(())}
    whole, part = parallelize(nudge), parallelize(nudge_part)
    params, steps = (state := whole(whole.put(model)))["params"], state["steps"]
    params = part(params)
    np.testing.assert_array_equal(params.fetch("w"), np.arange(8.0))
    assert steps.fetch() == 1
    with pytest.raises(MeshwrightError, match="was given to a step"):
        state.fetch()
    assert calls.count("move") == 1


def test_checkpoints_are_of_the_step_that_has_the_state(
    regression, parallelize, tmp_path
):
    batches = [next(regression.batches(1, size)) for size in (32, 16)]
    step = parallelize(regression.train_step)
    evaluate = parallelize(lambda params, batch: loss_of(params, batch))
    state = step.init(regression.init, KEY)
    for batch in batches:
        state, _ = step(state, batch)
        evaluate(state["params"], batch)
    step.save(tmp_path)
    expected = state.fetch()
    restored = step.restore(tmp_path, step.init(regression.init, KEY))
    jax.tree_util.tree_map(np.testing.assert_array_equal, restored.fetch(), expected)


def test_a_step_without_its_state_is_not_saved(regression, parallelize, tmp_path):
    batch = next(regression.batches(1))
    first, second = (parallelize(regression.train_step) for _ in range(2))
    state, _ = first(first.init(regression.init, KEY), batch)
    state, _ = second(state, batch)
    with pytest.raises(MeshwrightError, match="another step has the state now"):
        first.save(tmp_path)
    second.save(tmp_path)
    second.close()
    state, _ = first(state, batch)  # From this process.
    assert state.fetch("steps") == 3


def test_what_nobody_knows_is_stopped(regression, parallelize):
    batch = next(regression.batches(1))
    step = parallelize(regression.train_step)
    state, _ = step(step.init(regression.init, KEY), batch)
    service = step._place.service
    assert [job["steps"] for job in service.status()["jobs"]] == [1]
    step._loaded.clear()
    del state
    gc.collect()
    step(step.init(regression.init, KEY), batch)
    assert [job["steps"] for job in service.status()["jobs"]] == [1]


def test_ctrl_c_while_a_job_is_loaded(regression, parallelize, monkeypatch):
    batch = next(regression.batches(1))
    step = parallelize(regression.train_step)
    run = Jobs._run

    def given_up(self, load, *args):
        """Its answer is dropped, as by `apart`."""
        threading.Thread(target=run, args=(self, load, *args)).start()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Jobs, "_run", given_up)
        with pytest.raises(KeyboardInterrupt):
            step(step.init(regression.init, KEY), batch)
    state, _ = step(step.init(regression.init, KEY), batch)
    assert state.fetch("steps") == 1
    assert len(step._place.service.status()["jobs"]) == 1


def test_what_does_not_fit_beside_is_loaded_alone(regression, parallelize, monkeypatch):
    batches = [next(regression.batches(1, size)) for size in (32, 16, 32)]
    expected, last = regression.reference(KEY, batches)
    load = Service.load

    def refused(self, module, plan, beside=None):
        if beside is not None:
            raise MeshwrightError("out of memory")
        return load(self, module, plan)

    monkeypatch.setattr(Service, "load", refused)
    step = parallelize(regression.train_step)
    state, losses = step.init(regression.init, KEY), []
    for batch in batches:
        state, metrics = step(state, batch)
        losses.append(float(metrics["loss"]))
        assert len(step._place.service.status()["jobs"]) == 1
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    assert_same(state.fetch(), last)
