"""Any process of a service is killed at a random moment: what the others say and do."""

import signal
import time

import numpy as np
import pytest
from process_ids import await_gone, runs
from service_processes import Process, Serve

PLANS = {
    "dp": "--mesh data=2 --strategy dp",
    "zero3": "--mesh data=2 --strategy zero3",
    "megatron": "--mesh model=2 --strategy megatron",
    "stages": "--stages 2 --micro-batches 2",
}
VICTIMS = ("worker 0", "worker 1", "coordinator", "client")
COMPLETE = r"(all workers completed step \d+|no step was complete)\)$"


@pytest.fixture(scope="module")
def plans(cli, mlp, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    for name, flags in PLANS.items():
        words = ["--cluster", "cpu:2", "--assumed", *flags.split()]
        cli.json("plan", mlp, *words, "-o", folder / f"{name}.json")
    return folder


def kill_one(cli, module, plans, seed):
    random = np.random.default_rng(seed)
    # Each plan meets each victim, in turn.
    plan = plans / f"{list(PLANS)[seed % 4]}.json"
    victim = VICTIMS[(seed + seed // 4) % 4]
    number = random.choice([signal.SIGKILL, signal.SIGABRT])
    with (
        Serve() as serve,
        serve.worker("--rank", 0) as zero,
        serve.worker("--rank", 1) as one,
    ):
        serve.wait_for("2 workers$")
        words = ("run", module, "--plan", plan, "--serve-at", serve.address)
        with Process(*words, "--steps", 1_000_000) as client:
            client.wait_for("^step 0 ")
            workers = {"worker 0": zero, "worker 1": one}
            killed = (workers | {"coordinator": serve, "client": client})[victim]
            pids = [one.process.pid for one in (serve, zero, one, client)]
            time.sleep(random.uniform(0, 0.3))
            killed.process.send_signal(number)
            if victim == "coordinator":
                check_without_coordinator(serve, client, workers.values())
            else:
                if victim == "client":
                    client.wait()
                    done = cli.json(*words, "--steps", 1, "--replace")
                    assert len(done["loss"]) == 1
                else:
                    check_without_worker(victim, killed, serve, client)
                left = [one for name, one in workers.items() if name != victim]
                assert all(runs(one.process.pid) for one in (serve, *left))
                assert serve.end() == 0
                assert [one.wait() for one in left] == [0] * len(left)
    await_gone(pids)


def check_without_coordinator(serve, client, workers):
    lost = f"lost the coordinator at {serve.address}"
    client.wait_for(rf"^meshwright run: {lost} \(step \d+ is the last")
    assert client.wait() == 3
    for worker in workers:
        worker.wait_for(f"^meshwright worker: {lost}")
        assert worker.wait() == 3


def check_without_worker(victim, killed, serve, client):
    gone = rf"{victim} \(pid {killed.process.pid} on .*\) is gone: "
    client.wait_for(f"^meshwright run: {gone}.*{COMPLETE}")
    assert client.wait() == 3
    serve.wait_for(f"^{gone}.*; 1 worker$")


@pytest.mark.parametrize("seed", range(10))
def test_killed(cli, mlp, plans, seed):
    kill_one(cli, mlp, plans, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 200))
def test_killed_long(cli, mlp, plans, seed):
    kill_one(cli, mlp, plans, seed)
