"""Real launchers on this machine, for tests of what runs under them."""

import getpass
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import slurm
from daemons import Daemons, await_true, free_ports

BUILT = ROOT / "build/release/meshwright"


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes minutes; left out by default")


@pytest.fixture(scope="session")
def rank_probe():
    """Prints what a process finds out about its rank, as a line of JSON."""
    path = BUILT / "launch/rank_probe"
    assert path.exists(), f"{path} is not built"
    return path


@pytest.fixture(scope="session")
def short_folder():
    """Sockets have paths of at most 107 characters."""
    with tempfile.TemporaryDirectory(prefix="mw.") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def slurm_cluster(short_folder):
    """Two nodes; see slurm.py."""
    absent = slurm.missing()
    if absent:
        pytest.skip(absent)
    folder = short_folder / "slurm"
    folder.mkdir()
    with slurm.SlurmCluster(folder) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def mpirun():
    """`mpirun("-np", 2, program)`: what it printed; fails if it does."""
    if not shutil.which("mpirun"):
        pytest.skip("not installed: mpirun")
    version = subprocess.check_output(["mpirun", "--version"], text=True)
    if "Open MPI" not in version:
        pytest.skip("mpirun is not Open MPI's")

    def run(*words, env=None):
        as_root = ["--allow-run-as-root"] if getpass.getuser() == "root" else []
        argv = ["mpirun", *as_root, "--oversubscribe", *map(str, words)]
        done = subprocess.run(
            argv,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


class RayCluster:
    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, HERE / "ray_nodes.py"],
            env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.address = self._process.stdout.readline().strip()
        assert self.address, "Ray did not start"

    def remove_second_node(self) -> None:
        self._process.stdin.write("remove\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline().strip() == "removed"

    def stop(self) -> None:
        self._process.stdin.close()
        self._process.wait(timeout=60)


@pytest.fixture(scope="session")
def ray_cluster():
    """Two nodes of one CPU; `.address` is what drivers connect to."""
    if not importlib.util.find_spec("ray"):
        pytest.skip("not installed: the Python package ray")
    cluster = RayCluster()
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def ssh_host(short_folder):
    """A command line of ssh that gets to this machine by a real sshd, without the host."""
    sshd = shutil.which("sshd", path=slurm.search_path())
    if not sshd or not shutil.which("ssh"):
        pytest.skip("not installed: sshd")
    folder = short_folder / "ssh"
    folder.mkdir(mode=0o700)
    for name in ("host_key", "user_key"):
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name]
        subprocess.run(argv, check=True)
    (folder / "authorized_keys").write_text((folder / "user_key.pub").read_text())
    [port] = free_ports(1)
    if getpass.getuser() == "root":
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd insists on it.
    settings = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": folder / "host_key",
        "PidFile": folder / "sshd.pid",
        "AuthorizedKeysFile": folder / "authorized_keys",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
    }
    config = folder / "sshd_config"
    config.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    daemons = Daemons(folder)
    daemons.start("sshd", sshd, "-D", "-e", "-f", config)
    options = {
        "Port": port,
        "IdentityFile": folder / "user_key",
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": folder / "known_hosts",
        "StrictHostKeyChecking": "accept-new",
        "LogLevel": "ERROR",
    }
    words = ["ssh", "-F", "none"]
    for name, value in options.items():
        words += ["-o", f"{name}={value}"]
    probe = [*words, "-o", "BatchMode=yes", "127.0.0.1", "true"]

    def answers():
        daemons.check()
        done = subprocess.run(probe, capture_output=True, check=False)
        return done.returncode == 0

    try:
        await_true(answers, "sshd")
        yield shlex.join(words)
    finally:
        daemons.stop()


def ranks(output: str) -> list[dict]:
    """What rank probes printed, by rank."""
    found = [json.loads(line) for line in output.splitlines()]
    return sorted(found, key=lambda probe: probe["rank"])
