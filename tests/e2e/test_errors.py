"""docs/errors.md: every command shown there ends in the line shown, exit code 2.

A block is a command after "$ meshwright" and the line it prints on stderr, in which
"..." stands for what varies. The commands run in a folder with the files that
`error_files.py` makes.
"""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from conftest import BINARY, ROOT
from error_files import make_files

BLOCK = re.compile(r"^    \$ meshwright (.+)\n    (.+)\n", re.MULTILINE)
TEXT = (ROOT / "docs/errors.md").read_text()
CASES = BLOCK.findall(TEXT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, mlp):
    path = tmp_path_factory.mktemp("errors")
    make_files(path, mlp, BINARY)
    return path


def test_blocks_are_all_read():
    """No command is left out because its block has another form."""
    assert len(CASES) == TEXT.count("$ meshwright") and len(CASES) > 100
    assert len({command for command, _ in CASES}) == len(CASES)


@pytest.mark.parametrize(("command", "line"), CASES, ids=[c for c, _ in CASES])
def test_error(folder, command, line):
    before = sorted(os.listdir(folder))
    done = subprocess.run(
        [BINARY, *shlex.split(command)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env=os.environ | {"XDG_CACHE_HOME": str(folder / "cache")},
    )
    assert done.stdout == "", done.stdout
    assert done.stderr.count("\n") == 1, done.stderr
    shown = ".*".join(map(re.escape, line.split("...")))
    assert re.fullmatch(shown, done.stderr[:-1]), done.stderr
    assert done.returncode == 2
    assert sorted(os.listdir(folder)) == before, "something was left behind"


# What every kind of file is not: each command that reads one says so.
WRONG = ["empty", "notes.txt", "broken.json", "other.json", "noise.bin", "w.safetensors",
         "w.npz", "rates.db", "step.hlo.pb.zst", "plan.json", "cluster.json", "pins.json",
         "stages.json", "problem.json", "train.json", "order.csv", "folder", "nowhere"]  # fmt: skip
READERS = {
    "step.hlo.pb.zst": ["inspect {}", "plan {} --cluster cpu:2", "run {}",
                        "check {} --mesh data=2", "partition {} --mesh data=2"],
    "plan.json": ["explain {} --module mlp.hlo.pb", "simulate {}",
                  "check mlp.hlo.pb --plan {}", "run mlp.hlo.pb --plan {}",
                  "partition mlp.hlo.pb --plan {}"],
    "cluster.json": ["plan mlp.hlo.pb --cluster {}"],
    "pins.json": ["plan mlp.hlo.pb --cluster cpu:2 --pin {}",
                  "partition mlp.hlo.pb --sharding {}"],
    "stages.json": ["check mlp.hlo.pb --stages {}"],
    "order.csv": ["simulate --timetable {}"],
    "w.safetensors": ["run mlp.hlo.pb --inputs {}"],
    "rates.db": ["plan mlp.hlo.pb --cluster cpu:2 --database {}",
                 "profile --database {}"],
    "problem.json": ["solve {}"],
}  # fmt: skip
INTERNAL = re.compile(r"json\.exception|no such table|format (0|null)|\[|\bproto\b")


@pytest.mark.parametrize("kind", READERS)
def test_files_of_the_wrong_kind(folder, kind):
    """Whatever is given instead is named in words, and what was expected."""
    for name in WRONG:
        same = name == kind or {name, kind} == {"w.npz", "w.safetensors"}
        if same:
            continue
        for reader in READERS[kind]:
            done = subprocess.run(
                [BINARY, *reader.format(name).split()],
                check=False, capture_output=True, text=True, timeout=60, cwd=folder,
            )  # fmt: skip
            told = (reader, name, done.stderr)
            assert done.returncode == 2, told
            assert done.stdout == "" and done.stderr.count("\n") == 1, told
            assert name in done.stderr, told
            assert not INTERNAL.search(done.stderr), told
            if name in ("folder", "nowhere"):
                continue
            assert re.search(r"this is .*, not an? |empty|convert it|no name|"
                             r"not a serialized|unknown key|needs \"hosts\"|no mesh|"
                             r"no list \"stages\"|problem|not valid JSON|not JSON|is no action|"
                             r"safetensors|says nothing|is no mesh", done.stderr), told  # fmt: skip


def test_every_reader_takes_what_it_should(folder):
    """The other side: the files that are right are read."""
    for command in (
        "inspect step.hlo.pb.zst",
        "plan mlp.hlo.pb --cluster cluster.json --assumed --mesh data=2",
        "check mlp.hlo.pb --plan plan.json",
        "partition mlp.hlo.pb --sharding pins.json",
        "check mlp.hlo.pb --stages stages.json",
        "simulate --timetable order.csv",
        "run mlp.hlo.pb --inputs w.safetensors --steps 1",
        "run mlp.hlo.pb --data train.json --steps 3",
        "profile --database rates.db",
        "solve problem.json --time-limit 1",
    ):
        done = subprocess.run([BINARY, *command.split()], check=False,
                              capture_output=True, text=True, cwd=folder)  # fmt: skip
        assert done.returncode == 0, (command, done.stderr)


def test_the_page_names_its_files(folder):
    """Files that commands of the page use are explained at its top."""
    top = TEXT[: TEXT.index("    $ meshwright")]
    names = set(re.findall(r"[\w.-]+\.(?:hlo\.pb(?:\.zst)?|json|csv|db|npz|safetensors)",
                           "\n".join(command for command, _ in CASES)))  # fmt: skip
    present = {path.name for path in Path(folder).iterdir()}
    for name in sorted(names & present):
        assert f"`{name}`" in top, name
