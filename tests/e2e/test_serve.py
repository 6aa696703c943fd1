"""A coordinator, workers and clients as real processes: serve, worker, launch, run."""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import urllib.error
import urllib.request

import numpy as np
import pytest
from conftest import BINARY
from service_processes import Process, Serve

from meshwright import data


@pytest.fixture(scope="module")
def plans(cli, mlp, tmp_path_factory):
    """By number of devices."""
    folder = tmp_path_factory.mktemp("plans")
    made = {}
    for devices in (1, 2, 4):
        made[devices] = folder / f"{devices}.json"
        words = ["--cluster", f"cpu:{devices}", "--strategy", "dp", "--assumed"]
        cli.json("plan", mlp, *words, "-o", made[devices])
    return made


def scrape(address, path="/metrics"):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
        return answer.read().decode()


def test_a_served_cluster_trains(cli, mlp, plans, tmp_path):
    metrics = tmp_path / "metrics.jsonl"
    flags = ("--cluster", "cpu:4", "--workers", 2, "--metrics", metrics)
    with (
        Serve(*flags, "--metrics-port", 0) as serve,
        serve.worker("--devices", 2, "--rank", 1) as one,
        serve.worker("--devices", 2, "--rank", 0) as other,
    ):
        port = re.search(r"http://(127\.0\.0\.1:\d+)/metrics", serve.lines[-1])[1]
        assert scrape(port, "/healthz") == "ok\n"
        serve.wait_for(r"^worker \d .* has joined with 2 devices, cpu; 1 of 2 workers$")
        serve.wait_for(r"^worker \d .* has joined with 2 devices, cpu; 2 of 2 workers$")
        assert "\nmeshwright_workers 2\n" in scrape(port)
        with pytest.raises(urllib.error.HTTPError):
            scrape(port, "/etc/passwd")

        at = ("--serve-at", serve.address)
        state = tmp_path / "state.safetensors"
        words = ("run", mlp, "--steps", 3, "--plan", plans[4])
        served = cli.json(*words, *at, "--save", state)
        local = cli.json(*words, "--save", tmp_path / "local.safetensors")
        assert served["loss"] == pytest.approx(local["loss"], rel=1e-5)
        assert (served["devices"], served["workers"]) == (4, 2)
        assert state.stat().st_size == (tmp_path / "local.safetensors").stat().st_size

        lines = [json.loads(line) for line in metrics.read_text().splitlines()]
        assert [line["step"] for line in lines] == [0, 1, 2]
        assert [line["loss"] for line in lines] == served["loss"]
        assert lines[2]["mfu"] > 0 and lines[2]["communication_bytes"] > 0

        # One job at a time; a client that is told to end takes its job along.
        with Process("run", mlp, *at, "--steps", 1_000_000) as long:  # Planned there.
            long.wait_for("^step 2 ")
            text = scrape(port)
            assert re.search(
                r'^meshwright_steps_total{job="2"} \d+$', text, re.MULTILINE
            )
            assert "# TYPE meshwright_loss gauge\n" in text
            assert "job 2 (" in cli.refuses(*words, *at)
            assert long.end() == 128 + signal.SIGTERM
        assert cli.json(*words, *at)["loss"] == served["loss"]

        assert serve.end() == 0
        assert one.wait() == 0 and other.wait() == 0


def test_workers_read_a_dataset(cli, mlp, plans, tmp_path):
    random = np.random.default_rng(1)
    samples = {"x": (50, 32), "y": (50, 16)}
    np.savez(
        tmp_path / "shard.npz",
        **{k: random.normal(size=v).astype(np.float32) for k, v in samples.items()},
    )
    dataset = data.npz(tmp_path / "shard.npz", batch=16, shuffle=3)
    dataset.save(tmp_path / "train.json", {"batch/x": "x", "batch/y": "y"})
    feed = ("--steps", 5, "--data", tmp_path / "train.json", "--position", 32)
    want = cli.json("run", mlp, *feed)
    with (
        Serve() as serve,
        serve.worker("--devices", 2),
        serve.worker("--devices", 2),
    ):
        at = ("--serve-at", serve.address, "--plan", plans[4])
        got = cli.json("run", mlp, *feed, *at)
        assert got["loss"] == pytest.approx(want["loss"], rel=2e-5)
        assert got["position"] == want["position"] == 112
        (tmp_path / "shard.npz").unlink()
        assert "shard.npz: No such file" in cli.refuses("run", mlp, *feed, *at)


def test_a_worker_that_is_killed_is_named_and_replaced(cli, mlp, plans):
    with Serve() as serve, serve.worker() as first, serve.worker() as second:
        serve.wait_for("2 workers$")
        at = ("--serve-at", serve.address)
        words = ("run", mlp, "--plan", plans[2], *at)
        with Process(*words, "--steps", 1_000_000) as run:
            run.wait_for("^step 3 ")
            second.end(signal.SIGKILL)
            gone = rf"worker \d \(pid {second.process.pid} on .*\) is gone: "
            told = run.wait_for(f"^meshwright run: {gone}.*all workers completed step")
            assert run.wait() == 3, told
        serve.wait_for(f"^{gone}.*; 1 worker$")
        assert serve.process.poll() is None and first.process.poll() is None
        # With those that are left, or others.
        one = cli.json("run", mlp, "--plan", plans[1], *at, "--steps", 2)
        with serve.worker():
            serve.wait_for("2 workers$")
            two = cli.json(*words, "--steps", 2)
        assert two["loss"] == pytest.approx(one["loss"], rel=1e-5)
        assert serve.end(signal.SIGINT) == 0
        assert first.wait() == 0


