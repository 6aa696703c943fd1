"""`meshwright plan`: plans that run, say what they promise, and refuse mistakes."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import scripts
from safetensors.numpy import load_file, save_file

HERE = Path(__file__).parent
STRATEGIES = ["auto", "dp", "zero2", "zero3", "megatron", "sequence", "volume"]
WEIGHTS = ("state/params/up", "state/params/down")


@pytest.fixture
def make(cli, mlp, tmp_path):
    """Plans the small step; gives what --json says and the path of the file."""

    def plan(*flags, cluster="cpu:8", module=mlp, name="plan.json"):
        path = tmp_path / name
        report = cli.json(
            "plan", module, "--cluster", cluster, "--assumed", "-o", path, *flags
        )
        return report, path

    return plan


def axes_of(report, path, name):
    """The axes by dimension of a parameter."""
    names = [t["name"] for t in json.loads(path.read_text())["tensors"]["parameters"]]
    return report["shardings"]["parameters"][names.index(name)]


@pytest.mark.parametrize("cluster", ["cpu:8", "h200:8", "h200:2x4"])
def test_keys_of_the_contract(make, cluster):
    report, path = make(cluster=cluster)
    assert report["devices"] == 8 == np.prod(list(report["mesh"].values()))
    assert report["stages"] == 1 and report["micro_batches"] == 1
    assert isinstance(report["schedule"], str)
    predicted = report["predicted"]
    for key in ("step_seconds", "compute_seconds", "comm_bytes", "peak_bytes"):
        assert predicted[key] >= 0
    assert predicted["step_seconds"] == pytest.approx(
        predicted["compute_seconds"] + predicted["exposed_comm_seconds"]
    )
    assert predicted["exposed_comm_seconds"] <= predicted["comm_seconds"] * (1 + 1e-9)
    assert predicted["origin"] == "assumed"
    assert 0 <= report["bound"]["gap"] < 1
    assert report["seconds"]["total"] > 0
    assert len(report["shardings"]["parameters"]) == 8
    assert len(report["shardings"]["outputs"]) == 7
    for one in report["collectives"]:
        assert one.keys() >= {"kind", "axes", "bytes", "count", "tensor"}
    total = sum(c["count"] * c["wire_bytes"] for c in report["collectives"])
    assert total == pytest.approx(predicted["comm_bytes"])
    assert "seconds" not in json.loads(path.read_text())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_equals_one_device(cli, mlp, make, strategy):
    report, path = make("--strategy", strategy)
    assert report["strategy"] == strategy
    checked = cli.json("check", mlp, "--plan", path, "--steps", 2)
    assert checked["ok"] and checked["devices"] == 8
    # What is planned is what runs.
    for sums in ("count", "wire_bytes"):

        def total(collectives, key=sums):
            return sum(c["count"] * (c[key] if key != "count" else 1)
                       for c in collectives)  # fmt: skip

        assert total(checked["collectives"]) == pytest.approx(
            total(report["collectives"])
        )


def test_strategies_do_what_their_names_say(make):
    for strategy, weights, moments in [
        ("dp", False, False),
        ("zero2", False, True),
        ("zero3", True, True),
    ]:
        report, path = make("--strategy", strategy)
        assert report["mesh"] == {"data": 8}
        assert axes_of(report, path, "batch/x") == [["data"], []]
        for name in WEIGHTS:
            assert any(axes_of(report, path, name)) == weights
            moment = name.replace("params", "moment")
            assert any(axes_of(report, path, moment)) == moments
    report, path = make("--strategy", "megatron", "--mesh", "data=4,model=2")
    assert axes_of(report, path, "batch/x") == [["data"], []]
    assert "data" not in str(axes_of(report, path, WEIGHTS[0]))
    least = make("--strategy", "volume")[0]["predicted"]["comm_bytes"]
    for strategy in ("auto", "dp", "zero3"):
        assert least <= make("--strategy", strategy)[0]["predicted"]["comm_bytes"]


def test_four_axes(cli, testdata, make):
    step = testdata / "moe_tiny.hlo.pb.zst"
    mesh = {"data": 2, "model": 2, "x": 2, "y": 2}
    text = ",".join(f"{axis}={size}" for axis, size in mesh.items())
    report, path = make("--mesh", text, cluster="cpu:16", module=step)
    assert report["mesh"] == mesh and report["devices"] == 16
    assert 0 <= report["bound"]["gap"] < 1
    # Some of it is split over two axes at least.
    used = {axis for axis in mesh for one in report["shardings"]["parameters"]
            if axis in str(one)}  # fmt: skip
    assert len(used) >= 2
    checked = cli.json("check", step, "--plan", path, "--steps", 2)
    assert checked["ok"] and checked["devices"] == 16


def test_micro_batches(cli, mlp, make):
    report, path = make("--micro-batches", 4, "--strategy", "dp", "--mesh", "data=4")
    assert report["micro_batches"] == 4 and report["devices"] == 4
    assert cli.json("check", mlp, "--plan", path, "--steps", 2)["ok"]


def test_measured(cli, mlp, make):
    report, path = make("--measure", cluster="cpu:4")
    measured = json.loads(path.read_text())["measured"]
    assert report["measured"] == measured
    assert measured["step_seconds"] > 0
    assert measured["others"], "nothing to compare with"
    predicted = [other["predicted_seconds"] for other in measured["others"]]
    predicted.append(report["predicted"]["step_seconds"])
    assert max(predicted) <= 1.15 * min(predicted)
    assert all(other["step_seconds"] > 0 for other in measured["others"])
    assert report["strategy"] == "auto" and 0 <= report["bound"]["gap"] < 1
    assert cli.json("check", mlp, "--plan", path)["ok"]


def test_a_plan_with_stages_is_not_measured(make):
    report, _ = make("--measure", "--stages", "2", cluster="cpu:4")
    assert "measured" not in report
    assert any("not measured" in note for note in report["notes"])


def test_a_cluster_file_and_this_machines_devices(cli, mlp, make, tmp_path):
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({"device": {"kind": "a100"}, "hosts": [
        {"address": "a:1", "devices": 2}, {"address": "b:1", "devices": 2}]}))  # fmt: skip
    report, path = make(cluster=cluster)
    assert report["devices"] == 4
    # A plan for other devices runs on virtual ones.
    assert cli.json("run", mlp, "--plan", path, "--platform", "cpu")["devices"] == 4


def test_xla_options_are_told_and_the_users_own_win(cli, mlp, make, monkeypatch):
    run = ("run", mlp, "--plan", make()[1], "--steps", 1)
    passes = "--xla_disable_hlo_passes="
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    assert cli.json(*run)["xla_options"] == f"{passes}cpu-all-reduce-combiner"
    told = f"XLA options: {passes}cpu-all-reduce-combiner (XLA_FLAGS takes precedence)"
    assert told in cli(*run).stdout.splitlines()
    assert cli.json("run", mlp, "--steps", 1)["xla_options"] == ""  # One device.
    monkeypatch.setenv("XLA_FLAGS", f"{passes}dce")
    assert cli.json(*run)["xla_options"] == ""


def test_the_same_input_gives_the_same_bytes(make):
    """All that a file holds; that larger steps get the same plans the replay shows."""
    first = make("--seed", 3, name="a.json")[1].read_bytes()
    assert make("--seed", 3, name="b.json")[1].read_bytes() == first


def test_run_trains_as_one_device_does(cli, mlp, make, tmp_path):
    path = make("--strategy", "zero3")[1]
    random = np.random.default_rng(0)

    def tensor(*shape):
        return random.normal(size=shape).astype(np.float32)

    save_file({"state/params/up": tensor(32, 64)}, tmp_path / "in.safetensors")
    data = []
    for step in range(2):
        file = tmp_path / f"data{step}.safetensors"
        save_file({"batch/x": tensor(16, 32), "batch/y": tensor(16, 16)}, file)
        data += ["--data", file]
    reports, states = [], []
    for plan in ([], ["--plan", path]):
        saved = tmp_path / f"state{len(plan)}.safetensors"
        report = cli.json(
            "run", mlp, "--steps", 4, "--inputs", tmp_path / "in.safetensors", *data,
            "--save", saved, "--platform", "cpu", *plan,
        )  # fmt: skip
        reports.append(report)
        states.append(load_file(saved))
    assert reports[0]["devices"] == 1 and reports[1]["devices"] == 8
    assert len(reports[1]["step_seconds"]) == 4
    np.testing.assert_allclose(reports[1]["loss"], reports[0]["loss"], rtol=1e-5)
    assert reports[0]["loss"][3] < reports[0]["loss"][1]
    assert states[0].keys() == states[1].keys()
    for name, value in states[0].items():
        np.testing.assert_allclose(states[1][name], value, rtol=1e-4, atol=1e-5)


def test_jax_trains_with_a_plans_shardings(make, testdata):
    report, path = make(
        "--strategy", "megatron", "--mesh", "data=4,model=2",
        module=testdata / "gpt_tiny.hlo.pb.zst",
    )  # fmt: skip
    assert report["mesh"] == {"data": 4, "model": 2}
    done = scripts.run(HERE / "train_with_plan.py", path)
    trained = json.loads(done.stdout)
    assert trained["shards"] == 4
    np.testing.assert_allclose(trained["losses"], trained["alone"], rtol=1e-4)


@pytest.mark.parametrize(
    ("flags", "reasons"),
    [
        (["--mesh", "data=16"], ["data=16", "16 devices", "8"]),
        (["--mesh", "data=0"], ["'data' has size 0"]),
        (["--mesh", "data"], ["'data' is no mesh"]),
        (["--cluster", "h9000:8"], ["h9000", "h200"]),
        (["--cluster", "cpu:0"], ["cpu:0"]),
        (["--cluster", "none.json"], ["none.json"]),
        (["--strategy", "zero4"], ["zero4", "zero3"]),
        (["--memory", "-1"], ["--memory must be a positive number of GiB"]),
        (["--memory", "160GiB"], ["number of GiB", "not '160GiB'"]),
        (["--memory", "1e-9"], ["does not fit into 1 B", "8 devices", "--memory"]),
        (["--micro-batches", "3"], ["batch/x", "does not divide into 3"]),
        (["--pin", "none.json"], ["none.json"]),
        (["--cluster", "h9000:8", "--measure"], ["h9000"]),
        (
            ["--cluster", "cpu:300", "--measure"],
            ["--measure", "300 cpu devices", "256"],
        ),
    ],
)
def test_mistakes_are_named(cli, mlp, flags, reasons):
    line = cli.refuses("plan", mlp, "--cluster", "cpu:8", "--assumed", *flags)
    for reason in reasons:
        assert reason in line


@pytest.mark.parametrize(
    "flags", [[], ["--strategy", "dp"], ["--mesh", "data=2,model=2"]]
)
def test_what_would_fit(cli, mlp, make, flags):
    line = cli.refuses(
        "plan", mlp, "--cluster", "cpu:4", "--assumed", "--memory", 1e-5, *flags
    )
    said = re.search(r"10.5 KiB on each of 4 devices; .* \(--memory (\S+)\)", line)
    memory = float(said[1])
    report, path = make(*flags, "--memory", said[1], cluster="cpu:4")
    assert 1e-5 < report["predicted"]["peak_bytes"] / 2**30 <= memory
    assert report["notes"] == []
    assert cli.json("check", mlp, "--plan", path)["ok"]
    # With a good deal less it does not.
    cli.refuses("plan", mlp, "--cluster", "cpu:4", "--assumed", *flags,
                "--memory", memory / 2)  # fmt: skip


def test_on_how_many_devices_it_would_fit(cli, mlp, make):
    flags = ("--memory", 4e-6, "--assumed")
    line = cli.refuses("plan", mlp, "--cluster", "h200:4", *flags)
    devices = int(re.search(r", or (\d+) such devices", line)[1])
    assert devices % 4 == 0 and devices > 4
    report, _ = make("--memory", 4e-6, cluster=f"h200:{devices // 4}x4")
    assert report["predicted"]["peak_bytes"] <= 4e-6 * 2**30


def test_no_cluster(cli, mlp):
    assert "--cluster" in cli.refuses("plan", mlp)


MESH = {"data": 4, "model": 2}
PINS = {
    "contradiction": (
        {"mesh": MESH, "parameters": {"state/params/up": "[data, -]"},
         "outputs": {"state/params/up": "[-, data]"}},
        ["state/params/up is pinned to [data, -]", "[-, data]"],
    ),
    "unknown name": (
        {"mesh": MESH, "parameters": {"batch/q": "[data, -]"}},
        ["batch/q", "batch/x"],
    ),
    "unknown axis": ({"mesh": MESH, "parameters": {"batch/x": "[rows, -]"}}, ["rows"]),
    "no mesh": ({"parameters": {"batch/x": "[data, -]"}}, ["no mesh"]),
    "partial sum": (
        {"mesh": MESH, "parameters": {"batch/x": "[data, -] +{model}"}},
        ["batch/x", "must not have a pending reduction"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PINS)
def test_pins_that_cannot_be(cli, mlp, tmp_path, case):
    content, reasons = PINS[case]
    path = tmp_path / "pin.json"
    path.write_text(json.dumps(content))
    line = cli.refuses("plan", mlp, "--cluster", "cpu:8", "--pin", path)
    for reason in reasons:
        assert reason in line


def test_pins_are_kept(make, tmp_path):
    pin = tmp_path / "pin.json"
    pin.write_text(json.dumps({"mesh": MESH, "parameters": {
        "batch/x": "[model, -]", "*/up": "[-, data]"}}))  # fmt: skip
    report, path = make("--pin", pin)
    assert axes_of(report, path, "batch/x") == [["model"], []]
    assert axes_of(report, path, "state/moment/up") == [[], ["data"]]


def drop(*keys):
    def change(plan):
        for key in keys[:-1]:
            plan = plan[key]
        del plan[keys[-1]]

    return change


def put(value, *keys):
    def change(plan):
        for key in keys[:-1]:
            plan = plan[key]
        plan[keys[-1]] = value

    return change


def strategies(plan):
    return plan["layouts"][0]["strategies"]


def make_pending(linear, reduction):
    def change(plan):
        for one in strategies(plan):
            one["pending"] = {"linear": linear, "reduction": reduction, "axes": [0]}

    return change


DAMAGE = {
    "no layouts": (drop("layouts"), "layouts"),
    "an empty list of layouts": (put([], "layouts"), "without the strategies"),
    "no strategies": (lambda p: p["layouts"][0].pop("strategies"), "strategies"),
    "no mesh": (lambda p: p["layouts"][0].pop("mesh"), "mesh"),
    "another format": (put(99, "format"), "of version 99"),
    "another step": (put("0" * 16, "step_fingerprint"), "another version made"),
    "other collectives": (put(7, "collectives", 0, "count"), "lists 7 x"),
    "other bytes sent": (put(7, "collectives", 0, "wire_bytes"), "a device sends"),
    "unknown collective": (
        put("all-sum", "collectives", 0, "kind"), "of unknown kind: all-sum"),
    "unknown type": (
        put("f99", "tensors", "parameters", 0, "type"), "no known type: f99"),
    "another parameter": (
        put("v", "tensors", "parameters", 0, "name"), "the plan's parameter 0 is v f32["),
    "another sharding": (
        put("[data]", "tensors", "parameters", 0, "sharding"), ", its program's is "),
    "an output more": (
        lambda p: p["tensors"]["outputs"].append(p["tensors"]["outputs"][0]),
        "its program's is none"),
    "unknown origin": (
        put("guessed", "predicted", "origin"), "'guessed' is no origin of rates"),
    "huge mesh": (
        put(1 << 40, "layouts", 0, "mesh", "data"), "mesh axis 'data' has size"),
    "mesh beyond the cluster": (put(64, "layouts", 0, "mesh", "data"), "its cluster 8"),
    "fewer strategies": (lambda p: strategies(p).pop(), "has no strategy for"),
    "two strategies": (
        lambda p: strategies(p).append(strategies(p)[0]), "has two strategies for"),
    "unknown operation": (
        put("dot.9999", "layouts", 0, "strategies", 0, "operations", 0),
        "a strategy for dot.9999, which the step does not have"),
    "unknown value": (
        put(["dot.9999"], "layouts", 0, "moved", "apart"),
        "moves dot.9999, which the step does not have"),
    "unknown axis": (
        lambda p: strategies(p)[0]["split"].append([0, 31]), "axis 31"),
    "axis used twice": (
        lambda p: strategies(p)[0]["split"].append([0, 0, 0]), "does not fit it"),
    "unknown way to pend": (make_pending(77, 0), "does not fit it"),
    "unknown reduction": (make_pending(0, 99), "reduction 99"),
    "negative micro-batches": (put(-5, "micro_batches"), "-5 micro-batches"),
    "other micro-batches": (put(2, "micro_batches"), "another version made"),
    "rates of other links": (put([], "rates", "levels"), "levels of links"),
    "no cluster": (put({}, "cluster"), "hosts"),
}  # fmt: skip


@pytest.fixture(scope="module")
def dp_plan(cli, mlp, tmp_path_factory):
    path = tmp_path_factory.mktemp("dp") / "plan.json"
    done = cli("plan", mlp, "--cluster", "cpu:8", "--strategy", "dp", "-o", path)
    assert done.returncode == 0, done.stderr
    return path


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_plans(cli, mlp, dp_plan, tmp_path, case):
    change, reason = DAMAGE[case]
    plan = json.loads(dp_plan.read_text())
    change(plan)
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(plan))
    line = cli.refuses("run", mlp, "--plan", path)
    assert str(path) in line and reason in line


def test_tensors_of_stages(cli, testdata, tmp_path):
    """Also which rank has them: the first of two has two of three devices."""
    module = testdata / "gpt_tiny.hlo.pb.zst"
    path = tmp_path / "plan.json"
    flags = ("--cluster", "h200:3", "--assumed", "--stages", 2, "--micro-batches", 2)
    assert cli("plan", module, *flags, "-o", path).returncode == 0
    assert cli("explain", path, "--module", module).returncode == 0
    plan = json.loads(path.read_text())
    tensors = plan["tensors"]["parameters"]
    assert len(plan["layouts"]) == 2
    at = next(i for i, one in enumerate(tensors) if one.get("layout") == 1)
    tensors[at]["layout"] = 0
    tensors[at]["sharding"] = (
        "[" + ", ".join("-" for _ in tensors[at]["dimensions"]) + "]"
    )
    path.write_text(json.dumps(plan))
    line = cli.refuses("check", module, "--plan", path)
    assert f"the plan's parameter {at} is" in line and "of layout 1" in line


def test_truncated_plans(cli, mlp, dp_plan, tmp_path):
    text = dp_plan.read_text()
    path = tmp_path / "truncated.json"
    for size in (0, 1, 1000, len(text) - 3):
        path.write_text(text[:size])
        line = cli.refuses("check", mlp, "--plan", path)
        assert str(path) in line and "a plan" in line


def test_plans_of_another_module(cli, dp_plan, testdata):
    other = testdata / "vit_tiny.hlo.pb.zst"
    for command in ("run", "check", "partition"):
        line = cli.refuses(command, other, "--plan", dp_plan)
        assert str(dp_plan) in line and "another module" in line


def test_more_devices_than_can_be(cli, mlp, make):
    path = make(cluster="h200:64x8", name="large.json")[1]
    line = cli.refuses("run", mlp, "--plan", path, "--platform", "cpu")
    assert "512 devices" in line
