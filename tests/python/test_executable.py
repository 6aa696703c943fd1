"""Which `meshwright` program the package runs."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from meshwright import MeshwrightError, executable

pytestmark = pytest.mark.one_jax


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package elsewhere, with nothing around it and nothing on the PATH."""
    monkeypatch.delenv("MESHWRIGHT_BIN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    folder = tmp_path / "packages" / "meshwright"
    monkeypatch.setattr(executable, "__file__", str(folder / "executable.py"))
    return folder


def test_the_program_is_named_of_the_package_or_on_the_path(
    package, tmp_path, monkeypatch
):
    with pytest.raises(MeshwrightError, match="no meshwright program"):
        executable.find_program()
    on_the_path = program(tmp_path / "path" / "meshwright")
    assert executable.find_program() == str(on_the_path)
    own = program(package / "bin" / "meshwright")
    assert executable.find_program() == str(own)
    named = program(tmp_path / "named")
    monkeypatch.setenv("MESHWRIGHT_BIN", str(named))
    assert executable.find_program() == str(named)


def test_the_command_of_this_environment_does_not_run_itself(
    package, tmp_path, monkeypatch
):
    scripts = tmp_path / "scripts"
    command = program(scripts / "meshwright")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(scripts))
    link = tmp_path / "path" / "meshwright"
    link.parent.mkdir()
    link.symlink_to(command)
    monkeypatch.setenv("PATH", f"{scripts}:{tmp_path / 'path'}")
    with pytest.raises(MeshwrightError, match="no meshwright program"):
        executable.find_program()


def test_the_command_becomes_the_program(tmp_path):
    shown = program(tmp_path / "shown", '#!/bin/sh\necho "$@"; exit 3\n')
    code = "from meshwright.executable import main; main()"
    argv = [sys.executable, "-c", code, "plan", "two words"]
    env = {"MESHWRIGHT_BIN": str(shown)}
    answer = subprocess.run(
        argv, stdout=subprocess.PIPE, text=True, env=env, check=False
    )
    assert (answer.stdout, answer.returncode) == ("plan two words\n", 3)