def test_a_served_job_is_saved_and_resumed(cli, mlp, plans, tmp_path):
    """On two workers, then on one, then here."""
    losses = cli.json("run", mlp, "--steps", 9)["loss"]
    words = ("run", mlp, "--resume", "--checkpoint", tmp_path / "d", "--steps")
    with Serve() as serve, serve.worker(), serve.worker():
        serve.wait_for("2 workers$")
        at = ("--serve-at", serve.address, "--checkpoint-every", 2)
        two = cli.json(*words, 3, "--plan", plans[2], *at)
        one = cli.json(*words, 6, "--plan", plans[1], *at)
        assert serve.end() == 0
    here = cli.json(*words, 9)
    assert (one["first_step"], here["first_step"]) == (3, 6)
    resumed = two["loss"] + one["loss"] + here["loss"]
    assert resumed == pytest.approx(losses, rel=1e-5)
    saved = cli.json("checkpoint", "ls", tmp_path / "d")["checkpoints"]
    assert [one["step"] for one in saved] == [2, 3, 4, 6, 9]


def test_clients_that_are_killed_leave_a_job_to_replace(cli, mlp, plans):
    with Serve() as serve, serve.worker():
        serve.wait_for("1 worker$")
        words = ("run", mlp, "--plan", plans[1], "--serve-at", serve.address)
        with Process(*words, "--steps", 1_000_000) as run:
            run.wait_for("^step 3 ")
            run.end(signal.SIGKILL)
        assert "is loaded" in cli.refuses(*words, "--steps", 1)
        assert len(cli.json(*words, "--steps", 1, "--replace")["loss"]) == 1
        assert serve.end() == 0


def test_a_step_that_hangs_is_told_of(cli, mlp, plans):
    with (
        Serve("--workers", 2, "--step-timeout", 2) as serve,
        serve.worker("--rank", 0),
        serve.worker("--rank", 1) as stopped,
    ):
        words = ("run", mlp, "--plan", plans[2], "--serve-at", serve.address)
        with Process(*words, "--steps", 1_000_000) as run:
            run.wait_for("^step 2 ")
            stopped.process.send_signal(signal.SIGSTOP)
            # Well before the worker counts as lost.
            run.wait_for(r"^meshwright run: step \d+ has not ended within 2s; the last")
            assert run.wait() == 1
        stopped.process.send_signal(signal.SIGCONT)
        assert len(cli.json(*words, "--steps", 2)["loss"]) == 2
    assert "step-timeout" in cli.refuses("serve", "--step-timeout", 0)


def test_only_those_with_the_token_are_let_in(cli, mlp, tmp_path):
    (tmp_path / "token").write_text("sesame\n")
    with Serve("--token-file", tmp_path / "token") as serve:
        for env in ({"MESHWRIGHT_TOKEN": "guess"}, {}):
            with serve.worker(env=env) as worker:
                worker.wait_for("^meshwright worker: .*token")
                assert worker.wait() == 2
        assert "token" in cli.refuses("run", mlp, "--serve-at", serve.address)
        with serve.worker(env={"MESHWRIGHT_TOKEN": "sesame"}):
            serve.wait_for("1 worker$")
        # Garbage does no harm.
        host, port = serve.address.split(":")
        with socket.create_connection((host, int(port))) as stream:
            stream.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(range(256)))
        with serve.worker("--token-file", tmp_path / "token"):
            serve.wait_for("has joined.*1 worker$")
        assert serve.end() == 0


