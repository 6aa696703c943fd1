"""Plans that compute part of the forward pass again, as a user sees them."""

import json

import pytest
from conftest import ROOT

MODELS = ["gpt", "bert", "vit", "unet", "wide_resnet", "moe"]


def _module(name):
    return ROOT / f"testdata/{name}_tiny.hlo.pb.zst"


def _plan(cli, path, module, *flags):
    return cli.json("plan", module, "--assumed", "-o", path, *flags)


@pytest.mark.parametrize("recompute", ["light", "full"])
@pytest.mark.parametrize("model", MODELS)
def test_one_device_gives_the_same_bits(cli, tmp_path, model, recompute):
    path = tmp_path / "plan.json"
    flags = ["--cluster", "cpu:1", "--micro-batches", 1]
    plan = _plan(cli, path, _module(model), *flags, "--recompute", recompute)
    assert plan["recompute"] == recompute
    assert json.loads(path.read_text())["recompute"] == recompute
    checked = cli.json("check", _module(model), "--plan", path)
    assert checked["ok"]
    assert checked["max_abs_error"] == 0


def test_the_compiled_step_takes_less_memory(cli, tmp_path):
    peaks = {}
    for recompute in ("none", "light", "full"):
        path = tmp_path / f"{recompute}.json"
        flags = ["--cluster", "cpu:1", "--recompute", recompute]
        _plan(cli, path, _module("gpt"), *flags, "--micro-batches", 1)
        checked = cli.json("check", _module("gpt"), "--plan", path)
        peaks[recompute] = checked["peak_bytes"]
    assert peaks["light"] < 0.9 * peaks["none"]
    assert peaks["full"] < 0.9 * peaks["none"]


def test_split_and_cut_into_micro_batches(cli, tmp_path):
    path = tmp_path / "plan.json"
    flags = ["--cluster", "cpu:4", "--mesh", "data=2,model=2", "--micro-batches", 2]
    plan = _plan(cli, path, _module("gpt"), *flags, "--recompute", "full")
    assert plan["recompute"] == "full"
    assert cli.json("check", _module("gpt"), "--plan", path)["ok"]
    assert len(cli.json("run", _module("gpt"), "--plan", path)["loss"]) > 0
    explained = cli.json("explain", path, "--module", _module("gpt"))
    assert explained["recompute"] == "full"


def test_auto_recomputes_where_memory_is_short(cli, tmp_path):
    flags = ["--cluster", "h200:1", "--micro-batches", 1]
    path = tmp_path / "plan.json"
    ample = _plan(cli, path, _module("unet"), *flags)
    assert ample["recompute"] == "none"
    peak = ample["predicted"]["peak_bytes"]
    short = ["--memory", 0.8 * peak / 2**30]
    plan = _plan(cli, path, _module("unet"), *flags, *short)
    assert plan["recompute"] != "none"
    assert plan["predicted"]["peak_bytes"] <= 0.8 * peak
    failed = cli(
        "plan", _module("unet"), "--assumed", *flags, *short, "--recompute", "none"
    )
    assert failed.returncode != 0
    assert "does not fit" in failed.stderr


def test_stages_compute_again(cli):
    checked = cli(
        "check", _module("vit"), "--stages", "2", "--recompute", "full", "--json"
    )
    assert checked.returncode == 0, checked.stderr
    failed = cli("check", _module("vit"), "--stages", "2", "--recompute", "some")
    assert failed.returncode == 2
    assert "none, light or full, not 'some'" in failed.stderr


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--recompute", "some"], "none, light or full, not 'some'"),
    ],
)
def test_bad_requests(cli, flags, message):
    failed = cli("plan", _module("gpt"), "--cluster", "cpu:2", *flags)
    assert failed.returncode == 2
    assert message in failed.stderr
