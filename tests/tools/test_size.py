"""tools/size.py counts lines, keeps the caps and shrinks its allow-list."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "size.py"


def size(root: Path, *args: str) -> subprocess.CompletedProcess:
    argv = [sys.executable, SCRIPT, "--root", root, *args]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def write(root: Path, name: str, lines: int) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("// x\n" * lines)


def allow(root: Path, *names: str) -> None:
    (root / "tools").mkdir(exist_ok=True)
    (root / "tools" / "size_allow.txt").write_text("# Shrinks.\n" + "\n".join(names))


def commit_all(root: Path) -> None:
    git = ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@t"]
    for args in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
        subprocess.run([*git, *args], check=True)


@pytest.mark.parametrize(
    "name, cap",
    [
        ("meshwright/hlo/shape.h", 200),
        ("meshwright/hlo/shape.cc", 500),
        ("meshwright/hlo/shape_test.cc", 500),
        ("python/meshwright/lowering.py", 500),
    ],
)
def test_a_file_above_its_cap_fails(tmp_path, name, cap):
    write(tmp_path, name, cap)
    assert size(tmp_path).returncode == 0
    write(tmp_path, name, cap + 1)
    answer = size(tmp_path)
    assert answer.returncode == 1
    assert f"{name}:{cap + 1}: {cap + 1} lines, the cap for a" in answer.stdout


def test_a_listed_file_may_be_longer(tmp_path):
    write(tmp_path, "meshwright/hlo/shape.h", 201)
    allow(tmp_path, "meshwright/hlo/shape.h")
    assert size(tmp_path).returncode == 0


def test_a_listed_file_within_the_cap_fails(tmp_path):
    write(tmp_path, "meshwright/hlo/shape.h", 200)
    allow(tmp_path, "meshwright/hlo/shape.h")
    answer = size(tmp_path)
    assert answer.returncode == 1
    assert "shape.h has 200 lines, within the cap; remove its line" in answer.stdout


def test_a_listed_file_that_is_gone_fails(tmp_path):
    allow(tmp_path, "meshwright/hlo/shape.h")
    answer = size(tmp_path)
    assert answer.returncode == 1
    assert "shape.h is gone; remove its line" in answer.stdout


def test_a_new_entry_since_the_base_fails(tmp_path):
    allow(tmp_path)
    commit_all(tmp_path)
    write(tmp_path, "meshwright/hlo/shape.h", 201)
    allow(tmp_path, "meshwright/hlo/shape.h")
    answer = size(tmp_path, "--base", "HEAD")
    assert answer.returncode == 1
    assert "meshwright/hlo/shape.h was added; split it" in answer.stdout


def test_base_shows_the_change_per_folder_and_file(tmp_path):
    write(tmp_path, "meshwright/hlo/shape.h", 50)
    write(tmp_path, "meshwright/plan/plan.h", 30)
    commit_all(tmp_path)
    write(tmp_path, "meshwright/hlo/shape.h", 60)
    (tmp_path / "meshwright/plan/plan.h").unlink()
    answer = size(tmp_path, "--base", "HEAD", "--files")
    assert answer.returncode == 0
    assert answer.stdout.split("\n") == [
        "    +10   meshwright/hlo/shape.h (60)",
        "    -30   meshwright/plan/plan.h (0)",
        "    +10 meshwright/hlo/",
        "    -30 meshwright/plan/",
        "    -20 total",
        "",
    ]


def test_long_functions_are_advice_only(tmp_path):
    body = "  Work();\n" * 80
    source = tmp_path / "meshwright" / "hlo" / "shape.cc"
    source.parent.mkdir(parents=True)
    source.write_text(f"namespace meshwright {{\n\nvoid Long() {{\n{body}}}\n\n}}\n")
    answer = size(tmp_path)
    assert answer.returncode == 0
    assert "shape.cc:3: a function of 82 lines" in answer.stdout
