"""Writing files: all or nothing, links and permissions kept, devices never replaced."""

import os
import stat
import subprocess
import sys
import threading

import pytest

from meshwright import files
from meshwright.errors import MeshwrightError
from meshwright.files import write_bytes, write_file

pytestmark = pytest.mark.one_jax


def test_a_link_stays_and_permissions_too(tmp_path):
    target = tmp_path / "real.hlo.pb"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link = tmp_path / "link.hlo.pb"
    link.symlink_to(target.name)
    write_file(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link.hlo.pb", "real.hlo.pb"]


def test_a_link_to_nothing_makes_its_target(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("fresh")
    write_bytes(link, b"1")
    assert link.is_symlink() and (tmp_path / "fresh").read_bytes() == b"1"


def test_pipes_and_devices_are_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_bytes(pipe, b"hello")
    reader.join()
    assert got == [b"hello"] and pipe.is_fifo()
    write_bytes("/dev/null", b"1")
    with pytest.raises(MeshwrightError, match="/dev/full: No space left on device"):
        write_bytes("/dev/full", b"1")
    assert all(stat.S_ISCHR(os.stat(f"/dev/{n}").st_mode) for n in ("null", "full"))


def test_standard_output_by_name(tmp_path):
    code = "from meshwright.files import write_bytes; write_bytes('/dev/stdout', b'x')"
    out = tmp_path / "out"
    out.write_bytes(b"before ")
    with open(out, "ab") as stream:
        subprocess.run([sys.executable, "-c", code], stdout=stream, check=True)
    assert out.read_bytes() == b"before x"


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("", "Is a directory"), ("no/x", "No such file"), ("file/x", "Not a directory")],
)
def test_mistakes_name_the_file(tmp_path, name, complaint):
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(MeshwrightError, match=complaint) as error:
        write_bytes(tmp_path / name, b"1")
    assert str(error.value).startswith(str(tmp_path / name))
    assert os.listdir(tmp_path) == ["file"]


def test_an_interrupted_write_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.write_bytes(b"old")

    def interrupt(fd):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]
