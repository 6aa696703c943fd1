"""The files under testdata/ are what the zoo makes, and small."""

from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

from meshwright import LoweredModule, zoo
from meshwright.wire import Message
from meshwright.zoo.testdata import write_demo_state, write_testdata

TESTDATA = Path(__file__).resolve().parents[2] / "testdata"
VARIANTS = {"0.10.2": "", "0.4.35": "_jax0435"}
MODULES = sorted(TESTDATA.glob("*.hlo.pb.zst"))


def opcodes(module: LoweredModule) -> list[bytes]:
    """The opcode of every instruction of every computation, in order."""
    return [
        Message.parse(instruction).first(2)
        for computation in Message.parse(module.hlo).all(3)
        for instruction in Message.parse(computation).all(2)
    ]


def test_every_model_is_there():
    names = {path.name.removesuffix(".hlo.pb.zst") for path in MODULES}
    models = {f"{model.replace('-', '_')}_tiny" for model in zoo.MODELS}
    assert names == models | {"gpt_tiny_jax0435"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_modules_are_small_and_tell_no_folders(path):
    assert path.stat().st_size < 100_000
    module = LoweredModule.load(path)
    assert module.loss is not None
    for folder in (b"site-packages", b"/home", b"/tmp", b"/root", b"/usr"):
        assert folder not in module.hlo


@pytest.mark.skipif(jax.__version__ not in VARIANTS, reason="made by other versions")
def test_modules_are_what_the_zoo_makes(tmp_path):
    suffix = VARIANTS[jax.__version__]
    models = ["gpt"] if suffix else list(zoo.MODELS)
    for path in write_testdata(tmp_path, models, suffix):
        made, kept = LoweredModule.load(path), LoweredModule.load(TESTDATA / path.name)
        assert made.parameters == kept.parameters
        assert made.outputs == kept.outputs
        assert made.aliases == kept.aliases
        assert opcodes(made) == opcodes(kept)


def test_the_demo_starts_from_the_zoos_first_state(tmp_path):
    made = load_file(write_demo_state(tmp_path))
    kept_path = TESTDATA / "gpt_tiny_init.safetensors"
    kept = load_file(kept_path)
    assert kept_path.stat().st_size < 1_500_000
    assert made.keys() == kept.keys()
    module = LoweredModule.load(TESTDATA / "gpt_tiny.hlo.pb.zst")
    assert kept.keys() == {p.name for p in module.parameters if p.role == "state"}
    if VARIANTS.get(jax.__version__) == "":
        for name, value in kept.items():
            np.testing.assert_allclose(made[name], value, rtol=1e-5, atol=1e-7)


@pytest.mark.one_jax
def test_gpt_learns_the_text_within_twenty_steps():
    text = (TESTDATA / "text.txt").read_bytes()
    assert max(text) < 128
    tokens = np.frombuffer(text, np.uint8).astype(np.int32)
    step = zoo.build("gpt", "tiny")
    batch, seq = step.config.batch, step.config.seq
    state, run = step.init_state(), jax.jit(step.fn)
    rng = np.random.default_rng(0)
    losses = []
    for _ in range(20):
        starts = rng.integers(len(tokens) - seq - 1, size=batch)
        rows = np.stack([tokens[start : start + seq + 1] for start in starts])
        state, loss = run(state, {"tokens": rows[:, :-1], "targets": rows[:, 1:]})
        losses.append(float(loss))
    assert losses[0] > 4.7
    assert np.mean(losses[-5:]) < 3.2
