"""What clients and workers say when a part of the service is lost."""

import contextlib
import os
import signal
import socket
import time

import pytest
from process_ids import await_gone, children_of
from service_processes import Process, Serve


@pytest.fixture(scope="module")
def plan(cli, mlp, tmp_path_factory):
    """For two devices."""
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    words = ["--cluster", "cpu:2", "--strategy", "dp", "--assumed"]
    cli.json("plan", mlp, *words, "-o", path)
    return path


def launched(rank, port):
    """By torchrun: one of two workers, of which rank 0 runs the coordinator."""
    env = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return Process("worker", "--platform", "cpu", env=env | {"RANK": str(rank)})


def test_a_crash_of_rank_0_is_told_to_clients(mlp, plan):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with launched(1, port) as other, launched(0, port) as first:
        serving = first.wait_for(r"^\[coordinator\] serving on (\S+); 0 of 2 workers")
        address = serving[1]
        first.wait_for("2 of 2 workers$")
        coordinator = children_of(first.process.pid)
        assert len(coordinator) == 1
        words = ("--plan", plan, "--serve-at", address, "--steps", 1_000_000)
        with Process("run", mlp, *words) as run:
            run.wait_for("^step 3 ")
            os.kill(first.process.pid, signal.SIGABRT)
            who = rf"worker 0 \(pid {first.process.pid} on "
            run.wait_for(f"^meshwright run: {who}.*all workers completed step")
            assert run.wait() == 3
        other.wait_for(
            "^meshwright worker: the process that started the coordinator has ended$"
        )
        assert other.wait() == 3
        await_gone(coordinator)


def test_a_coordinator_that_is_killed_is_lost(mlp, plan):
    with Serve() as serve, serve.worker("--devices", 2) as worker:
        serve.wait_for("1 worker$")
        words = ("--plan", plan, "--serve-at", serve.address, "--steps", 1_000_000)
        with Process("run", mlp, *words) as run:
            run.wait_for("^step 3 ")
            serve.end(signal.SIGKILL)
            run.wait_for(
                rf"^meshwright run: lost the coordinator at {serve.address} "
                r"\(step \d+ is the last that it said was complete\)"
            )
            assert run.wait() == 3
        worker.wait_for("^meshwright worker: lost the coordinator at ")
        assert worker.wait() == 3


@contextlib.contextmanager
def a_silent_port():
    """Accepts connections, and says nothing."""
    with socket.socket() as listens:
        listens.bind(("127.0.0.1", 0))
        listens.listen(16)
        yield f"127.0.0.1:{listens.getsockname()[1]}"


def test_who_accepts_and_stays_silent_is_no_coordinator(cli, mlp):
    with a_silent_port() as address:
        done = cli("run", mlp, "--serve-at", address)
        line = f"meshwright run: {address} does not answer; is it a coordinator?\n"
        assert (done.returncode, done.stderr) == (3, line)
        begin = time.monotonic()
        done = cli("worker", "--join", address, "--connect-timeout", 1)
        # Less than it waits without the flag.
        assert time.monotonic() - begin < 60
        assert done.returncode == 3
        assert f"{address} does not answer" in done.stderr


def test_a_second_worker_of_a_rank_is_refused(cli):
    with Serve() as serve, serve.worker("--rank", 0):
        serve.wait_for("1 worker$")
        words = ("--join", serve.address, "--platform", "cpu", "--rank", 0)
        line = cli.refuses("worker", *words)
        assert "there is a worker of rank 0 already: worker 0 (pid " in line
        assert serve.end() == 0


def test_launch_ends_workers_that_do_not_end_within_seconds(mlp):
    flags = ("--cluster", "cpu:4", "--workers", 4)
    with Serve(*flags, command="launch") as launch:
        launch.wait_for("4 of 4 workers$")
        workers = children_of(launch.process.pid)
        assert len(workers) == 4
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        begin = time.monotonic()
        launch.end()
        # Three to take leave of workers that are silent, three for all to end.
        # Without a limit it would not end at all.
        assert time.monotonic() - begin < 30
        await_gone(workers)
