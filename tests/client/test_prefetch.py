"""Batches that are drawn and transferred while steps run: as if they were given by
hand, only sooner."""

import itertools
import os
import signal
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from meshwright.client.channel import Service
from meshwright.errors import MeshwrightError

WIDTH, ROWS, STEPS = 256, 2048, 6  # 2 MiB each: more than goes with a step.
PATIENCE = 60


def step_fn(w, batch):
    def loss_fn(w):
        return jnp.mean((batch["x"] @ w - batch["y"]) ** 2)

    loss, gradient = jax.value_and_grad(loss_fn)(w)
    return w - 0.1 * gradient, loss


def first():
    return jnp.zeros((WIDTH,))


def batches(count=STEPS, rows=ROWS):
    rng = np.random.default_rng(0)
    for _ in range(count):
        x = rng.normal(size=(rows, WIDTH)).astype(np.float32)
        yield {"x": x, "y": x.sum(1)}


def reference(given):
    w, losses = first(), []
    for batch in given:
        w, loss = jax.jit(step_fn)(w, batch)
        losses.append(float(loss))
    return losses, np.asarray(w)


class Staging:
    """What is staged, as a test sees it; steps, counted."""

    def __init__(self, monkeypatch):
        self.names, self.steps = [], 0
        self._changed = threading.Condition()
        stage, step = Service.stage, Service.step

        def noted(service, job, batch, data):
            stage(service, job, batch, data)
            with self._changed:
                self.names.append(sorted(data))
                self._changed.notify_all()

        def counted(service, job, data, *args, **kwargs):
            self.steps += 1
            self.sent = sorted(data)
            self.before_answer()
            return step(service, job, data, *args, **kwargs)

        self.before_answer = lambda: None
        monkeypatch.setattr(Service, "stage", noted)
        monkeypatch.setattr(Service, "step", counted)

    def wait(self, count):
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.names) >= count, PATIENCE)


@pytest.fixture
def staging(monkeypatch):
    return Staging(monkeypatch)


def test_a_step_waits_for_the_next_batch_to_be_there(parallelize, staging):
    """Whoever draws or transfers it after the step waits for ever."""
    # The first two are drawn before there is a job.
    staging.before_answer = lambda: staging.wait(min(staging.steps, STEPS - 2) - 1)
    step = parallelize(step_fn)
    w, losses = step.init(first), []
    for batch in step.prefetch(batches()):
        w, loss = step(w, batch)
        losses.append(float(loss))
    expected, state = reference(batches())
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(w.fetch(), state, rtol=1e-5)
    assert len(staging.names) >= STEPS - 3
    assert staging.names[0] == ["batch/x"] or len(staging.names[0]) == 2
    assert not staging.sent  # With the last step: all was there.


def test_workers_are_sent_the_next_batch_while_a_step_runs(
    coordinator, parallelize, staging
):
    staging.before_answer = lambda: staging.wait(min(staging.steps, STEPS - 2) - 1)
    step = parallelize(step_fn, cluster=coordinator, mesh={"data": 4})
    w = step.init(first)
    w, loss = step.many(STEPS, w, batches())
    expected, state = reference(batches())
    np.testing.assert_allclose(step.losses, expected, rtol=1e-5)
    np.testing.assert_allclose(w.fetch(), state, rtol=1e-5)
    assert float(loss) == step.losses[-1]
    assert not staging.sent


def test_a_slow_source_is_asked_while_a_step_runs(parallelize, staging):
    asked = [threading.Event() for _ in range(STEPS)]

    def source():
        for number, batch in enumerate(batches(rows=32)):  # Small: not staged.
            asked[number].set()
            yield batch

    def before_answer():
        assert asked[min(staging.steps, STEPS - 1)].wait(PATIENCE)

    staging.before_answer = before_answer
    step = parallelize(step_fn)
    step.many(STEPS, step.init(first), source())
    assert not staging.names
    np.testing.assert_allclose(step.losses, reference(batches(rows=32))[0], rtol=1e-5)


