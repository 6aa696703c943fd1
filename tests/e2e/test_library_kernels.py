"""Kernels of linear algebra as JAX calls them are split over the batch."""

import json
from pathlib import Path

import pytest
import scripts

HERE = Path(__file__).resolve().parent
SCRIPT = HERE / "linear_algebra_step.py"


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_factorisations_are_split_over_the_batch(cli, tmp_path, platform):
    module, file = tmp_path / "module.hlo.pb", tmp_path / "split.json"
    scripts.run(SCRIPT, module, platform)
    split = {"mesh": {"x": 4}, "parameters": {"matrices": "[x, -, -]"}}
    file.write_text(json.dumps(split))
    report = cli.json("partition", module, "--sharding", file)
    assert report["fallbacks"] == [] and report["collectives"] == []
    outputs = report["shardings"]["outputs"]
    assert all(spec.startswith("[x") for spec in outputs)


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_factorisations_are_computed_without_jaxlib(cli, tmp_path, platform):
    module = tmp_path / "module.hlo.pb"
    scripts.run(HERE / "factorisation_errors.py", module, platform)
    # What is left of matrices without the products of their factors.
    (left,) = cli.json("run", module, "--steps", 1)["loss"]
    assert left < 1e-3
