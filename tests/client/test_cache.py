"""Compiled programs on disk: the next start of a script does not compile."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import meshwright
from conftest import trained

X = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)


def init():
    return jnp.eye(8)


def train_step(w, x):
    """Without reductions, which the CPU plug-in computes by programs it cannot
    write."""
    y = jnp.tanh(x @ w)
    return w - 0.1 * (x.T @ (y - x)), y[0, 0]


def start(parallelize, cache, fn=train_step, steps=3):
    """In an engine of its own: results, and the programs cached and compiled."""
    step = parallelize(fn, cluster="cpu:2", cache=cache)
    state, results = step.init(init), []
    for _ in range(steps):
        state, result = step(state, X)
        results.append(float(result))
    programs = step._place.service.status()["programs"]
    step.close()
    return results, (programs["cached"], programs["compiled"])


def test_a_second_start_does_not_compile(parallelize, tmp_path):
    cache = tmp_path / "programs"
    results, found = start(parallelize, cache)
    assert found == (0, 2)  # What init computes, and the step.
    files = sorted(cache.iterdir())
    assert len(files) == 2
    assert start(parallelize, cache) == (results, (2, 0))
    # What is damaged is compiled again, and replaced.
    files[0].write_bytes(files[0].read_bytes()[:-1])
    assert start(parallelize, cache) == (results, (1, 1))
    assert start(parallelize, cache) == (results, (2, 0))
    assert sorted(cache.iterdir()) == files


def test_what_cannot_be_written_is_compiled_each_time(parallelize, tmp_path):
    def reduced(w, x):
        after, _ = train_step(w, x)
        return after, jnp.sum((x @ w) ** 2)

    results, found = start(parallelize, tmp_path, reduced)
    assert found == (0, 2)
    written = len(list(tmp_path.iterdir()))
    assert start(parallelize, tmp_path, reduced) == (results, (written, 2 - written))


def test_without(parallelize, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _, found = start(parallelize, False)
    assert found == (0, 2) and not list(tmp_path.iterdir())
    _, found = start(parallelize, None)
    assert found == (0, 2)
    assert len(list((tmp_path / "meshwright/programs").iterdir())) == 2


def test_mistakes(parallelize):
    for cache in (3, ""):
        with pytest.raises(meshwright.MeshwrightError, match=f"cache={cache!r} is nei"):
            parallelize(train_step, cache=cache)
    with pytest.raises(meshwright.MeshwrightError, match="meshwright worker --cache"):
        parallelize(train_step, cluster="h.x:7777", cache="programs")


def test_memory_is_among_the_metrics(regression, parallelize):
    records = []
    step = parallelize(regression.train_step, cluster="cpu:2", sinks=[records.append])
    trained(step, step.init(regression.init, jax.random.key(2)), regression.batches(2))
    step.close()
    assert [record["memory_bytes"] > 10_000 for record in records] == [True, True]