def test_many_takes_so_many_and_no_more(parallelize):
    step, source = parallelize(step_fn), batches(rows=32)
    w, _ = step.many(2, step.init(first), source)
    w, _ = step(w, source)
    assert len(list(source)) == STEPS - 3
    losses = step.losses
    expected, _ = reference(itertools.islice(batches(rows=32), 3))
    np.testing.assert_allclose(losses, expected[2:], rtol=1e-5)
    ahead = step.prefetch(batches(rows=32))
    w, _ = step.many(2, w, ahead)
    assert len(list(ahead)) == STEPS - 2


def test_a_batch_is_used_twice_and_for_other_steps(parallelize, staging):
    """What was staged is taken once; then it goes with the step."""
    train = parallelize(step_fn)
    evaluate = parallelize(lambda w, batch: step_fn(w, batch)[1])
    w, losses = train.init(first), []
    for batch in train.prefetch(batches(3)):
        for _ in range(2):
            losses.append(float(evaluate(w, batch)))
            w, loss = train(w, batch)
            assert float(loss) == pytest.approx(losses[-1], rel=1e-5)
    twice = [batch for batch in batches(3) for _ in range(2)]
    np.testing.assert_allclose(losses, reference(twice)[0], rtol=1e-5)


def test_what_is_given_out_is_what_is_used(parallelize):
    """A source that fills one array again and again; a caller that would change it."""

    def source():
        array = np.zeros((ROWS, WIDTH), np.float32)
        for batch in batches():
            array[:] = batch["x"]
            yield {"x": array, "y": batch["y"]}

    step = parallelize(step_fn)
    w, losses = step.init(first), []
    for batch in step.prefetch(source()):
        with pytest.raises(ValueError, match="read-only"):
            batch["x"] *= 2
        w, loss = step(w, batch)
        losses.append(float(loss))
    np.testing.assert_allclose(losses, reference(batches())[0], rtol=1e-5)


def test_batches_of_another_shape_come_at_their_step(parallelize, staging):
    def source():
        yield from batches(3)
        yield from batches(1, rows=ROWS // 2)
        yield from batches(2)

    step = parallelize(step_fn)
    step.many(6, step.init(first), source())
    np.testing.assert_allclose(step.losses, reference(source())[0], rtol=1e-5)


def test_errors_come_at_their_step(parallelize):
    def source():
        yield from batches(3, rows=32)
        raise OSError("the disk is gone")

    step = parallelize(step_fn)
    w = step.init(first)
    with pytest.raises(OSError, match="the disk is gone"):
        step.many(6, w, source())
    expected, state = reference(batches(3, rows=32))
    np.testing.assert_allclose(step.losses, expected, rtol=1e-5)
    np.testing.assert_allclose(w.fetch(), state, rtol=1e-5)  # As far as it came.

    with pytest.raises(MeshwrightError, match="ended after 3 of 4 steps"):
        step.many(4, w, batches(3, rows=32))
    w, _ = step.many(1, w, batches(1, rows=32))  # It lives on.
    wrong = iter([*batches(2, rows=32), {"x": np.zeros((32, 3))}])
    with pytest.raises(Exception, match="y"):
        step.many(3, w, wrong)
    assert len(step.losses) == 2
    with pytest.raises(MeshwrightError, match="0 batches cannot be prefetched"):
        step.prefetch([], size=0)


def test_ctrl_c_ends_many_after_the_step(parallelize):
    step = parallelize(step_fn)
    w = step.init(first)

    def source():
        for number, batch in enumerate(batches(100, rows=32)):
            if number == 20:
                os.kill(os.getpid(), signal.SIGINT)
            yield batch

    with pytest.raises(KeyboardInterrupt):
        step.many(100, w, source())
    done = len(step.losses)
    assert 0 < done < 30
    _, state = reference(batches(done, rows=32))
    np.testing.assert_allclose(w.fetch(), state, rtol=1e-5)
    step(w, next(batches(1, rows=32)))


def test_nobody_draws_for_a_loop_that_was_left(parallelize):
    drawn, closed = [], threading.Event()

    def source():
        try:
            for batch in batches(1000, rows=32):
                drawn.append(batch)
                yield batch
        finally:
            closed.set()

    step = parallelize(step_fn)
    w = step.init(first)
    for batch in step.prefetch(source(), size=3):
        step(w, batch)
        break
    assert closed.wait(PATIENCE)
    assert len(drawn) <= 5
