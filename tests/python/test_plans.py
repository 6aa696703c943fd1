"""Expert plans: what they split, and that testdata/plans is what they make."""

import json
from pathlib import Path

import pytest

from meshwright.errors import MeshwrightError
from meshwright.lowered_module import LoweredModule, Parameter
from meshwright.patterns import as_patterns
from meshwright.plans import PLANS, make_plan, plans_for, to_json
from meshwright.zoo import MODELS

TESTDATA = Path(__file__).resolve().parents[2] / "testdata"
MESH = {"data": 4, "model": 2}


def state(name, *shape):
    return Parameter(f"state/{name}", shape, "f32", "state")


STEP = [
    state("opt/0/count"),
    state("opt/0/mu/mlp/up/w", 6, 8),
    state("opt/0/rows/mlp/up/w", 8),  # Of no model parameter's shape.
    state("params/mlp/down/w", 8, 6),
    state("params/mlp/up/b", 8),
    state("params/mlp/up/w", 6, 8),
    state("params/norm/scale", 6),
    Parameter("batch/tokens", (4, 16), "s32", "data"),
    Parameter("batch/rate", (), "f32", "data"),
    Parameter("batch/params/mlp/up/w", (6, 8), "f32", "data"),
]

SPLIT = {
    "dp": {"batch/tokens": ("data", "")},
    "zero2": {
        "batch/tokens": ("data", ""),
        "state/opt/0/mu/mlp/up/w": ("", "data"),
    },
    "zero3": {
        "batch/tokens": ("data", ""),
        "state/opt/0/mu/mlp/up/w": ("", "data"),
        "state/params/mlp/down/w": ("data", ""),
        "state/params/mlp/up/b": ("data",),
        "state/params/mlp/up/w": ("", "data"),
    },
    "megatron": {
        "state/opt/0/mu/mlp/up/w": ("", "model"),
        "state/params/mlp/down/w": ("model", ""),
        "state/params/mlp/up/b": ("model",),
        "state/params/mlp/up/w": ("", "model"),
    },
    "sequence": {"batch/tokens": ("data", "model")},
}


@pytest.mark.parametrize("plan", SPLIT)
def test_splits(plan):
    assert PLANS[plan](STEP, MESH) == SPLIT[plan]


def test_experts_lie_over_model_or_over_data():
    experts = [state("params/experts/up", 8, 6, 6), state("params/experts/gate", 6, 8)]
    assert PLANS["expert"](experts, MESH) == {experts[0].name: ("model", "", "")}
    assert PLANS["gshard"](experts, MESH) == {experts[0].name: ("data", "", "")}


def test_output_features_of_convolutions_take_their_vectors_along():
    unit = [
        state("params/stem/conv", 3, 3, 4, 8),
        state("params/stem/norm/scale", 8),
        state("stats/stem/mean", 8),
        state("params/head/w", 8, 8),
    ]
    assert PLANS["megatron"](unit, MESH) == {
        "state/params/stem/conv": ("", "", "", "model"),
        "state/params/stem/norm/scale": ("model",),
        "state/stats/stem/mean": ("model",),
    }


def test_patterns_match_only_what_has_their_value():
    values = {"a/x/w": 1, "a/y/w": 1, "b/w": 2, "b/y/w": None, "a/b": None}
    assert as_patterns(values) == {"a/*/w": 1, "b/w": 2}


def test_unknown_and_unfit_plans_are_named():
    module = LoweredModule.load(TESTDATA / "vit_tiny.hlo.pb.zst")
    with pytest.raises(MeshwrightError, match="no plan 'zero4'; there are dp,"):
        make_plan("zero4", module)
    with pytest.raises(MeshwrightError, match="expert does not fit the module"):
        make_plan("expert", module)


def test_testdata_is_what_plans_make():
    made = {}
    for model in (name.replace("-", "_") for name in MODELS):
        module = LoweredModule.load(TESTDATA / f"{model}_tiny.hlo.pb.zst")
        for plan, file in plans_for(module).items():
            made[f"{model}_{plan}.json"] = file
    stored = {path.name: path.read_text() for path in (TESTDATA / "plans").iterdir()}
    assert stored == {name: to_json(file) for name, file in made.items()}
    assert {name: json.loads(text) for name, text in stored.items()} == made
