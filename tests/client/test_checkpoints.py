"""State that outlives its job: saved and restored, on other plans too."""

import json

import jax
import numpy as np
import pytest

import meshwright
from conftest import trained

KEY = jax.random.key(5)
PLANS = {
    "one": {"cluster": "cpu:1"},
    "dp8": {"cluster": "cpu:8", "strategy": "dp"},
    "zero3": {"cluster": "cpu:8", "strategy": "zero3"},
    "tp4": {
        "cluster": "cpu:8",
        "strategy": "megatron",
        "mesh": {"data": 2, "model": 4},
    },
    "stages": {"cluster": "cpu:4", "stages": 2, "micro_batches": 4},
}


def assert_equal(tree, other):
    jax.tree_util.tree_map(np.testing.assert_array_equal, tree, other)


def test_restored_on_every_plan(regression, parallelize, tmp_path):
    batches = list(regression.batches(4))
    expected, _ = regression.reference(KEY, batches)
    states = {}
    for name, options in PLANS.items():
        step = parallelize(regression.train_step, **options)
        _, state = trained(step, step.init(regression.init, KEY), batches[:2])
        step.save(tmp_path / name)
        states[name] = state.fetch()
        step.close()
    for options in PLANS.values():
        step = parallelize(regression.train_step, **options)
        tree = step.init(regression.init, KEY)
        for saved, arrays in states.items():
            state = step.restore(tmp_path / saved, tree)
            assert_equal(state.fetch(), arrays)  # From the files.
            step.prepare(state, batches[2])
            losses, state = trained(step, state, batches[2:])
            np.testing.assert_allclose(losses, expected[2:], rtol=1e-4)
            assert step.steps == 4
            restored = step.restore(tmp_path / saved)
            moved = parallelize(lambda state, x: (state, x), cluster="cpu:2")
            again, _ = moved(restored, np.zeros(2, np.float32))
            assert_equal(again.fetch(), arrays)  # Through a job.
            moved.close()
        step.close()


def test_through_a_coordinator(regression, coordinator, parallelize, tmp_path):
    batches = list(regression.batches(4))
    expected, _ = regression.reference(KEY, batches)
    step = parallelize(regression.train_step, cluster=coordinator)
    trained(step, step.init(regression.init, KEY), batches[:2])
    step.save(tmp_path)
    step.close()
    step = parallelize(regression.train_step, cluster="cpu:2")
    state = step.restore(tmp_path, step.init(regression.init, KEY))
    losses, _ = trained(step, state, batches[2:])
    np.testing.assert_allclose(losses, expected[2:], rtol=1e-4)


def test_the_data_go_on_too(parallelize, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", x=rng.normal(size=(64, 8)).astype(np.float32))

    def data():
        return meshwright.data.npz(tmp_path / "data.npz", batch=8, shuffle=1)

    def step_fn(total, batch):
        return total + batch["x"].sum(axis=0), batch["x"].sum()

    step = parallelize(step_fn)
    first = data()
    total, _ = step.many(5, step.init(lambda: jax.numpy.zeros(8)), first)
    step.save(tmp_path / "run")
    expected, _ = step.many(6, total, first)
    other = parallelize(step_fn, cluster="cpu:2")
    again = data()
    total = other.restore(
        tmp_path / "run", other.init(lambda: jax.numpy.zeros(8)), data=again
    )
    assert again.position == 40
    total, _ = other.many(6, total, again)
    np.testing.assert_allclose(total.fetch(), expected.fetch(), rtol=1e-5)


@pytest.mark.parametrize("damage", ["cut", "flip", "missing", "version", "manifest"])
def test_damaged_files_are_refused(regression, parallelize, tmp_path, damage):
    step = parallelize(regression.train_step, cluster="cpu:2")
    batch = next(regression.batches(1))
    step(step.init(regression.init, KEY), batch)
    step.save(tmp_path)
    folder = tmp_path / "step_00000001"
    shard = next(folder.glob("*.safetensors"))
    if damage == "cut":
        shard.write_bytes(shard.read_bytes()[:-16])
    elif damage == "flip":
        content = bytearray(shard.read_bytes())
        content[-9] ^= 1
        shard.write_bytes(content)
    elif damage == "missing":
        shard.unlink()
    else:
        manifest = folder / "manifest.json"
        text = manifest.read_text()
        changed = {
            "version": text.replace('"version":1', '"version":99'),
            "manifest": "{",
        }
        assert changed[damage] != text
        manifest.write_text(changed[damage])
    with pytest.raises(meshwright.MeshwrightError) as caught:
        step(step.restore(tmp_path), batch)
    name = shard.name if damage in ("cut", "flip", "missing") else "manifest.json"
    assert name in str(caught.value)


def test_mistakes(regression, parallelize, tmp_path):
    step = parallelize(regression.train_step)
    with pytest.raises(meshwright.MeshwrightError, match="has no state yet"):
        step.save(tmp_path)
    with pytest.raises(
        meshwright.MeshwrightError, match="does not know the state's tree"
    ):
        step.restore(tmp_path)
    state = step.init(regression.init, KEY)
    with pytest.raises(
        meshwright.MeshwrightError, match="there is no checkpoint in it"
    ):
        step.restore(tmp_path)
    with pytest.raises(meshwright.MeshwrightError, match="there is no such folder"):
        step.restore(tmp_path / "nowhere")
    with pytest.raises(meshwright.MeshwrightError, match="steps=0 is not above 0"):
        step.save_every(tmp_path, steps=0)
    step(state, next(regression.batches(1)))
    step.save(tmp_path)
    other = parallelize(lambda s, x: (s, x.sum()))
    tree = other.init(lambda: {"params": {"up": jax.numpy.zeros((3, 4))}})
    with pytest.raises(
        meshwright.MeshwrightError,
        match=r"params/up is f32\[16, 64\] there, here f32\[3, 4\]",
    ):
        other.restore(tmp_path, tree)


def test_manifests_tell_of_keys(parallelize, tmp_path):
    """Those of init, and what kind of keys the state has."""

    def init(key, old, scale):
        return {"key": key, "w": jax.random.normal(key, (4,)) * scale + old[0]}

    def step_fn(state, x):
        key, use = jax.random.split(state["key"])
        noise = jax.random.normal(use, (4,))
        return {"key": key, "w": state["w"] + noise * x}, x.sum()

    def manifest():
        found = max(tmp_path.glob("step_*")) / "manifest.json"
        return json.loads(found.read_text())

    key, old = jax.random.key(7, impl="threefry2x32"), jax.random.PRNGKey(3)
    x = jax.numpy.ones(4)
    step = parallelize(step_fn)
    kept = [step(step.init(init, key, old, 0.5), x)]  # Or its names are gone.
    step.save(tmp_path)
    rng = manifest()["extra"]["rng"]
    own = jax.config.jax_default_prng_impl
    assert rng == {
        "impl": own,
        "init": {
            "init": {
                "0": {"impl": "threefry2x32", "data": [0, 7]},
                "1": {"impl": own, "data": jax.random.key_data(old).tolist()},
            }
        },
        "state": {"key": "threefry2x32"},
    }
    again = parallelize(step_fn)  # What was restored began so, too.
    kept.append(again(again.restore(tmp_path, again.init(init, key, old, 2.0)), x))
    again.save(tmp_path)
    assert manifest()["step"] == 2 and manifest()["extra"]["rng"] == rng
