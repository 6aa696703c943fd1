"""The unit tests of ssh_command.h by a real sshd."""

import os
import subprocess

from conftest import BUILT


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
