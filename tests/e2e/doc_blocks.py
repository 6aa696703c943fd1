"""Runs the blocks of a Markdown page in order, as a reader would.

- A `python` block that begins with a comment `# name.py` is written to that file; any
  other is run, after those before it, by one interpreter.
- A `console` block holds commands, `$ command`, and what they print. A line `...`
  stands for any lines, `...` inside a line for any characters. A number stands for any
  number, since times and machines differ, and so does any run of spaces. A block without
  a single line of output says nothing about it. A command may end in ` \\`.
- Other blocks are not run.
"""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^# ([\w./-]+\.py)\n")
_NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"


@dataclass(frozen=True)
class Block:
    kind: str
    text: str
    line: int  # Of its fence in the page.


@dataclass(frozen=True)
class Command:
    text: str
    output: list[str]


def blocks(page: str) -> Iterator[Block]:
    for match in _FENCE.finditer(page):
        line = page.count("\n", 0, match.start()) + 1
        yield Block(match[1], match[2], line)


def commands(text: str) -> list[Command]:
    """
    >>> commands("$ ls \\\\\\n    -a\\n.\\n..\\n$ cd\\n")
    [Command(text='ls -a', output=['.', '..']), Command(text='cd', output=[])]
    """
    found: list[Command] = []
    for line in re.sub(r" \\\n\s*", " ", text).splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:].partition("  #")[0].strip(), []))
        elif not found:
            raise ValueError(
                f"a console block begins with {line!r}, not with a command"
            )
        else:
            found[-1].output.append(line)
    return found


def matches(expected: list[str], got: str) -> bool:
    """
    >>> matches(["loss 1.5 ... ms", "...", "end"], "loss 2.25 in  3 ms\\nmore\\nend\\n")
    True
    >>> matches(["loss 1.5", "end"], "loss 2.25\\nmore\\nend\\n")
    False
    """
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == "..." else f"{_line(line)}\n"
        for line in expected
    )
    lines = "".join(f"{line.rstrip()}\n" for line in got.splitlines())
    return re.fullmatch(pattern, lines) is not None


def _line(line: str) -> str:
    parts = re.split(rf"(\.\.\.|{_NUMBER}|\s+)", line.rstrip())
    patterns = {"...": ".*"}
    return "".join(
        patterns.get(part)
        or (_NUMBER if re.fullmatch(_NUMBER, part) else None)
        or (r"\s+" if part.isspace() else re.escape(part))
        for part in parts
        if part
    )


def run_page(path: Path, folder: Path, python: str) -> None:
    """Raises AssertionError, naming page and line, where the page is not true."""
    script = ""
    for block in blocks(path.read_text()):
        where = f"{path.name}:{block.line}"
        named = _FILE.match(block.text)
        if block.kind == "python" and named:
            (folder / named[1]).write_text(block.text)
        elif block.kind == "python":
            script += block.text
            (folder / "page.py").write_text(script)
            _run([python, "page.py"], folder, where)
        elif block.kind == "console":
            for command in commands(block.text):
                got = _run(["bash", "-c", command.text], folder, where)
                assert not command.output or matches(command.output, got), (
                    f"{where}: `{command.text}` prints\n{got}\nnot\n"
                    + "\n".join(command.output)
                )


def _run(argv: list[str], folder: Path, where: str) -> str:
    done = subprocess.run(
        argv, cwd=folder, capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode == 0, (
        f"{where}: {argv[-1]}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    )
    return done.stdout
