"""Plans that compute part of the forward pass again, as a user sees them."""

import json

import pytest
import scripts
from conftest import HERE, ROOT

MODELS = ["gpt", "bert", "wide_resnet", "moe"]
# The U-Net takes as long as all others; these are of the same architecture.
MODELS += [
    pytest.param(one, marks=pytest.mark.long) for one in ("unet", "vit", "llama")
]
# Of one architecture: its loop over layers is the case that is different.
DECODERS = ["gpt_scan"]
DECODERS += [pytest.param(model, marks=pytest.mark.long) for model in ("gpt", "llama")]
# Steps of scan_steps.py that take less memory when they are rematerialised.
SCANS = [
    "plain",
    "half",
    "backward",
    "two_at_a_time",
    "dropout",
    "counted",
    "seen_elsewhere",
    "two_stacks",
    "loop_in_layer",
    "accumulated",
]
ONE_DEVICE = ["--cluster", "cpu:1", "--micro-batches", 1]


@pytest.fixture(scope="session")
def scan(tmp_path_factory):
    """`scan("dropout")` is the path of that step, lowered once."""
    folder = tmp_path_factory.mktemp("scans")

    def path(name):
        made = folder / f"{name}.hlo.pb"
        if not made.exists():
            scripts.run(HERE / "scan_steps.py", name, made)
        return made

    return path


def _module(name):
    return ROOT / f"testdata/{name}_tiny.hlo.pb.zst"


def _plan(cli, path, module, *flags):
    return cli.json("plan", module, "--assumed", "-o", path, *flags)


def _check(cli, tmp_path, module, recompute):
    """What `check` says of the step on one device, computing this again."""
    path = tmp_path / f"{recompute}.json"
    plan = _plan(cli, path, module, *ONE_DEVICE, "--recompute", recompute)
    assert plan["recompute"] == recompute
    return cli.json("check", module, "--plan", path)


@pytest.mark.parametrize("recompute", ["selective", "full"])
@pytest.mark.parametrize("model", MODELS)
def test_one_device_gives_the_same_bits(cli, tmp_path, model, recompute):
    checked = _check(cli, tmp_path, _module(model), recompute)
    path = tmp_path / f"{recompute}.json"
    assert json.loads(path.read_text())["recompute"] == recompute
    assert checked["ok"]
    assert checked["max_abs_error"] == 0


@pytest.mark.parametrize("model", DECODERS)
def test_the_compiled_step_takes_less_memory(cli, tmp_path, model):
    peaks = {}
    for recompute in ("none", "selective", "full"):
        checked = _check(cli, tmp_path, _module(model), recompute)
        assert checked["max_abs_error"] == 0
        peaks[recompute] = checked["peak_bytes"]
    assert peaks["selective"] < 0.9 * peaks["none"]
    assert peaks["full"] < 0.9 * peaks["none"]


@pytest.mark.parametrize("name", SCANS)
def test_loops_compute_the_same_again(cli, tmp_path, scan, name):
    peak = _check(cli, tmp_path, scan(name), "none")["peak_bytes"]
    for recompute in ("selective", "full"):
        checked = _check(cli, tmp_path, scan(name), recompute)
        assert checked["max_abs_error"] == 0
        assert checked["peak_bytes"] <= peak
    assert checked["peak_bytes"] < 0.95 * peak


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("checkpointed", "saves no more residuals than it has to"),
        ("once", "runs once"),
    ],
)
def test_a_plan_says_why_nothing_is_computed_again(cli, tmp_path, scan, name, why):
    path = tmp_path / "plan.json"
    plan = _plan(cli, path, scan(name), *ONE_DEVICE, "--recompute", "full")
    assert plan["recompute"] == "none"
    assert any(why in note for note in plan["notes"])
    assert any(
        "nothing to recompute in the step's forward pass" in n for n in plan["notes"]
    )
    assert _plan(cli, path, scan(name), *ONE_DEVICE)["notes"] == []


@pytest.mark.parametrize("model", DECODERS)
def test_split_and_cut_into_micro_batches(cli, tmp_path, model):
    path = tmp_path / "plan.json"
    flags = ["--cluster", "cpu:4", "--mesh", "data=2,model=2", "--micro-batches", 2]
    plan = _plan(cli, path, _module(model), *flags, "--recompute", "full")
    assert plan["recompute"] == "full"
    assert cli.json("check", _module(model), "--plan", path)["ok"]
    assert len(cli.json("run", _module(model), "--plan", path)["loss"]) > 0


def test_explain_tells_what_is_computed_again(cli, tmp_path, scan):
    """Of a small step: it plans others beside the one explained."""
    path = tmp_path / "plan.json"
    _plan(cli, path, scan("plain"), *ONE_DEVICE, "--recompute", "full")
    explained = cli.json("explain", path, "--module", scan("plain"))
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
    assert "none, selective or full, not 'some'" in failed.stderr


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--recompute", "some"], "none, selective or full, not 'some'"),
    ],
)
def test_bad_requests(cli, flags, message):
    failed = cli("plan", _module("gpt"), "--cluster", "cpu:2", *flags)
    assert failed.returncode == 2
    assert message in failed.stderr
