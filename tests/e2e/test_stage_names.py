"""Stages by the names that a user's program gave: also of what it calls often."""

import json
import re

import pytest
from combination_modules import module_path

# Layers call silu, softmax and norms that are jitted functions: one computation each.
CASES = {
    "linen_transformer": ["*/layers_0/*", "*/layers_1/*", "*/layers_2/*"],
    "transformers_llama": ["*/layers/0/*", "*/layers/1/*", "*/layers/2/*"],
}


# What no stage names is of a stage beside it.
@pytest.mark.parametrize(
    ("name", "layers"),
    [("linen_transformer", (0, 2)), ("transformers_llama", (0, 1, 2))],
)
def test_stages_by_layer_equal_one_device(cli, tmp_path, name, layers):
    patterns = CASES[name]
    meshes = ["data=2,model=2", "data=2", "data=1"]
    stages = [
        {"instructions": [patterns[layer]], "mesh": mesh}
        for layer, mesh in zip(layers, meshes, strict=False)
    ]
    file = tmp_path / "stages.json"
    file.write_text(json.dumps({"stages": stages}))
    report = cli.json(
        "check", module_path(name), "--stages", file, "--micro-batches", 2,
        "--steps", 2,
    )  # fmt: skip
    assert report["ok"] and report["stages"] == len(layers)


@pytest.mark.parametrize("name", CASES)
def test_a_function_that_is_called_often_is_in_every_layer(cli, name):
    text = cli("partition", module_path(name), "--mesh", "d=1", "--text").stdout
    names = re.findall(r'op_name="([^"]*)"', text)
    silu = [one for one in names if "/jit(silu)/" in one]
    in_layer = [
        {one.split(layer)[1] for one in silu if layer in one}
        for layer in (pattern.strip("*") for pattern in CASES[name])
    ]
    assert in_layer[0] and in_layer[0] == in_layer[1] == in_layer[2]
