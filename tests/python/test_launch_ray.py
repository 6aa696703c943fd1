"""What Ray's actors do with a worker's process; tests/launchers has a real Ray."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from meshwright.launch_ray import Process, main

pytestmark = pytest.mark.one_jax


def ended(process: Process) -> tuple[list[str], int]:
    lines = []
    while True:
        more, code = process.poll(1.0)
        lines += more
        if code is not None:
            return lines, code


def test_lines_and_exit_codes_come_back():
    script = "echo one; echo $A >&2; exit 3"
    process = Process(["sh", "-c", script], {"A": "two"})
    assert ended(process) == (["one", "two"], 3)
    assert ended(Process(["sh", "-c", "kill -9 $$"], {})) == ([], -9)


def test_a_program_that_is_not_there():
    lines, code = ended(Process(["/nowhere/meshwright"], {}))
    assert (lines, code) == (["/nowhere/meshwright: No such file or directory"], 127)


def test_polling_a_silent_one_returns_in_time():
    process = Process(["sleep", "60"], {})
    start = time.monotonic()
    assert process.poll(0.1) == ([], None)
    assert time.monotonic() - start < 30
    process.stop()
    assert ended(process) == ([], -15)


def test_stopping_ends_what_it_started():
    process = Process(["sh", "-c", "sleep 60 & echo $!; wait"], {})
    lines, code = process.poll(30)
    assert code is None
    process.stop()
    deadline = time.monotonic() + 30
    while is_running(int(lines[0])):
        assert time.monotonic() < deadline


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return ") Z" not in stat  # A zombie is somebody else's to reap.


def test_without_ray_one_line_says_so(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["--workers", "2", "--", "true"]) == 2
    line = capsys.readouterr().err
    assert "--ray needs the Python package ray: " in line and line.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--workers", "2"], "no command after --"),
        (["--workers", "0", "--", "true"], "--workers must be at least 1"),
        (["--", "true"], "--workers"),
    ],
)
def test_mistakes_are_named(words, expected):
    argv = [sys.executable, "-m", "meshwright.launch_ray", *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and expected in done.stderr