def test_ports_that_are_in_use_are_named(cli):
    with Serve("--metrics-port", 0) as serve:
        port = serve.address.split(":")[1]
        line = cli.refuses("serve", "--listen", serve.address)
        assert f"port {port} is in use" in line and "--listen" in line
        metrics = re.search(r":(\d+)/metrics", serve.lines[-1])[1]
        line = cli.refuses(
            "serve", "--listen", "127.0.0.1:0", "--metrics-port", metrics
        )
        assert f"port {metrics} is in use" in line and "--metrics-port" in line


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Of this machine, signed by itself; the flags that name it."""
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    words = ["openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "1"]
    words += ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [*words, "-keyout", key, "-out", cert], check=True, capture_output=True
    )
    return {"--tls-cert": cert, "--tls-key": key}


def test_metrics_for_other_machines(cli, certificate, tmp_path):
    token = tmp_path / "token"
    token.write_text("sesame\n")
    flags = {"--metrics-listen": "0.0.0.0:0"}
    line = cli.refuses("serve", *words_of(flags))
    assert "TLS and a token; add --tls-cert, --tls-key, --token-file" in line
    line = cli.refuses("serve", *words_of(flags | certificate))
    assert "listening at 0.0.0.0:0" in line and "add --token-file" in line
    line = cli.refuses("serve", "--metrics-port", 0, *words_of(flags))
    assert "--metrics-port" in line and "--metrics-listen" in line

    trusted = ssl.create_default_context(cafile=certificate["--tls-cert"])
    flags |= certificate | {"--token-file": token}
    with Serve(*words_of(flags)) as serve:
        found = re.search(
            r"metrics at (https://0\.0\.0\.0:(\d+)/metrics)", serve.lines[-1]
        )
        request = urllib.request.Request(f"https://127.0.0.1:{found[2]}/metrics")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(request, timeout=10, context=trusted)
        request.add_header("Authorization", "Bearer sesame")
        with urllib.request.urlopen(request, timeout=10, context=trusted) as answer:
            assert "\nmeshwright_workers 0\n" in answer.read().decode()
        with pytest.raises(OSError):
            scrape(f"127.0.0.1:{found[2]}")
        assert serve.end() == 0


def words_of(flags):
    return [word for pair in flags.items() for word in pair]


def test_nobody_there(cli, mlp):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        done = cli("worker", "--join", address, "--connect-timeout", 1)
        assert done.returncode == 3
        assert address in done.stderr and done.stderr.count("\n") == 1


def test_launch_is_a_coordinator_with_workers(cli, mlp, plans):
    flags = ("--cluster", "cpu:2", "--workers", 2)
    with Serve(*flags, command="launch") as launch:
        launch.wait_for("2 of 2 workers$")
        words = ("run", mlp, "--plan", plans[2], "--serve-at", launch.address)
        assert len(cli.json(*words, "--steps", 2)["loss"]) == 2
        pids = [
            re.search(r"pid (\d+)", line)[1] for line in launch.lines if "pid" in line
        ]
        with Process(*words, "--steps", 1_000_000) as run:
            run.wait_for("^step 3 ")
            os.kill(int(pids[0]), signal.SIGKILL)
            run.wait_for(r"^meshwright run: worker \d .* was killed by signal 9")
            assert run.wait() == 3
        launch.wait_for(r"^worker \d: killed by signal 9")
        assert launch.end() == 0
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_workers_of_another_coordinator(cli, mlp, plans):
    flags = ("--cluster", "cpu:2", "--join")
    with Serve() as serve, Process("launch", *flags, serve.address) as launch:
        serve.wait_for("has joined with 2 devices, cpu; 1 worker$")
        words = ("run", mlp, "--plan", plans[2], "--serve-at", serve.address)
        assert len(cli.json(*words, "--steps", 2)["loss"]) == 2
        assert serve.end() == 0
        assert launch.wait() == 0  # Its workers were told to end.


RAY = """#!/bin/sh
# Stands for Python with our package: one worker, here.
while [ "$1" != -- ]; do shift; done
shift
exec "$@" --rank 0
"""


def test_workers_on_ray(cli, mlp, plans, tmp_path):
    fake = tmp_path / "python"
    fake.write_text(RAY)
    fake.chmod(0o755)
    flags = ("--cluster", "cpu:2", "--ray", "auto", "--program", BINARY)
    env = {"MESHWRIGHT_PYTHON": str(fake)}
    with Serve(*flags, command="launch", env=env) as launch:
        launch.wait_for("1 of 1 worker$")
        words = ("run", mlp, "--plan", plans[2], "--serve-at", launch.address)
        assert len(cli.json(*words, "--steps", 2)["loss"]) == 2
        assert launch.end() == 0


def test_rank_0_of_a_launcher_runs_the_coordinator(cli, mlp, plans):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    env = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    words = ("worker", "--platform", "cpu")
    with (
        Process(*words, env=env | {"RANK": "1"}) as other,
        Process(*words, env=env | {"RANK": "0"}) as first,
    ):
        address = first.wait_for(r"^\[coordinator\] serving on (\S+); 0 of 2 workers")[
            1
        ]
        first.wait_for("2 of 2 workers$")
        run = ("run", mlp, "--plan", plans[2], "--serve-at", address, "--steps", 2)
        assert len(cli.json(*run)["loss"]) == 2
        # A second coordinator finds the port taken, and says so.
        with Process(*words, env=env | {"RANK": "0"}) as second:
            second.wait_for("^meshwright worker: the coordinator at .* exit code 2")
            assert second.wait() == 2
        first.end()
        assert other.wait() == 3


@pytest.mark.parametrize("workers", [0, 2])
def test_metrics_of_run(cli, mlp, plans, tmp_path, workers):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"before": 1}\n')
    words = ("run", mlp, "--plan", plans[2], "--steps", 3, "--metrics", path)
    done = cli.json(*words, *(("--workers", workers) if workers else ()))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {"before": 1}  # Appended.
    assert [line["loss"] for line in lines[1:]] == done["loss"]
    assert [line["seconds"] for line in lines[1:]] == done["step_seconds"]
    assert all(line["samples_per_second"] > 0 for line in lines[1:])
    known = [line["communication_bytes"] is not None for line in lines[1:]]
    assert known == [workers > 0] * 3
