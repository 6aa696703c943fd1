"""The zoo's options for kernels: lowered as a user does, and planned."""

import pytest
import scripts

OPTIONS = [
    ("llama", "--attention", "cudnn", "cuda", "__cudnn$fmhaSoftmaxBackward"),
    ("llama", "--attention", "xla", "cpu", "exponential"),
    ("llama", "--attention", "ring", "cpu", "while"),
    ("moe", "--routing", "ragged", "cuda", "ragged-dot"),
    ("moe", "--routing", "gshard", "cpu", "cumsum"),
]


@pytest.mark.parametrize(("model", "option", "value", "platform", "has"), OPTIONS)
def test_options_lower_and_plan(cli, tmp_path, model, option, value, platform, has):
    path = tmp_path / "step.hlo.pb"
    words = [model, "tiny", "-o", path, "--platform", platform, option, value]
    words += ["--dtype", "bf16"]  # As cuDNN needs.
    scripts.run("-m", "meshwright.zoo", "lower", *words)
    assert has in cli("inspect", path, "--text").stdout
    for strategy in ("auto", "dp"):
        report = cli.json(
            *("plan", path, "--cluster", "h200:4", "--assumed", "--require-rules"),
            *("--strategy", strategy),
        )
        assert report["predicted"]["step_seconds"] > 0
        assert report["whole"] == []


@pytest.mark.parametrize("stages", [1, 2])
def test_ragged_mixtures_in_micro_batches(cli, tmp_path, stages):
    path, plan = tmp_path / "step.hlo.pb", tmp_path / "plan.json"
    words = ["moe", "tiny", "-o", path, "--platform", "cuda", "--routing", "ragged"]
    scripts.run("-m", "meshwright.zoo", "lower", *words)
    cli.json(
        *("plan", path, "--cluster", "cpu:2", "--assumed", "--micro-batches", 2),
        *("--stages", stages, "-o", plan),
    )
    assert cli.json("check", path, "--plan", plan, "--steps", 1)["ok"]


@pytest.mark.parametrize(
    ("model", "option", "known"),
    [("llama", "--attention", "cudnn"), ("moe", "--routing", "gshard")],
)
def test_other_values_are_refused(tmp_path, model, option, known):
    words = ["lower", model, "tiny", "-o", tmp_path / "step.hlo.pb", option, "other"]
    done = scripts.run("-m", "meshwright.zoo", *words, check=False)
    assert done.returncode == 2
    assert "'other'" in done.stderr and known in done.stderr
