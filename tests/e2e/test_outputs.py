"""Files that commands write: what is there is respected, and a path that cannot be
written is found before the work."""

import json
import os
import stat
import subprocess
import threading

import pytest
from conftest import BINARY, seconds_of


@pytest.fixture(scope="module")
def plan(cli, mlp, tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    cli.json("plan", mlp, "--cluster", "cpu:4", "--assumed", "-o", path)
    return path


# By flag that names a file to write, the words around it. Each would work for hours.
def writers(mlp, plan):
    forever = ["--steps", 1_000_000_000]
    return {
        "plan --output": ["plan", mlp, "--cluster", "h200:64x8", "--assumed"],
        "partition --output": ["partition", mlp, "--plan", plan],
        "run --save": ["run", mlp, *forever],
        "run --metrics": ["run", mlp, *forever],
        "run --trace": ["run", mlp, "--stages", 2, "--micro-batches", 2, *forever],
        "simulate --csv": ["simulate", "--devices", 4, "--micro-batches", 1_000_000],
        "simulate --trace": ["simulate", "--devices", 4, "--micro-batches", 1_000_000],
        "profile --database": ["profile", "--calibrate", "--seconds", 3600],
        "scale --svg": ["scale", mlp, "--cluster", "h200:64x8", "--assumed"],
        "demo --database": ["demo"],
        "serve --metrics": ["serve"],
        "launch --metrics": ["launch", "--cluster", "cpu:2"],
    }


WRITERS = list(writers("", ""))
FOLDERS = {"plan --dump", "scale --output"}  # See test_dump.py, test_scale.py.


def test_no_flag_that_writes_is_left_out(cli):
    """Help says `write`, or what a database is for."""
    found = set()
    for command in cli("--help").stdout.split("\n\n")[2].splitlines():
        name = command.split()[0]
        for line in cli(name, "--help").stdout.splitlines():
            flag = line.strip().split(" ")[0]
            says = "write" in line or flag == "--trace"
            if says or (flag == "--database" and name not in ("plan", "scale")):
                found.add(f"{name} {flag}")
    assert found == set(WRITERS) | FOLDERS


@pytest.mark.parametrize("which", WRITERS)
@pytest.mark.parametrize(
    "what", ["folder", "no folder", "under a file", "astray", "empty"]
)
def test_bad_paths_are_found_before_the_work(cli, mlp, plan, tmp_path, which, what):
    flag = which.split()[1]
    (tmp_path / "file").write_text("mine")
    (tmp_path / "astray").symlink_to("none/x")
    path = {
        "folder": tmp_path,
        "no folder": tmp_path / "none" / "x",
        "under a file": tmp_path / "file" / "x",
        "astray": tmp_path / "astray",
        "empty": "",
    }[what]
    if flag == "--database" and what in ("no folder", "astray"):
        pytest.skip("a database makes its folder")
    seconds, line = seconds_of(
        lambda: cli.refuses(*writers(mlp, plan)[which], flag, path)
    )
    assert seconds < 2  # The work takes longer.
    culprit = path.parent if (flag, what) == ("--database", "under a file") else path
    assert str(culprit) in line
    if flag != "--database":
        assert f"{flag} " in line
    assert (tmp_path / "file").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["astray", "file"]


def test_a_link_stays_a_link(cli, mlp, tmp_path):
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "plan.json"
    target.write_text("old")
    target.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to("real/plan.json")
    cli.json("plan", mlp, "--cluster", "cpu:2", "--assumed", "-o", link)
    assert link.is_symlink()
    assert json.loads(target.read_text())["cluster"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert os.listdir(tmp_path / "real") == ["plan.json"]


def test_devices_and_pipes_are_written_to(cli, mlp, tmp_path):
    words = ("plan", mlp, "--cluster", "cpu:2", "--assumed", "-o")
    assert cli(*words, "/dev/null").returncode == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    full = cli(*words, "/dev/full")
    assert full.returncode == 2
    assert full.stderr == "meshwright plan: /dev/full: No space left on device\n"
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    assert cli(*words, pipe).returncode == 0
    reader.join()
    assert json.loads(got[0])["cluster"]
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_by_name(mlp, tmp_path, name):
    """After a redirection it is a file, that must not be begun anew or replaced."""
    out = tmp_path / "out"
    out.write_text("before\n")
    argv = [BINARY, "plan", mlp, "--cluster", "cpu:2", "--assumed", "-o", name]
    with open(out, "a") as stream:
        subprocess.run(argv, stdout=stream, check=True)
    text = out.read_text()
    assert text.startswith("before\n{")
    _, end = json.JSONDecoder().raw_decode(text, len("before\n"))
    assert "predicted" in text[end:]  # What the command prints.


@pytest.mark.parametrize(
    "words",
    [
        "plan {mlp} --cluster cpu:2 -o {mlp}",
        "partition {mlp} --plan {plan} -o {plan}",
        "run {mlp} --inputs {mlp} --save {mlp}",
        "simulate --devices 2 --micro-batches 2 --csv {new} --trace {new}",
    ],
)
def test_nothing_that_is_read_is_lost(cli, mlp, plan, tmp_path, words):
    line = words.format(mlp=mlp, plan=plan, new=tmp_path / "new").split()
    before = mlp.read_bytes(), plan.read_bytes()
    assert " too" in cli.refuses(*line)
    assert (mlp.read_bytes(), plan.read_bytes()) == before


def test_the_file_behind_standard_output_is_not_replaced(mlp, tmp_path):
    out = tmp_path / "out"
    argv = [BINARY, "plan", mlp, "--cluster", "cpu:2", "--assumed", "-o", out]
    with open(out, "w") as stream:
        done = subprocess.run(
            argv, stdout=stream, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert "standard output goes to the same file" in done.stderr


def test_state_may_be_saved_where_it_was_read(cli, mlp, tmp_path):
    state = tmp_path / "state.safetensors"
    cli.json("run", mlp, "--steps", 2, "--save", state)
    first = state.read_bytes()
    cli.json("run", mlp, "--steps", 2, "--inputs", state, "--save", state)
    assert state.read_bytes() != first
    assert os.listdir(tmp_path) == ["state.safetensors"]


def test_a_read_only_file_is_not_replaced(cli, mlp, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everything")
    path = tmp_path / "plan.json"
    path.write_text("mine")
    path.chmod(0o400)
    assert "Permission denied" in cli.refuses(
        "plan", mlp, "--cluster", "cpu:2", "-o", path
    )
    assert path.read_text() == "mine"
