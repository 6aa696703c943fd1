"""Workers that launchers start: rank 0 runs the coordinator, a client trains."""

import os
import re
import socket
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(
    os.environ.get("MESHWRIGHT_BIN", ROOT / "build/release/meshwright/cli/meshwright")
)
STEP = ROOT / "tests/e2e/small_step.hlo"


def run(*words):
    return subprocess.run(
        [BINARY, *map(str, words)],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    run("plan", STEP, "--cluster", "cpu:2", "--strategy", "dp", "--assumed", "-o", path)
    return path


@pytest.fixture
def address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def train(address, plan):
    """Three steps through the coordinator, once both workers are there."""
    end = time.time() + 60
    while True:
        try:
            return run("run", STEP, "--plan", plan, "--steps", 3, "--serve-at", address)
        except subprocess.CalledProcessError as error:
            if time.time() > end:
                pytest.fail(error.stderr)
            time.sleep(0.5)


def losses(text):
    return re.findall(r"loss (\S+)", text)


def check(words, plan, address, launcher, **options):
    """What the launcher starts trains as one device does."""
    job = subprocess.Popen(
        list(map(str, words)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    try:
        got = train(address, plan)
    finally:
        job.terminate()
        said = job.communicate(timeout=30)[1]
    assert losses(got) == losses(run("run", STEP, "--steps", 3))
    assert f"rank 1 of 2, from {launcher}" in said


@pytest.mark.usefixtures("mpirun")
def test_open_mpi(plan, address):
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    words = ["mpirun", *as_root, "--oversubscribe", "-np", 2]
    words += ["-x", f"MESHWRIGHT_COORDINATOR={address}"]
    words += [BINARY, "worker", "--platform", "cpu"]
    check(words, plan, address, "Open MPI")


def test_slurm(slurm_cluster, plan, address):
    words = ["srun", "-N", 2, "--ntasks-per-node", 1]
    words += [BINARY, "worker", "--platform", "cpu"]
    environment = {**slurm_cluster.env, "MESHWRIGHT_COORDINATOR": address}
    check(words, plan, address, "Slurm", env=environment, cwd=slurm_cluster.folder)
