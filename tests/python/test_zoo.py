"""The model zoo: tiny models learn, published sizes are what they say."""

import functools
import json

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

from meshwright import LoweredModule, MeshwrightError, zoo
from meshwright.zoo.__main__ import main

# Parameters in millions, as the papers give them; where the name of a size says less
# than the paper, the paper counts.
PUBLISHED = {
    ("gpt", "117m"): 124.4,
    ("gpt", "1.3b"): 1300,
    ("gpt", "2.6b"): 2600,
    ("gpt", "6.7b"): 6700,
    ("gpt", "15b"): 15000,
    ("gpt", "39b"): 39000,
    ("gpt", "175b"): 175000,
    ("llama", "7b"): 6738,
    ("llama", "70b"): 68977,
    ("moe", "380m"): 380,
    ("moe", "1.3b"): 1300,
    ("moe", "2.4b"): 2400,
    ("moe", "10b"): 10000,
    ("moe", "27b"): 27000,
    ("moe", "70b"): 70000,
    ("bert", "base"): 110,
    ("bert", "large"): 340,
    ("vit", "base"): 86,
    ("vit", "large"): 307,
    ("vit", "huge"): 632,
    ("wide-resnet", "250m"): 250,
    ("wide-resnet", "1b"): 1000,
    ("wide-resnet", "2b"): 2000,
    ("wide-resnet", "4b"): 4000,
    ("wide-resnet", "6.8b"): 6800,
    ("wide-resnet", "13b"): 13000,
    ("unet", "small"): 35.7,
    ("unet", "large"): 114,
}
TOLERANCE = 0.05


@functools.cache
def tiny(model: str) -> zoo.Step:
    return zoo.build(model, "tiny")


@functools.cache
def train(model: str):
    """First state, last state and losses of a few steps on one batch."""
    step = tiny(model)
    first, batch = step.init_state(), step.example_batch()
    run, state, losses = jax.jit(step.fn), first, []
    for _ in range(8):
        state, loss = run(state, batch)
        losses.append(float(loss))
    return first, state, losses


def published() -> list[tuple[str, str]]:
    """Every size but tiny; those that take long to trace are for the long run."""
    quick = {"117m", "7b", "380m", "base", "250m", "small"}
    return [
        pytest.param(model, size, marks=() if size in quick else pytest.mark.long)
        for model in zoo.MODELS
        for size in zoo.sizes_of(model)
        if size != "tiny"
    ]


@pytest.mark.parametrize("model", zoo.MODELS)
def test_tiny_models_lower_with_all_state_aliased(model):
    module = tiny(model).lower()
    state = [i for i, p in enumerate(module.parameters) if p.role == "state"]
    assert sorted(module.aliases) == state
    assert all(p.name.startswith("state/") for p in module.parameters[: len(state)])
    assert {p.name.split("/")[0] for p in module.parameters[len(state) :]} == {"batch"}
    assert module.outputs[module.loss].name == "out/1"
    assert b"sdy" not in module.hlo


@pytest.mark.one_jax
@pytest.mark.parametrize("model", zoo.MODELS)
def test_the_loss_of_tiny_models_falls(model):
    _, _, losses = train(model)
    assert np.isfinite(losses).all()
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.one_jax
@pytest.mark.parametrize("model", zoo.MODELS)
def test_shapes_are_those_of_the_arrays(model):
    step = tiny(model)
    shapes = step.state_shapes, step.batch_shapes
    for state in train(model)[:2]:
        arrays = state, step.example_batch()
        assert _types(arrays) == _types(shapes)


def _types(tree):
    return jax.tree_util.tree_map(lambda x: f"{x.dtype}{x.shape}", tree)


@pytest.mark.one_jax
def test_scanned_and_unrolled_layers_compute_the_same():
    unrolled, scanned = tiny("gpt"), tiny("gpt-scan")
    params, batch = train("gpt")[0]["params"], unrolled.example_batch()
    stacked = jax.tree_util.tree_map(lambda *ws: np.stack(ws), *params["blocks"])
    loss, _ = unrolled.model.loss_fn(params, None, batch, unrolled.config)
    same, _ = scanned.model.loss_fn(
        params | {"blocks": stacked}, None, batch, scanned.config
    )
    assert float(loss) == pytest.approx(float(same), rel=1e-5)


