"""The processor time of tests, with that of all processes that they start."""

import os
import re
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"
BUSY = "import time\\nwhile time.process_time() < 0.3: pass"
TESTS = f"""
import os, subprocess, sys, time

def test_a_child():
    subprocess.run([sys.executable, "-c", "{BUSY}"], check=True)

def test_one_that_still_runs():
    child = subprocess.Popen([sys.executable, "-c", "{BUSY}\\nprint(1, flush=True)\\ninput()"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()

def test_waiting():
    assert "PYTHONPATH" not in os.environ
    time.sleep(0.3)
"""


def test_children_count_and_waiting_does_not(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    argv = [sys.executable, "-m", "pytest", "-p", "mw.processor_times", "test_it.py"]
    done = subprocess.run(
        [*argv, "-n", "1", "--dist", "loadfile", "-p", "no:cacheprovider"],
        env=os.environ | {"PYTHONPATH": str(TOOLS)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    found = dict(
        (name, float(seconds))
        for seconds, name in re.findall(r" ([\d.]+)s test_it.py::(\w+)", done.stdout)
    )
    assert 0.25 < found["test_a_child"] < 1
    assert 0.25 < found["test_one_that_still_runs"] < 1
    assert found["test_waiting"] < 0.2
