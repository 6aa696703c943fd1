"""Any process of a service is killed at a random moment: what the others say and do."""

import os
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


class Drawn:
    """What happens to whom, and when; each plan meets each victim in turn."""

    def __init__(self, plans, seed):
        random = np.random.default_rng(seed)
        self.plan = plans / f"{list(PLANS)[seed % 4]}.json"
        self.victim = VICTIMS[(seed + seed // 4) % 4]
        self.signal = random.choice([signal.SIGKILL, signal.SIGABRT])
        self.delay = random.uniform(0, 0.3)

    def strike(self, pid):
        time.sleep(self.delay)
        os.kill(pid, self.signal)


def kill_one_of_serve(cli, module, drawn):
    """The coordinator, its workers and the client are commands of their own."""
    victim = drawn.victim
    with (
        Serve() as serve,
        serve.worker("--rank", 0) as zero,
        serve.worker("--rank", 1) as one,
    ):
        serve.wait_for("2 workers$")
        words = ("run", module, "--plan", drawn.plan, "--serve-at", serve.address)
        with Process(*words, "--steps", 1_000_000) as client:
            client.wait_for("^step 0 ")
            workers = {"worker 0": zero, "worker 1": one}
            killed = (workers | {"coordinator": serve, "client": client})[victim]
            pids = [one.process.pid for one in (serve, zero, one, client)]
            drawn.strike(killed.process.pid)
            if victim == "coordinator":
                check_without_coordinator(serve, client, workers.values())
            else:
                if victim == "client":
                    check_another_client(cli, client, words)
                else:
                    gone = f"{name_of(victim, killed.process.pid)} is gone: "
                    check_without_worker(gone, client)
                    serve.wait_for(f"^{gone}.*; 1 worker$")
                left = [one for name, one in workers.items() if name != victim]
                assert all(runs(one.process.pid) for one in (serve, *left))
                assert serve.end() == 0
                assert [one.wait() for one in left] == [0] * len(left)
    await_gone(pids)


def kill_one_of_launch(cli, module, drawn):
    """One command is the coordinator and has started the workers."""
    victim = drawn.victim
    flags = ("--cluster", "cpu:2", "--workers", 2)
    with Serve(*flags, command="launch") as launch:
        pids = {"coordinator": launch.process.pid}
        while len(pids) < 3:
            joined = launch.wait_for(r"^(worker \d) \(pid (\d+) on .* has joined ")
            pids[joined[1]] = int(joined[2])
        words = ("run", module, "--plan", drawn.plan, "--serve-at", launch.address)
        with Process(*words, "--steps", 1_000_000) as client:
            client.wait_for("^step 0 ")
            pids["client"] = client.process.pid
            drawn.strike(pids[victim])
            if victim == "coordinator":
                check_without_coordinator(launch, client, ())
            else:
                left = pids.keys() - {victim, "client"}
                if victim == "client":
                    check_another_client(cli, client, words)
                else:
                    name = name_of(victim, pids[victim])
                    how = f"killed by signal {int(drawn.signal)} "
                    check_without_worker(f"{name} was {how}", client)
                    launch.wait_for(f"^{name} is gone: ")
                    launch.wait_for(f"^{victim}: {how}")
                assert all(runs(pids[name]) for name in left)
                assert launch.end() == 0
    await_gone(pids.values())


def check_without_coordinator(serve, client, workers):
    lost = f"lost the coordinator at {serve.address}"
    client.wait_for(rf"^meshwright run: {lost} \(step \d+ is the last")
    assert client.wait() == 3
    for worker in workers:
        worker.wait_for(f"^meshwright worker: {lost}")
        assert worker.wait() == 3


def name_of(worker, pid):
    """A pattern of what messages call it."""
    return rf"{worker} \(pid {pid} on .*\)"


def check_without_worker(gone, client):
    client.wait_for(f"^meshwright run: {gone}.*{COMPLETE}")
    assert client.wait() == 3


def check_another_client(cli, client, words):
    client.wait()
    done = cli.json(*words, "--steps", 1, "--replace")
    assert len(done["loss"]) == 1


ARRANGEMENTS = {"serve": kill_one_of_serve, "launch": kill_one_of_launch}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_killed(cli, mlp, plans, arrangement, seed):
    ARRANGEMENTS[arrangement](cli, mlp, Drawn(plans, seed))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 200))
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_killed_long(cli, mlp, plans, arrangement, seed):
    ARRANGEMENTS[arrangement](cli, mlp, Drawn(plans, seed))
