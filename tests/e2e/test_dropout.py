"""cuDNN's attention with dropout: split, with one mask for forward and backward."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import scripts
from safetensors.numpy import load

SCRIPT = Path(__file__).resolve().parent / "dropout_step.py"
LAST = "state/1"
# Of sums of 32768 products in bf16, whose deviation is some hundreds.
ROUNDING = {"rel": 0.02, "abs": 5}
SPLIT = {
    "batch": {"batch": "[x, -, -]", "goal": "[x, -, -]"},
    "heads": {
        f"state/{i}/{name}": "[x, -]" if name == "out" else "[-, x]"
        for i in range(2)
        for name in ("q", "k", "v", "out")
    },
}
PLANS = {
    "auto": (),
    "data": ("--strategy", "dp"),
    "micro-batches": ("--micro-batches", "4", "--stages", "1"),
    "stages": ("--stages", "2", "--micro-batches", "4"),
}


def lowered(tmp_path_factory, loss):
    folder = tmp_path_factory.mktemp("dropout")
    paths = folder / "step.hlo.pb", folder / "inputs.safetensors"
    scripts.run(SCRIPT, *paths, loss)
    return paths


@pytest.fixture(scope="module")
def step(tmp_path_factory):
    return lowered(tmp_path_factory, "linear")


@pytest.fixture(scope="module")
def training_step(tmp_path_factory):
    return lowered(tmp_path_factory, "squared")


def run(cli, step, tmp_path, *flags):
    """The loss of a step, and what it is by the gradient of `v`."""
    module, inputs = step
    end = tmp_path / "end.safetensors"
    done = cli.json(
        *("run", module, "--inputs", inputs, "--steps", "1", "--save", end), *flags
    )
    values, gradients = (load(one.read_bytes()) for one in (inputs, end))
    name = f"{LAST}/v"
    product = values[name].astype(np.float64) * gradients[name]
    return done["loss"][0], float(product.sum())


def sharding(tmp_path, parameters, devices=4):
    file = tmp_path / "split.json"
    file.write_text(json.dumps({"mesh": {"x": devices}, "parameters": parameters}))
    return file


@pytest.mark.parametrize("split", SPLIT)
def test_backward_drops_what_forward_dropped(cli, step, tmp_path, split):
    file = sharding(tmp_path, SPLIT[split])
    loss, by_gradient = run(cli, step, tmp_path, "--sharding", file)
    assert by_gradient == pytest.approx(loss, **ROUNDING)
    whole, _ = run(cli, step, tmp_path)
    assert abs(loss - whole) > 0.02 * abs(whole)  # Other elements are dropped.


def first_results(cli, module, direction):
    """Of attention in that direction, in order."""
    text = cli("inspect", module, "--text").stdout
    name = rf"dot_product_attention_{direction}[.\d]*"
    return re.findall(rf"({name}) = \S+ get-tuple-element\(%?{name}\), index=0,", text)


def test_split_in_two_ways_at_once(cli, step, tmp_path):
    """Pinned to drop differently, forward and backward are split alike all the same."""
    forward = first_results(cli, step[0], "fwd")[-1]
    backward = first_results(cli, step[0], "bwd")[0]
    file = tmp_path / "split.json"
    pins = {forward: "[x, -, -, -]", backward: "[-, x, -, -]"}
    file.write_text(json.dumps({"mesh": {"x": 4}, "instructions": pins}))
    loss, by_gradient = run(cli, step, tmp_path, "--sharding", file)
    assert by_gradient == pytest.approx(loss, **ROUNDING)


@pytest.mark.parametrize("plan", PLANS)
def test_planned(cli, step, tmp_path, plan):
    path = tmp_path / "plan.json"
    report = cli.json(
        *("plan", step[0], "--cluster", "cpu:4", "--assumed", "--require-rules"),
        *("-o", path, *PLANS[plan]),
    )
    assert any("dropped than on one device" in note for note in report["notes"])
    loss, by_gradient = run(cli, step, tmp_path, "--plan", path)
    assert by_gradient == pytest.approx(loss, **ROUNDING)


def test_each_shard_has_its_seed(cli, step, tmp_path):
    file = sharding(tmp_path, SPLIT["batch"])
    report = cli.json("partition", step[0], "--sharding", file)
    assert report["fallbacks"] == []
    assert len(report["notes"]) == 1
    text = cli("partition", step[0], "--sharding", file, "--text").stdout
    seeds = re.findall(r'"seed":(\d+)', text)
    assert len(seeds) == 2 * 2 * 4  # Layers, directions, shards.
    assert {seeds.count(one) for one in seeds} == {2}  # Of forward and backward.
    done = cli("check", step[0], "--sharding", file, "--steps", "1").stdout
    assert "equal after" in done
    assert "compared without dropout" in done


@pytest.mark.parametrize("micro_batches", ["1", "4"])
def test_recomputed_forward_drops_the_same(cli, training_step, tmp_path, micro_batches):
    module, inputs = training_step
    losses, seeds = {}, {}
    for policy in ("none", "full"):
        path, folder = tmp_path / f"{policy}.json", tmp_path / policy
        cli(
            *("plan", module, "--cluster", "cpu:4", "--assumed", "--stages", "1"),
            *("--strategy", "dp", "--micro-batches", micro_batches),
            *("--recompute", policy, "-o", path, "--dump", folder),
        )
        done = cli.json(
            *("run", module, "--plan", path, "--inputs", inputs, "--steps", "3")
        )
        losses[policy] = done["loss"]
        found = re.findall(
            r'__cudnn\$fmhaSoftmaxDropout(Backward)?".*"seed":(\d+)',
            (folder / "program.hlo").read_text(),
        )
        seeds[policy] = {
            way: sorted(seed for back, seed in found if bool(back) == (way == "back"))
            for way in ("forward", "back")
        }
    assert seeds["none"]["forward"] == seeds["none"]["back"] == seeds["full"]["back"]
    assert len(seeds["full"]["forward"]) > len(seeds["full"]["back"])
    assert set(seeds["full"]["forward"]) == set(seeds["full"]["back"])
    assert losses["full"] == pytest.approx(losses["none"], rel=1e-4)
    assert losses["none"][2] < 0.999 * losses["none"][0]