@pytest.mark.parametrize("model", ["gpt", "llama", "moe", "wide-resnet", "unet"])
def test_bf16_computes_in_bf16_and_keeps_its_state_in_f32(model):
    module = zoo.build(model, "tiny", dtype="bf16").lower()
    floats = {p.dtype for p in module.parameters} - {"s32"}
    assert floats == {"f32"}
    assert module.outputs[module.loss].dtype == "f32"


@pytest.mark.one_jax
def test_attention_in_blocks_of_keys_computes_the_same():
    losses = []
    for kind in ("xla", "ring"):
        step = zoo.build("llama", "tiny", attention=kind)
        run, state, batch = jax.jit(step.fn), step.init_state(), step.example_batch()
        for _ in range(3):
            state, metrics = run(state, batch)
        losses.append(jax.tree.leaves(metrics))
    np.testing.assert_allclose(*losses, rtol=1e-4)


@pytest.mark.one_jax
def test_running_statistics_are_state():
    first, last, _ = train("wide-resnet")
    means = [state["stats"]["stem"]["mean"] for state in (first, last)]
    assert not np.allclose(*means)


@pytest.mark.one_jax
def test_experts_take_no_more_than_their_capacity():
    from meshwright.zoo.moe import top2_gating

    scores = np.random.default_rng(0).normal(size=(2, 16, 4)).astype(np.float32)
    combine, _ = top2_gating(scores, capacity=5)
    used = np.asarray(combine) > 0
    assert used.sum(axis=1).max() == 1  # One token per slot.
    assert used.sum(axis=(2, 3)).max() == 2  # Two experts per token.
    everything, _ = top2_gating(scores, capacity=16)
    np.testing.assert_allclose(everything.sum(axis=(2, 3)), 1, rtol=1e-5)


@pytest.mark.one_jax
@pytest.mark.parametrize(("model", "size"), PUBLISHED)
def test_published_sizes_have_the_published_count(model, size):
    millions = zoo.build(model, size).parameter_count / 1e6
    assert millions == pytest.approx(PUBLISHED[model, size], rel=TOLERANCE)


@pytest.mark.one_jax
@pytest.mark.parametrize(("model", "size"), published())
def test_published_sizes_lower_from_shapes_alone(model, size):
    step = zoo.build(model, size)
    module = step.lower()
    assert module.loss == len(module.outputs) - 1
    assert len(module.aliases) == len(module.outputs) - 1


@pytest.mark.one_jax
def test_settings_can_be_replaced():
    step = zoo.build("gpt", "117m", layers=2, seq=128, batch=4, dtype="f32")
    assert step.batch_shapes["tokens"].shape == (4, 128)
    assert step.state_shapes["params"]["positions"].shape == (128, 768)


@pytest.mark.one_jax
@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: zoo.build("gtp"), "no model 'gtp'; there are gpt, gpt-scan"),
        (lambda: zoo.build("gpt", "9b"), "gpt has no size '9b'; there are tiny, 117m"),
        (lambda: zoo.build("vit", seq=3), "vit has no setting 'seq'"),
    ],
)
def test_mistakes_are_told(call, complaint):
    with pytest.raises(MeshwrightError, match=complaint):
        call()


def test_the_command_line(tmp_path, capsys):
    assert main(["list"]) == 0
    assert "wide-resnet  tiny 250m" in capsys.readouterr().out
    path = tmp_path / "gpt.hlo.pb.gz"
    arguments = ["lower", "gpt", "tiny", "-o", str(path), "--layers", "1"]
    assert main([*arguments, "--set", "remat=1"]) == 0
    names = [p.name for p in LoweredModule.load(path).parameters]
    assert not any("blocks/1/" in name for name in names)
    assert main(["lower", "vit", "tiny", "--seq", "3"]) == 2
    assert main([*arguments, "--set", "remat=yes"]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_a_reference_holds_inputs_by_parameter_name(tmp_path):
    assert main(["reference", "vit", "-o", str(tmp_path), "--steps", "2"]) == 0
    module = LoweredModule.load(tmp_path / "module.hlo.pb.zst")
    inputs = load_file(tmp_path / "init.safetensors")
    inputs |= load_file(tmp_path / "batch_0.safetensors")
    assert {name: x.shape for name, x in inputs.items()} == {
        p.name: p.shape for p in module.parameters
    }
    summary = json.loads((tmp_path / "losses.json").read_text())
    assert len(summary["losses"]) == 2
