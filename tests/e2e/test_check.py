"""`meshwright check`: why something is not equal."""

from pathlib import Path

import pytest
import scripts

HERE = Path(__file__).parent


@pytest.fixture
def planned(cli, tmp_path):
    """Lowers a step and plans it; gives the paths of both."""

    def make(*flags):
        module, plan = tmp_path / "step.hlo.pb", tmp_path / "plan.json"
        scripts.run(HERE / "drawn_step.py", module)
        cluster = ("--cluster", "cpu:4", "--assumed", "-o", plan)
        cli.json("plan", module, *cluster, *flags)
        return module, plan

    return make


def test_numbers_drawn_without_a_key_are_named(cli, planned):
    module, plan = planned("--strategy", "dp")
    done = cli("check", module, "--plan", plan)
    assert done.returncode == 1
    assert "draws random numbers without a key" in done.stderr


def test_steps_in_bf16_may_differ_by_its_rounding(cli, tmp_path):
    module, plan = tmp_path / "step.hlo.pb", tmp_path / "plan.json"
    words = ("lower", "gpt", "tiny", "--dtype", "bf16", "-o", module)
    scripts.run("-m", "meshwright.zoo", *words)
    mesh = ("--cluster", "cpu:4", "--assumed", "--mesh", "data=2,model=2")
    cli.json("plan", module, *mesh, "--strategy", "megatron", "-o", plan)
    check = ("check", module, "--plan", plan, "--steps", 1)
    report = cli.json(*check)
    assert 2e-5 < report["max_rel_error"] < 1e-1
    assert report["verdict"] in ("equal", "rounding")
    assert 2e-5 < report["noise_floor"] < 1e-1
    # The CPU's allocator keeps no account.
    assert report["measured_by"] == "compiler"
    assert 0.5 < report["predicted_peak_bytes"] / report["measured_peak_bytes"] < 2
    done = cli(*check, "--tolerance", "2e-5")
    assert done.returncode == 1
    assert "on one device" in done.stderr


@pytest.mark.parametrize("name", ["multi_steps", "adafactor"])
def test_accumulators_are_compared_by_their_noise(cli, tmp_path, name):
    module, plan = tmp_path / "step.hlo.pb", tmp_path / "plan.json"
    scripts.run(HERE / "optimizer_step.py", name, module)
    cluster = ("--cluster", "cpu:4", "--assumed", "-o", plan)
    cli.json("plan", module, *cluster, "--strategy", "dp")
    report = cli.json("check", module, "--plan", plan)
    assert report["verdict"] == "equal"
    # Gradients are added up in another order.
    assert {one["kind"] for one in report["collectives"]} == {"all-reduce"}
    assert 0 < report["max_rel_error"] < 2e-6
    assert 0 < report["noise_floor"] < 1e-5
    assert all(one["noise"] <= report["noise_floor"] for one in report["tensors"])
