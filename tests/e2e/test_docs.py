"""What the README, the tutorial and other pages show is what happens."""

import os
import re
import shutil
import sys

import doc_blocks
import pytest
from conftest import BINARY, ROOT

# The front door without its setup: it is tested by tests/tools. Of the demo's hundred
# steps the first show that it trains; with measured rates of programs that are not
# optimised, all planning after it takes four times as long.
DOOR = """#!/bin/sh
if [ "$1" = python ]; then shift; exec {python} "$@"; fi
if [ "$1" = demo ]; then
  {binary} "$@" --steps 20 --assumed > demo.txt || exit
  exec cat demo.txt
fi
exec {binary} "$@"
"""


@pytest.fixture
def folder(tmp_path, cli, monkeypatch):
    door = tmp_path / "mw"
    door.write_text(DOOR.format(python=sys.executable, binary=BINARY))
    door.chmod(0o755)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    # What sets flags of its own compiles as soon, too.
    monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    # Of the package's own tests, a warning would be a page that does not tell it.
    monkeypatch.setenv("PYTHONWARNINGS", "error::UserWarning")
    return tmp_path


def test_the_tutorial(folder):
    doc_blocks.run_page(ROOT / "docs" / "tutorial.md", folder, sys.executable)


def test_the_page_on_python(folder):
    doc_blocks.run_page(ROOT / "docs" / "python.md", folder, sys.executable)


def test_the_readme(folder):
    """With a script of one's own that takes little time."""
    shutil.copy(ROOT / "tests" / "models" / "mlp_chain.py", folder / "train.py")
    doc_blocks.run_page(ROOT / "README.md", folder, sys.executable)
    check_demo((folder / "demo.txt").read_text())


def check_demo(said):
    lines = re.findall(r"loss (\S+), on one device (\S+)", said)
    assert len(lines) == 11
    assert all(float(a) == pytest.approx(float(b), rel=1e-3) for a, b in lines)
    assert float(lines[0][0]) > 4.5 and float(lines[-1][0]) < 3.5
    assert "mesh " in said and "predicted" in said
    assert "2 workers with 8 virtual devices" in said
    assert "all 85 tensors are equal, bit by bit" in said


PAGE = """
```python
# made.py
print("made", 2.5, "here")
```

```console
$ {command}
{output}
```
"""
CASES = {
    "true": ("python made.py", "made 1.25 here", None),
    "any characters": ("python made.py", "ma...ere", None),
    "another word": ("python made.py", "made 2.5 there", "prints"),
    "too little": ("python made.py; echo more", "made 2.5 here", "prints"),
    "any lines": ("echo first; python made.py", "...\nmade 2.5 here", None),
    "a failure": ("python made.py; exit 3", "...", "exit 3"),
}


@pytest.mark.parametrize("case", CASES)
def test_pages_that_are_not_true_are_found(tmp_path, monkeypatch, case):
    command, output, complaint = CASES[case]
    folder = os.path.dirname(sys.executable)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(command=command, output=output))
    if complaint is None:
        doc_blocks.run_page(page, tmp_path, sys.executable)
        return
    with pytest.raises(AssertionError, match=rf"page.md:7: [\s\S]*{complaint}"):
        doc_blocks.run_page(page, tmp_path, sys.executable)
