"""Tests that are one file each: an HLO module, what to run on it, what to expect.

    runner.py [--update] [FILE...]      without FILE, all of this folder

Lines of a test that begin with `//` and a word in capitals say what happens, in order:

    // RUN: COMMAND        a command of the CLI; %s is this file, %t a folder of
                           its own. It exits with 0; `RUN(2):` with 2
    // FILE: NAME          the lines `//| ...` below it are written to %t/NAME
    // CHECK: TEXT         a line of the output has TEXT, below that of the CHECK above
    // CHECK-NEXT: TEXT    the very next line has it
    // CHECK-NOT: TEXT     no line has it between those of the CHECKs above and below
    // GOLDEN:             the lines `//| ...` below it are the whole output

Expectations are of the RUN above them. The output is stdout, then stderr, with %s and %t
for the paths. In an expectation <<...>> is a regular expression; HLO has double braces of
its own. A blank in a CHECK is any run of blanks. `--update` writes GOLDEN lines anew,
but for those with <<...>> that are still right, and changes nothing else. The CLI is
$MESHWRIGHT_BIN, or that of the release build.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TIMEOUT_S = 60
NEAREST = 3  # Lines of output that a failure shows.
LAST = 10  # And of a command that fails.
WORDS = ("RUN", "FILE", "CHECK", "CHECK-NEXT", "CHECK-NOT", "GOLDEN")
BODY = "//|"
# What is another time at every run, in lines that --update writes.
NOISE = ((re.compile(r"\bin [\d.]+ (?:ns|us|ms|s)$"), "in <<.*>>"),)
_DIRECTIVE = re.compile(r"//\s*([A-Z]+(?:-[A-Z]+)*)(?:\((\d+)\))?:(.*)")
_PLACEHOLDER = re.compile(r"<<(.*?)>>")


class Mistake(Exception):
    """The test itself cannot be understood; says where and why."""


@dataclass(frozen=True)
class Failure:
    """What was expected, by a line of the file, and what there was."""

    path: Path
    line: int
    what: str
    why: str

    def __str__(self) -> str:
        return f"{shown(self.path)}:{self.line}: {self.what}\n{self.why}"


@dataclass(frozen=True)
class Expected:
    """One CHECK of any kind, or a line of a GOLDEN."""

    kind: str
    text: str
    line: int

    @cached_property
    def regex(self) -> re.Pattern:
        exact = self.kind == "GOLDEN"
        regex = ""
        for n, part in enumerate(_PLACEHOLDER.split(self.text)):
            if n % 2:
                regex += f"(?:{part})"
            elif exact:
                regex += re.escape(part)
            else:
                regex += r"\s+".join(map(re.escape, re.split(r"\s+", part)))
        return re.compile(regex)

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass
class Run:
    """A command, its exit code, and what its output is to have."""

    command: list[str]
    code: int
    line: int
    checks: list[Expected] = field(default_factory=list)
    golden: list[Expected] | None = None
    golden_line: int = 0


@dataclass
class TextTest:
    path: Path
    runs: list[Run] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)


def parse(path: Path, text: str) -> TextTest:
    """What the comments of a test say; raises Mistake."""
    test = TextTest(path)
    body = None  # Takes the `//|` lines below a GOLDEN or FILE.
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{shown(path)}:{number}"
        if line.startswith(BODY):
            if body is None:
                raise Mistake(f"{where}: {BODY} is below no GOLDEN and no FILE")
            body(line[len(BODY) :].removeprefix(" ").rstrip(), number)
            continue
        body = None
        if match := _DIRECTIVE.match(line):
            body = _add(test, match, number, where)
    if not test.runs:
        raise Mistake(f"{shown(path)}:1: there is no RUN")
    return test


def _add(test: TextTest, match: re.Match, number: int, where: str):
    """Adds a directive to the test; gives what takes the lines below it, if any."""
    word, code, rest = match[1], match[2], match[3].strip()
    if word not in WORDS:
        if near := difflib.get_close_matches(word, WORDS, n=1):
            raise Mistake(f"{where}: there is no {word}; did you mean {near[0]}?")
        return None  # Prose.
    if code is not None and word != "RUN":
        raise Mistake(f"{where}: only RUN has an exit code")
    if (not rest) != (word == "GOLDEN"):
        raise Mistake(f"{where}: {word} with{'' if rest else 'out'} a text")
    if word == "RUN":
        try:
            command = shlex.split(rest)
        except ValueError as error:
            raise Mistake(f"{where}: {error}") from None
        test.runs.append(Run(command, int(code or 0), number))
        return None
    if word == "FILE":
        if rest in test.files or Path(rest).name != rest:
            raise Mistake(f"{where}: '{rest}' is no name, or that of a file above")
        test.files[rest] = ""
        return lambda line, _: test.files.update({rest: test.files[rest] + line + "\n"})
    if not test.runs:
        raise Mistake(f"{where}: {word} is above the first RUN")
    run = test.runs[-1]
    if word == "GOLDEN":
        if run.golden is not None:
            raise Mistake(f"{where}: this RUN has a GOLDEN already")
        golden = run.golden = []
        run.golden_line = number
        return lambda line, at: golden.append(_expected(test, "GOLDEN", line, at))
    run.checks.append(_expected(test, word, rest, number))
    if word == "CHECK-NEXT" and all(one.kind != "CHECK" for one in run.checks):
        raise Mistake(f"{where}: CHECK-NEXT is below no CHECK")
    return None


def _expected(test: TextTest, kind: str, text: str, line: int) -> Expected:
    one = Expected(kind, text, line)
    try:
        _ = one.regex
    except re.error as error:
        raise Mistake(f"{shown(test.path)}:{line}: {error} in '{text}'") from None
    return one


def failures_of(path: Path, run: Run, output: Sequence[str]) -> list[Failure]:
    """What the output of a run lacks, or has too much: the first CHECK, the GOLDEN."""
    failed = _check_in_order(path, run.checks, output)
    found = [] if failed is None else [failed]
    if run.golden is None:
        return found
    fits = [one.regex.fullmatch(line) for one, line in zip(run.golden, output)]
    if len(run.golden) == len(output) and all(fits):
        return found
    first = fits.index(None) if None in fits else len(fits)
    place = run.golden[first] if first < len(run.golden) else None
    line = place.line if place else run.golden_line
    # Lines that fit are not in the difference, also those with placeholders.
    return [*found, Failure(path, line, "GOLDEN", _difference(run.golden, output))]


def _check_in_order(
    path: Path, checks: Sequence[Expected], output: Sequence[str]
) -> Failure | None:
    at = 0  # The first line below that of the last CHECK.
    barred: list[Expected] = []
    for one in checks:
        if one.kind == "CHECK-NOT":
            barred.append(one)
            continue
        last = min(at + 1, len(output)) if one.kind == "CHECK-NEXT" else len(output)
        hits = (n for n in range(at, last) if one.regex.search(output[n]))
        hit = next(hits, None)
        if hit is None:
            return Failure(path, one.line, str(one), _nearest(one, output, at))
        if failed := _barred_line(path, barred, output, at, hit):
            return failed
        at, barred = hit + 1, []
    return _barred_line(path, barred, output, at, len(output))


def _barred_line(path, barred, output, first: int, last: int) -> Failure | None:
    for one in barred:
        for n in range(first, last):
            if one.regex.search(output[n]):
                return Failure(path, one.line, str(one), _numbered(output, [n]))
    return None


def _nearest(one: Expected, output: Sequence[str], at: int) -> str:
    """The lines that one may have meant, and how far the checks before it came."""
    if not output:
        return "  there is no output"
    plain = _PLACEHOLDER.sub("", one.text)
    likeness = difflib.SequenceMatcher(b=plain, autojunk=False)

    def like(n: int) -> float:
        likeness.set_seq1(output[n].strip())
        same = sum(block.size for block in likeness.get_matching_blocks())
        return same / max(1, len(plain)) + likeness.ratio() / 10

    if one.kind == "CHECK-NEXT":
        return _numbered(output, range(max(0, at - 1), min(at + 1, len(output))))
    best = sorted(range(len(output)), key=like, reverse=True)[:NEAREST]
    text = _numbered(output, sorted(best))
    return f"  it is not below output line {at}; nearest are\n{text}" if at else text


def _numbered(output: Sequence[str], numbers) -> str:
    return "\n".join(f"  output line {n + 1}: {output[n]}" for n in numbers)


def _difference(golden: Sequence[Expected], output: Sequence[str]) -> str:
    kept = written_anew(golden, output, noise=False)
    before = [one.text for one in golden]
    lines = difflib.unified_diff(before, kept, "expected", "output", n=2, lineterm="")
    return "\n".join(f"  {line}".rstrip() for line in lines)


def written_anew(
    golden: Sequence[Expected], output: Sequence[str], noise: bool = True
) -> list[str]:
    """The output as lines of a GOLDEN; those that are still right stay as they are.

    Which line is which: as many as can stay in order do.
    """
    rows, columns = len(golden), len(output)
    same = [[bool(g.regex.fullmatch(line)) for line in output] for g in golden]
    most = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            most[i][j] = max(most[i + 1][j], most[i][j + 1])
            if same[i][j]:
                most[i][j] = max(most[i][j], most[i + 1][j + 1] + 1)
    lines, i = [], 0
    for j, line in enumerate(output):
        while i < rows and most[i][j] == most[i + 1][j]:
            i += 1
        if i < rows and same[i][j] and most[i][j] == most[i + 1][j + 1] + 1:
            lines.append(golden[i].text)
            i += 1
        else:
            lines.append(_without_noise(line) if noise else line)
    return lines


def _without_noise(line: str) -> str:
    for noise, placeholder in NOISE:
        line = noise.sub(placeholder, line)
    return line


def execute(test: TextTest, run: Run, folder: Path) -> tuple[int, list[str]]:
    """Exit code and output of a command, with %s and %t for the paths."""
    paths = {"%s": str(test.path.resolve()), "%t": str(folder)}
    words = [
        re.sub("%[st]", lambda match: paths[match[0]], word) for word in run.command
    ]
    done = subprocess.run(
        [binary(), *words],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT_S,
    )
    output = done.stdout + done.stderr
    for short, path in paths.items():
        output = output.replace(path, short)
    return done.returncode, [line.rstrip() for line in output.splitlines()]


def run_test(path: Path, update: bool = False) -> list[Failure]:
    """Runs one file; with `update` its GOLDENs become what comes out. Raises Mistake."""
    text = path.read_text()
    test = parse(path, text)
    failures: list[Failure] = []
    fresh: dict[int, list[str]] = {}  # By the line of the GOLDEN.
    with tempfile.TemporaryDirectory(prefix="mw_text_") as name:
        folder = Path(name)
        for file, content in test.files.items():
            (folder / file).write_text(content)
        for run in test.runs:
            code, output = execute(test, run, folder)
            if code != run.code:
                last = range(max(0, len(output) - LAST), len(output))
                why = f"  exit code {code}\n{_numbered(output, last)}".rstrip()
                failures.append(
                    Failure(path, run.line, f"RUN: {shlex.join(run.command)}", why)
                )
                break  # What comes next would tell of the same.
            if update and run.golden is not None:
                fresh[run.golden_line] = written_anew(run.golden, output)
                run.golden = None
            failures += failures_of(path, run, output)
    if (new := with_goldens(text, fresh)) != text:
        path.write_text(new)
        # Numbers of lines in the output are now others; once more settles them.
        return run_test(path, update=new.count("\n") != text.count("\n"))
    return failures


def with_goldens(text: str, fresh: dict[int, list[str]]) -> str:
    """`text` with other lines below the GOLDENs in these lines."""
    if not fresh:
        return text
    lines: list[str] = []
    dropping = False
    for number, line in enumerate(text.splitlines(), 1):
        dropping = dropping and line.startswith(BODY)
        if dropping:
            continue
        lines.append(line)
        if number in fresh:
            dropping = True
            lines += [f"{BODY} {one}".rstrip() for one in fresh[number]]
    return "\n".join(lines) + "\n"


def binary() -> Path:
    built = ROOT / "build/release/meshwright/cli/meshwright"
    return Path(os.environ.get("MESHWRIGHT_BIN", built)).resolve()


def files(folder: Path = HERE) -> list[Path]:
    return sorted(folder.rglob("*.hlo"))


def shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(ROOT))
    except ValueError:
        return str(path)


def main(args: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write GOLDENs anew")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    chosen = parser.parse_args(args)
    passed = failed = 0
    for path in chosen.files or files():
        before = path.read_bytes() if path.is_file() else None
        try:
            failures = [str(one) for one in run_test(path, chosen.update)]
        except (Mistake, OSError, subprocess.TimeoutExpired) as error:
            failures = [str(error)]
        for one in failures:
            print(one)
        if before is not None and path.read_bytes() != before:
            print(f"{shown(path)} is written anew")
        passed, failed = passed + (not failures), failed + bool(failures)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
