"""Workers that launchers start: rank 0 runs the coordinator, a client trains."""

import os
import socket
import subprocess

import pytest
from training import BINARY, assert_as_one_device, make_plan, train_at


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    return make_plan(tmp_path_factory.mktemp("plan") / "plan.json")


@pytest.fixture
def address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def check(words, plan, address, folder, launcher, **options):
    """What the launcher starts trains as one device does."""
    job = subprocess.Popen(
        list(map(str, words)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    try:
        got = train_at(address, plan, folder)
    finally:
        job.terminate()
        said = job.communicate(timeout=30)[1]
    assert_as_one_device(got, folder)
    assert f"rank 1 of 2, from {launcher}" in said


@pytest.mark.usefixtures("mpirun")
def test_open_mpi(plan, address, tmp_path):
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    words = ["mpirun", *as_root, "--oversubscribe", "-np", 2]
    words += ["-x", f"MESHWRIGHT_COORDINATOR={address}"]
    words += [BINARY, "worker", "--platform", "cpu"]
    check(words, plan, address, tmp_path, "Open MPI")


def test_slurm(slurm_cluster, plan, address, tmp_path):
    words = ["srun", "-N", 2, "--ntasks-per-node", 1]
    words += [BINARY, "worker", "--platform", "cpu"]
    environment = {**slurm_cluster.env, "MESHWRIGHT_COORDINATOR": address}
    options = {"env": environment, "cwd": slurm_cluster.folder}
    check(words, plan, address, tmp_path, "Slurm", **options)
