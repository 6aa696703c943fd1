"""The runner of text tests itself: wrong expectations fail, and say where and why."""

import pytest
import runner

# Stands for the CLI: prints a file, ends with a number, or names its arguments.
FAKE = """#!/bin/sh
case $1 in
  print) cat "$2" ;;
  exit) echo "it is $2" >&2; exit "$2" ;;
  *) for word; do echo "$word"; done; pwd ;;
esac
"""
OUTPUT = """\
ENTRY main {
  x = f32[4,4]{1,0} parameter(0)
  y = f32[4]{0} reduce(x), dimensions={1}
  ROOT z = f32[4]{0} all-reduce(y), replica_groups={{0,1}}
}
planned in 12.3 ms
"""


@pytest.fixture
def test_of(tmp_path, monkeypatch):
    """Writes a test with these comments; `print %t/output` prints OUTPUT."""
    fake = tmp_path / "fake"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    monkeypatch.setenv("MESHWRIGHT_BIN", str(fake))
    lines = ["// FILE: output", *(f"//| {line}" for line in OUTPUT.splitlines())]

    def write(*comments):
        path = tmp_path / "test.hlo"
        every = [*lines, "// RUN: print %t/output", *comments, "HloModule m", ""]
        path.write_text("\n".join(every))
        return path

    write.first = len(lines) + 2  # The line of the first comment.
    return write


GOLDEN = ["// GOLDEN:", *(f"//| {line}" for line in OUTPUT.splitlines())]
NOISY = [*GOLDEN[:-1], "//| planned in <<.*>>"]
GOOD = {
    "in order": ["// CHECK: parameter(0)", "// CHECK: all-reduce("],
    "next": ["// CHECK: parameter(0)", "// CHECK-NEXT: reduce(x)"],
    "regular expression": ["// CHECK: <<^>>planned in <<[0-9.]+>> ms"],
    "braces are braces": ["// CHECK: replica_groups={{0,1}}"],
    "blanks": ["// CHECK: ENTRY    main {"],
    "not": ["// CHECK: reduce(x)", "// CHECK-NOT: parameter", "// CHECK: planned"],
    "not in the line itself": [
        *("// CHECK-NOT: all-reduce", "// CHECK: all-reduce"),
        "// CHECK-NOT: all-reduce",
    ],
    "golden": GOLDEN,
    "golden with noise": NOISY,
    "exit code": ["// RUN(3): exit 3", "// CHECK: it is 3"],
    "prose": ["// FSDP: as others call it", "// CHECK: main"],
}
# What is wrong, the line that is to blame, counted from the first comment, and words
# of the complaint.
BAD = {
    "absent": (["// CHECK: all-gather"], 0, "CHECK: all-gather", "all-reduce(y)"),
    "wrong order": (
        ["// CHECK: all-reduce", "// CHECK: parameter(0)"],
        *(1, "CHECK: parameter(0)", "not below output line 4", "output line 2"),
    ),
    "not next": (
        ["// CHECK: parameter(0)", "// CHECK-NEXT: all-reduce("],
        *(1, "CHECK-NEXT", "output line 3:   y = f32[4]"),
    ),
    "next past the end": (
        ["// CHECK: planned", "// CHECK-NEXT: in"],
        *(1, "CHECK-NEXT", "output line 6"),
    ),
    "same line twice": (["// CHECK: planned", "// CHECK: ms"], 1, "CHECK: ms"),
    "there, but barred": (
        ["// CHECK: main", "// CHECK-NOT: <<re\\w+>>(x)", "// CHECK: all-reduce"],
        *(1, "CHECK-NOT", "output line 3"),
    ),
    "barred to the end": (["// CHECK: main", "// CHECK-NOT: planned"], 1, "line 6"),
    "barred from the start": (["// CHECK-NOT: main", "// CHECK: planned"], 0, "line 1"),
    "no regular expression": (["// CHECK: f32.4"], 0, "CHECK: f32.4"),
    "golden differs": (
        [*GOLDEN[:3], "//|   y = f32[5]{0} reduce(x)", *GOLDEN[4:]],
        *(3, "GOLDEN", "-  y = f32[5]{0} reduce(x)", "+  y = f32[4]{0} reduce(x), dim"),
    ),
    "golden lacks a line": (GOLDEN[:-1], 0, "GOLDEN", "+planned in 12.3 ms"),
    "golden has a line more": ([*GOLDEN, "//| more"], 7, "GOLDEN", "-more"),
    "golden is exact about blanks": (
        [*GOLDEN[:-1], "//| planned  in 12.3 ms"],
        *(6, "GOLDEN"),
    ),
    "exit code": (["// RUN: exit 3"], 0, "RUN: exit 3", "exit code 3", "it is 3"),
    "no failure": (["// RUN(2): print %t/output"], 0, "exit code 0"),
}
MISTAKES = {
    "no run": (["// CHECK: x"], "above the first RUN"),
    "nothing": ([], "there is no RUN"),
    "misspelt": (["// RUN: x", "// CHEKC: x"], "did you mean CHECK"),
    "unknown": (["// RUN: x", "// CHECK-SAME: x"], "there is no CHECK-SAME"),
    "empty": (["// RUN: x", "// CHECK:"], "CHECK without a text"),
    "text of golden": (["// RUN: x", "// GOLDEN: x"], "GOLDEN with a text"),
    "two goldens": (["// RUN: x", "// GOLDEN:", "// GOLDEN:"], "a GOLDEN already"),
    "stray body": (["// RUN: x", "// CHECK: x", "//| x"], "below no GOLDEN"),
    "next first": (["// RUN: x", "// CHECK-NEXT: x"], "below no CHECK"),
    "expression": (["// RUN: x", "// CHECK: <<(>>"], "unterminated subpattern"),
    "quote": (["// RUN: 'x"], "No closing quotation"),
    "exit code": (["// RUN: x", "// CHECK(2): x"], "only RUN"),
    "path": (["// FILE: a/b", "// RUN: x"], "no name"),
}


