"""Every tiny zoo model gives the losses that JAX gives."""

import json
import subprocess
import sys

import numpy as np
import pytest

STEPS = 5
# The others' steps equal their whole step in tests/partition, every day.
LONG = ["bert", "vit", "wide-resnet", "unet"]
MODELS = ["gpt", "gpt-scan", "llama", "moe"]
MODELS += [pytest.param(model, marks=pytest.mark.long) for model in LONG]


@pytest.mark.parametrize("model", MODELS)
def test_losses_equal_jax(cli, tmp_path, model):
    subprocess.run(
        [sys.executable, "-m", "meshwright.zoo", "reference", model, "-o", tmp_path,
         "--steps", str(STEPS)],
        check=True, cwd=tmp_path,
    )  # fmt: skip
    want = json.loads((tmp_path / "losses.json").read_text())["losses"]
    data = []
    for step in range(STEPS):
        data += ["--data", tmp_path / f"batch_{step}.safetensors"]
    report = cli.json(
        "run", tmp_path / "module.hlo.pb.zst", "--platform", "cpu",
        "--inputs", tmp_path / "init.safetensors", *data, "--steps", STEPS,
    )  # fmt: skip
    assert len(want) == STEPS
    np.testing.assert_allclose(report["loss"], want, rtol=1e-5)
