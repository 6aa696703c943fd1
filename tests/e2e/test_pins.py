"""Pins of every kind: whatever `partition --sharding` can do, `plan --pin` can, and
what a plan says is what was pinned."""

import json

import pytest
from random_pins import pin_file, seeded

MESH = {"data": 4, "model": 2}
QKV = "state/params/blocks/0/attention/qkv/w"
NEXT_QKV = "state/params/blocks/1/attention/qkv/w"
MODELS = {"mlp": 6, "gpt_tiny": 1, "gpt_scan_tiny": 1}  # And how often, in CI.
MORE = ["llama_tiny", "unet_tiny", "bert_tiny", "moe_tiny", "vit_tiny"]


class Pinned:
    """A module, with what is needed to pin something of it."""

    def __init__(self, cli, path):
        self.cli, self.path = cli, path
        self.report = cli.json("inspect", path)
        self.text = cli("partition", path, "--mesh", "d=1", "--text").stdout
        self.names = [p["name"] for p in self.report["parameters"]]

    def plan(self, folder, pins, *flags, devices=8):
        file, plan = folder / "pins.json", folder / "plan.json"
        file.write_text(json.dumps(pins))
        done = self.cli(
            "plan", self.path, "--cluster", f"cpu:{devices}", "--assumed",
            "--pin", file, "-o", plan, "--json", *flags,
        )  # fmt: skip
        return done, file, plan

    def weight(self):
        """The first matrix among the state."""
        return next(
            p["name"]
            for p in self.report["parameters"]
            if p["role"] == "state" and len(p["shape"]) == 2
        )

    def kept(self, plan, pins):
        """The names of pinned parameters that a plan has otherwise."""
        shardings = plan["shardings"]["parameters"]
        broken = []
        for name, asked in pins.get("parameters", {}).items():
            got = shardings[self.names.index(name)]
            for dim, axes in enumerate(parsed(asked)):
                if axes is not None and got[dim] != axes:
                    broken.append((name, asked, got))
        return broken


def parsed(text):
    """ "[data, ?, (a, b)]" as [["data"], None, ["a", "b"]]."""
    dims, depth, word = [], 0, ""
    for char in text[1:-1] + ",":
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            word = word.strip().strip("()")
            names = [one.strip() for one in word.split(",")]
            dims.append(None if word == "?" else [] if word == "-" else names)
            word = ""
        else:
            word += char
    return dims


@pytest.fixture(scope="session")
def pinned(cli, mlp, testdata):
    known = {}

    def get(name):
        if name not in known:
            path = mlp if name == "mlp" else testdata / f"{name}.hlo.pb.zst"
            known[name] = Pinned(cli, path)
        return known[name]

    return get


def agrees_with_partition(step, folder, seed, devices=8, flags=()):
    """Plans with random pins and holds the outcome against the partitioner's."""
    pins = pin_file(seeded(seed), step.report, step.text, devices)
    done, file, plan = step.plan(folder, pins, *flags, devices=devices)
    what = f"seed {seed}: {json.dumps(pins)}: {done.stderr}"
    assert done.returncode in (0, 2), what
    if done.returncode == 2:
        split = step.cli("partition", step.path, "--sharding", file)
        assert split.returncode == 2, f"partition can do this; {what}"
        return None
    assert not step.kept(json.loads(done.stdout), pins), what
    return plan


@pytest.mark.parametrize("model", MODELS)
def test_random_pins(pinned, cli, tmp_path, model):
    step = pinned(model)
    for seed in range(MODELS[model]):
        plan = agrees_with_partition(step, tmp_path, seed)
        if plan and seed == 0:
            assert cli.json("check", step.path, "--plan", plan)["ok"]


@pytest.mark.long
@pytest.mark.parametrize("model", [*MODELS, *MORE])
def test_many_random_pins(pinned, cli, tmp_path, model):
    step = pinned(model)
    for seed in range(100, 140):
        flags = ["--micro-batches", "2"] if seed % 4 == 0 else []
        plan = agrees_with_partition(step, tmp_path, seed, flags=flags)
        if plan:
            assert cli.json("check", step.path, "--plan", plan)["ok"], seed


@pytest.mark.parametrize(
    "text",
    ["[-, model]", "[model, -]", "[data, -]", "[data, model]", "[(model,data), -]"],
)
def test_a_weight_on_any_axis(pinned, tmp_path, text):
    step = pinned("gpt_tiny")
    pins = {"mesh": MESH, "parameters": {QKV: text}}
    done, _, _ = step.plan(tmp_path, pins)
    assert done.returncode == 0, done.stderr
    assert not step.kept(json.loads(done.stdout), pins)


def test_what_auto_chose_costs_nothing(pinned, tmp_path):
    step = pinned("gpt_tiny")
    done, _, _ = step.plan(tmp_path, {"mesh": MESH})
    auto = json.loads(done.stdout)
    chosen = auto["shardings"]["parameters"]
    for name in (QKV, NEXT_QKV, "state/params/wte", "batch/tokens"):
        if name not in step.names:
            continue
        pins = {"mesh": MESH, "parameters": {name: chosen[step.names.index(name)]}}
        done, _, _ = step.plan(tmp_path, pins)
        assert done.returncode == 0, done.stderr
        again = json.loads(done.stdout)
        ratio = again["predicted"]["step_seconds"] / auto["predicted"]["step_seconds"]
        assert ratio < 1.01, (name, ratio)


def test_layers_may_be_pinned_in_different_ways(pinned, cli, tmp_path):
    step = pinned("gpt_tiny")
    pins = {"mesh": MESH, "parameters": {QKV: "[data, -]", NEXT_QKV: "[-, data]"}}
    done, _, plan = step.plan(tmp_path, pins)
    assert done.returncode == 0, done.stderr
    assert not step.kept(json.loads(done.stdout), pins)
    assert cli.json("check", step.path, "--plan", plan)["ok"]


def test_pins_that_contradict(cli, pinned, tmp_path):
    step = pinned("mlp")
    state = step.weight()
    file = tmp_path / "pins.json"
    outputs = [o for o in step.report["outputs"] if o["name"].endswith(state)]
    assert outputs, step.report["outputs"]
    pins = {
        "mesh": MESH,
        "parameters": {state: "[data, -]"},
        "outputs": {outputs[0]["name"]: "[-, data]"},
    }
    file.write_text(json.dumps(pins))
    line = cli.refuses("plan", step.path, "--cluster", "cpu:8", "--pin", file)
    assert "is pinned to [data, -]" in line and "state keeps its sharding" in line


def test_what_a_pin_costs_is_explained(cli, pinned, tmp_path):
    step = pinned("mlp")
    name = step.weight()
    pins = {"mesh": MESH, "parameters": {name: "[model, -]"}}
    done, _, plan = step.plan(tmp_path, pins)
    assert done.returncode == 0, done.stderr
    choice = cli.json("explain", plan, name, "--module", step.path)
    assert choice["pin"] == "[model, -]"
    # Its next value would be sharded as it is: other options are possible.
    others = [one for one in choice["options"] if not one["chosen"]]
    assert others and not any(one["why_not"] for one in others)
