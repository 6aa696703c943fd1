"""Workers on the nodes of a real Ray cluster."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from daemons import await_true
from training import BINARY, assert_as_one_device, make_plan, train_at

pytestmark = pytest.mark.long


def start(cluster, *words):
    argv = [sys.executable, "-m", "meshwright.launch_ray", "--address"]
    return subprocess.Popen(
        [*argv, cluster.address, *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def launch(cluster, *words):
    process = start(cluster, *words)
    out, err = process.communicate(timeout=120)
    assert out == ""
    return process.returncode, err.splitlines()


def two(*words):
    """Two workers that run this line of sh; $1 is the rank."""
    return ("--workers", 2, "--", "sh", "-c", *words)


def pids(folder: Path) -> list[int]:
    """Of workers that have written theirs."""
    found = [path.read_text() for path in folder.glob("pid.*")]
    return [int(text) for text in found if text.strip()]


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return ") Z" not in stat


def test_one_worker_per_host(ray_cluster):
    code, lines = launch(ray_cluster, *two("echo rank $1; sleep 1"))
    assert code == 0
    assert sorted(lines) == ["[worker 0] rank 0", "[worker 1] rank 1"]


def test_variables_reach_the_workers(ray_cluster):
    code, lines = launch(ray_cluster, "--env", "A=x y=z", *two("echo $A"))
    assert code == 0 and sorted(lines) == ["[worker 0] x y=z", "[worker 1] x y=z"]


def test_the_worst_exit_code_counts(ray_cluster):
    code, lines = launch(ray_cluster, *two("[ $1 = 0 ] && exit 5; kill -9 $$"))
    assert code == 137
    ends = sorted(line.split(": ")[-1] for line in lines)
    assert ends == ["exit code 5", "killed by signal 9"]


def test_a_program_that_is_not_there(ray_cluster):
    code, lines = launch(ray_cluster, "--workers", 1, "--", "/nowhere/meshwright")
    assert code == 127
    assert lines[0] == "[worker 0] /nowhere/meshwright: No such file or directory"


def test_too_few_hosts_is_one_line(ray_cluster):
    code, lines = launch(ray_cluster, "--workers", 3, "--", "true")
    assert code == 2
    [line] = lines
    assert "3 workers need as many hosts with 1 CPU each; the Ray cluster has 2" in line
    code, lines = launch(ray_cluster, "--workers", 1, "--gpus", 8, "--", "true")
    assert code == 2 and len(lines) == 1 and "1 CPU and 8 GPU" in lines[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_launcher(ray_cluster, tmp_path, number):
    line = f"echo $$ > {tmp_path}/pid.$1; while :; do sleep 0.2; done"
    process = start(ray_cluster, *two(line))
    await_true(lambda: len(pids(tmp_path)) == 2, "two workers", 60)
    process.send_signal(number)
    process.communicate(timeout=60)
    expected = -number if number == signal.SIGKILL else 128 + number
    assert process.returncode == expected
    await_true(lambda: not any(map(is_running, pids(tmp_path))), "their ends", 60)


def test_workers_train(ray_cluster, tmp_path):
    """One on each node; `meshwright launch` is their coordinator."""
    words = ["--listen", "127.0.0.1:0", "--cluster", "cpu:2", "--workers", "2"]
    words += ["--ray", ray_cluster.address, "--program", BINARY]
    python = {"MESHWRIGHT_PYTHON": sys.executable, "PYTHONPATH": str(ROOT / "python")}
    job = subprocess.Popen(
        [BINARY, "launch", *map(str, words)],
        env={**os.environ, **python},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        address = re.match(r"serving on (\S+);", job.stdout.readline())[1]
        trained = train_at(address, make_plan(tmp_path / "plan.json"), tmp_path)
    finally:
        job.terminate()
        said, errors = job.communicate(timeout=60)
    assert said.count(" has joined with 1 device, cpu; ") == 2, errors
    assert_as_one_device(trained, tmp_path)
    assert job.returncode == 0, errors


def test_a_lost_host_is_named(ray_cluster, tmp_path):
    """Last: it takes a node away."""
    line = f"echo $$ > {tmp_path}/pid.$1; sleep 8"
    process = start(ray_cluster, *two(line))
    await_true(lambda: len(pids(tmp_path)) == 2, "two workers", 60)
    ray_cluster.remove_second_node()
    _, err = process.communicate(timeout=120)
    assert process.returncode == 3, err
    [lost] = [text for text in err.splitlines() if "lost" in text]
    assert "on 127.0.0.3: lost: " in lost
