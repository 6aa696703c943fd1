"""A real sshd: the unit tests of ssh_command.h, and workers that it starts."""

import json
import os
import re
import socket
import subprocess
from pathlib import Path

import pytest
from conftest import BUILT
from training import BINARY, assert_as_one_device, make_plan, train


def test_programs_run_and_end_on_the_other_side(ssh_host):
    env = {**os.environ, "MESHWRIGHT_TEST_SSH": ssh_host}
    done = subprocess.run(
        [BUILT / "launch/launch_test", "--gtest_filter=SshTest.*"],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "[  PASSED  ] 4 tests" in done.stdout


def ancestors(pid):
    """Names of the processes that it comes from."""
    names = set()
    while pid > 1:
        text = Path(f"/proc/{pid}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in text.splitlines())
        names.add(fields["Name"].removesuffix("-session"))
        pid = int(fields["PPid"])
    return names


@pytest.fixture
def own_address():
    """One that is not loopback's: where other hosts would find this one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # Nothing is sent.
        except OSError:
            pytest.skip("this machine has no network")
        return probe.getsockname()[0]


@pytest.fixture
def security(own_address, tmp_path):
    """Flags: a certificate that signs itself, and a token."""
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"]
    argv += ["ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    argv += ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    argv += ["-subj", "/CN=coordinator", "-addext", f"subjectAltName=IP:{own_address}"]
    subprocess.run(argv, check=True, capture_output=True)
    (tmp_path / "token").write_text("sesame\n")
    words = ["--tls-cert", tmp_path / "cert.pem", "--tls-key", tmp_path / "key.pem"]
    words += ["--tls-ca", tmp_path / "cert.pem", "--token-file", tmp_path / "token"]
    return words


def test_workers_on_other_hosts_train(ssh_host, own_address, security, tmp_path):
    cluster = tmp_path / "cluster.json"
    hosts = [{"address": f"far-{number}", "devices": 1} for number in (0, 1)]
    cluster.write_text(json.dumps({"device": {"kind": "cpu"}, "hosts": hosts}))
    plan = make_plan(tmp_path / "plan.json")
    # What the names of the hosts are, ssh knows.
    ssh = f"{ssh_host} -o HostName=127.0.0.1"
    words = ["--cluster", cluster, "--listen", f"{own_address}:0", "--ssh", ssh]
    words += ["--program", BINARY.resolve(), "--platform", "cpu", *security]
    launch = subprocess.Popen(
        [BINARY, "launch", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        address = re.match(r"serving on (\S+);", launch.stdout.readline())[1]
        on = ["--plan", plan, "--serve-at", address, *security]
        assert_as_one_device(train(tmp_path, *on), tmp_path)
        for _ in range(2):
            line = launch.stdout.readline()  # "worker 1 (pid 812 on h1) has joined ..."
            assert "sshd" in ancestors(int(re.search(r"\(pid (\d+) on", line)[1]))
    finally:
        launch.terminate()
        print(launch.communicate(timeout=30)[0])  # Shown when it fails.
    assert launch.returncode == 0
