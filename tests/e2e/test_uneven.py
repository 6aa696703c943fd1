"""Clusters whose hosts differ: work by speed where stages allow it, else the slowest."""

import json

import pytest
import scripts
from conftest import HERE

FAST = {"devices": 8, "count": 2}
SLOW = {"devices": 8, "count": 2, "device": {"kind": "a100-80"}}
PARTS = ("forward_seconds", "input_grad_seconds", "weight_grad_seconds")
LINKS = {
    "host": {"gbps": 2400, "us": 4},
    "cluster": {"gbps": 200, "us": 8, "per": "device"},
}


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    path = tmp_path_factory.mktemp("deep") / "deep.hlo.pb"
    scripts.run(HERE / "deep_step.py", path)
    return path


@pytest.fixture
def clusters(tmp_path):
    """The path of a cluster of such hosts."""

    def write(*hosts):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        cluster = {"device": {"kind": "h200"}, "hosts": hosts, "links": LINKS}
        path.write_text(json.dumps(cluster))
        return path

    return write


def plan_of(cli, module, cluster, *flags):
    return cli.json("plan", module, "--cluster", cluster, "--assumed", *flags)


def test_slow_stages_get_fewer_layers(cli, deep, clusters, tmp_path):
    path = tmp_path / "plan.json"
    mixed = clusters(FAST, SLOW)
    plan = plan_of(cli, deep, mixed, "--stages", 4, "-o", path)
    stages = plan["pipeline"]["stages"]
    seconds = [sum(stage[part] for part in PARTS) for stage in stages]
    assert max(seconds) < 1.4 * min(seconds)
    # Bytes of weights; the first stage holds the batch, too.
    weights = [stage["fixed_bytes"] - stage["room_bytes"] for stage in stages]
    assert weights[1] > 2 * weights[2]
    notes = " ".join(plan["notes"])
    assert "on slower devices get less work, by speed down to 32 %" in notes
    text = cli("plan", deep, "--cluster", mixed, "--assumed", "--stages", 4).stdout
    assert "note: hosts differ (2 of h200 (141 GiB, 989 TFLOP/s), 2 of a100-80" in text
    assert "stage" in cli("simulate", path).stdout
    # Between all slow and all fast, and better than as if all were slow.
    slow = plan_of(cli, deep, clusters(SLOW, SLOW), "--stages", 4)
    fast = plan_of(cli, deep, clusters(FAST, FAST), "--stages", 4)
    seconds = [one["predicted"]["step_seconds"] for one in (fast, plan, slow)]
    assert seconds == sorted(seconds)
    assert seconds[1] < 0.75 * seconds[2]


def test_one_mesh_waits_for_the_slowest(cli, deep, clusters):
    mixed = plan_of(cli, deep, clusters(FAST, SLOW), "--stages", 1)
    slow = plan_of(cli, deep, clusters(SLOW, SLOW), "--stages", 1)
    assert mixed["predicted"]["step_seconds"] == pytest.approx(
        slow["predicted"]["step_seconds"]
    )
    note = " ".join(mixed["notes"])
    assert "the slowest device and the smallest memory count for all" in note
    assert "hosts differ" not in " ".join(slow["notes"])


def test_stages_have_the_memory_of_their_devices(cli, deep, clusters, tmp_path):
    """What fits on the small devices only with fewer layers than their speed allows."""
    equal = plan_of(cli, deep, clusters(FAST, FAST), "--stages", 4)
    peak = max(stage["peak_bytes"] for stage in equal["pipeline"]["stages"][2:])
    small = {"kind": "h200", "memory_gib": 0.6 * peak / 0.92 / 2**30}
    hosts = clusters(FAST, {"devices": 8, "count": 2, "device": small})
    flags = ["--stages", 4, "--micro-batches", equal["micro_batches"]]
    path = tmp_path / "plan.json"
    plan = plan_of(cli, deep, hosts, *flags, "--recompute", "none", "-o", path)
    stages = plan["pipeline"]["stages"]
    for stage in stages:
        memory = stage.get("memory_times", 1) * plan["memory_bytes"]
        assert stage["peak_bytes"] <= memory
    assert stages[0]["peak_bytes"] > plan["memory_bytes"]
    assert min(s["forward_seconds"] for s in stages[:2]) > max(
        s["forward_seconds"] for s in stages[2:]
    )
    assert "may use the memory of its own devices" in " ".join(plan["notes"])
    assert "stage" in cli("simulate", path).stdout


def test_one_slow_host(cli, deep, clusters):
    """By its devices, or by its links."""
    even = plan_of(cli, deep, clusters(FAST, FAST), "--strategy", "zero3")
    for host in (
        {"devices": 8, "device": {"kind": "h200", "speed": 0.5}},
        {"devices": 8, "link_speed": 0.25},
    ):
        hosts = clusters({"devices": 8, "count": 3}, host)
        plan = plan_of(cli, deep, hosts, "--strategy", "zero3")
        assert plan["predicted"]["step_seconds"] > even["predicted"]["step_seconds"]
        assert "hosts differ" in " ".join(plan["notes"])