@pytest.mark.parametrize("name", GOOD)
def test_right_expectations_hold(test_of, name):
    assert runner.run_test(test_of(*GOOD[name])) == []


@pytest.mark.parametrize("name", BAD)
def test_wrong_expectations_fail(test_of, name):
    comments, line, *words = BAD[name]
    path = test_of(*comments)
    (failure,) = runner.run_test(path)
    text = str(failure)
    assert text.startswith(f"{path}:{test_of.first + line}: ")
    for word in words:
        assert word in text


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_in_tests_are_told(tmp_path, name):
    comments, complaint = MISTAKES[name]
    path = tmp_path / "test.hlo"
    with pytest.raises(runner.Mistake, match=complaint) as error:
        runner.parse(path, "\n".join([*comments, "HloModule m"]))
    assert str(error.value).startswith(f"{path}:")


def test_paths_have_short_names(test_of):
    path = test_of(
        "// RUN: tell %s '%t/a b' --file=%s",
        *("// GOLDEN:", "//| tell", "//| %s", "//| %t/a b", "//| --file=%s", "//| %t"),
    )
    assert runner.run_test(path) == []


def test_expectations_are_of_the_run_above_them(test_of):
    path = test_of("// CHECK-NOT: it is", "// RUN(3): exit 3", "// CHECK-NOT: main")
    assert runner.run_test(path) == []


def test_after_a_failed_command_none_is_run(test_of):
    path = test_of("// RUN: exit 1", "// RUN: exit 2")
    (failure,) = runner.run_test(path)
    assert "exit code 1" in str(failure)


def test_update_writes_goldens_and_nothing_else(test_of):
    before = test_of("// CHECK: main", "// GOLDEN:", "//| old", "// Prose.")
    assert runner.run_test(before, update=True) == []
    updated = before.read_text()
    assert updated == test_of("// CHECK: main", *NOISY, "// Prose.").read_text()
    assert runner.run_test(before) == []


def test_update_keeps_placeholders_that_are_right(test_of):
    kept = ["//|   x = <<f..>>[4,4]{1,0} parameter(0)", "//|   y = <<.*>>"]
    path = test_of(*GOLDEN[:2], "//| gone <<.*>>", *kept, *NOISY[4:])
    assert runner.run_test(path, update=True) == []
    assert path.read_text() == test_of(*GOLDEN[:2], *kept, *NOISY[4:]).read_text()


def test_update_leaves_wrong_checks_and_exit_codes(test_of):
    comments = ["// CHECK: absent", "// RUN: exit 3", "// GOLDEN:", "//| old"]
    path = test_of(*comments)
    before = path.read_text()
    assert len(runner.run_test(path, update=True)) == 2
    assert path.read_text() == before


def test_the_command_line(test_of, capsys):
    path = test_of("// GOLDEN:", "//| old")
    assert runner.main([str(path)]) == 1
    assert "0 passed, 1 failed" in capsys.readouterr().out
    assert runner.main(["--update", str(path)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told == [f"{path} is written anew", "1 passed, 0 failed"]
    assert runner.main([str(path), str(path.with_name("absent.hlo"))]) == 1
    told = capsys.readouterr().out
    assert "absent.hlo" in told and "1 passed, 1 failed" in told
