"""What the package says of versions, of itself and of others, is so."""

import re
import subprocess
import tomllib

import pytest
from mw import dist
from mw.paths import ROOT, VENV

PROJECT = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())["project"]
OLDEST = PROJECT["requires-python"].removeprefix(">=")


def vermin(path) -> subprocess.CompletedProcess:
    """Fails for what an older Python than OLDEST has not."""
    argv = [VENV / "bin" / "vermin", f"-t={OLDEST}-", "--no-tips", "-vv"]
    return subprocess.run([*argv, path], capture_output=True, text=True, check=False)


def test_the_package_runs_on_the_oldest_python_that_it_names(tmp_path):
    answer = vermin(ROOT / "python" / "meshwright")
    assert answer.returncode == 0, answer.stdout
    newer = tmp_path / "newer.py"
    newer.write_text("import tomllib\n")
    assert vermin(newer).returncode != 0


def test_package_and_program_have_one_version():
    assert PROJECT["version"] == dist.version()


@pytest.mark.parametrize("name", ["highspy", "xla-cpu-pjrt"])
def test_the_package_brings_what_the_program_is_tested_with(name):
    pins = (ROOT / "python" / "requirements-runtime.txt").read_text()
    (pinned,) = re.findall(rf"^{name}==.*$", pins, re.MULTILINE)
    assert pinned in PROJECT["dependencies"]
