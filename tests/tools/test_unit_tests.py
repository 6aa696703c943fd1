"""./mw test's runner of unit tests: batches, crashes, what is shown of a failure."""

import sys
import threading
import time

import pytest
from mw import process, unit_tests
from mw.paths import StepFailed
from mw.progress import Task
from mw.schedule import CountedFailure

# A program as gtest makes them. By name, tests pass, fail, are skipped, crash the
# process, or end it before the first one.
PROGRAM = f"""#!{sys.executable}
import os, sys, time
NAMES = {{names}}
if sys.argv[1] == "--gtest_list_tests":
    print("Running main() from gtest_main.cc")
    print("Suite.  # TypeParam = int")
    print("\\n".join(f"  {{{{name}}}}  # GetParam() = 1" for name in NAMES))
    sys.exit()
chosen = sys.argv[1].removeprefix("--gtest_filter=").split(":")
print("one of", len(chosen), flush=True)
if any("Absent" in name for name in chosen):
    sys.exit(4)
if any("Waits" in name for name in chosen):
    time.sleep(5)
failed = 0
for name in chosen:
    print(f"[ RUN      ] {{{{name}}}}", flush=True)
    if "Crashes" in name:
        print("half a line", end="", flush=True)
        os.abort()
    if "Starts" in name:
        print("[ RUN      ] Suite.Child")
        print("[       OK ] Suite.Child (1 ms)")
    word = "      OK" if "Passes" in name else " SKIPPED"
    if "Fails" in name:
        failed, word = 1, " FAILED "
        print("a_test.cc:7: Failure")
    print(f"[ {{{{word:8}}}} ] {{{{name}}}} (1 ms)")
sys.exit(failed or any("Late" in name for name in chosen))
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "LOG", tmp_path / "log")
    monkeypatch.setattr(unit_tests, "LOG", tmp_path / "log")

    def run(*names, label="fast", batch=2):
        monkeypatch.setattr(unit_tests, "BATCH_LONG", batch)
        program = tmp_path / "a_test"
        program.write_text(PROGRAM.format(names=names))
        program.chmod(0o755)
        found = unit_tests.batches([(label, program)])
        return unit_tests.UnitTests(Task("unit"), 2, {}, False).run(found)

    return run


def logs(tmp_path):
    return sorted(path.name for path in (tmp_path / "log" / "unit").iterdir())


def test_one_process_has_many_tests(run, tmp_path):
    outcome = run("Passes1", "Skipped", "Passes2", "DISABLED_Passes")
    assert (outcome.passed, outcome.failed, outcome.remark) == (2, 0, "1 skipped")
    assert logs(tmp_path) == ["a_test-0.log"]


def test_long_programs_are_cut(run, tmp_path):
    assert run(*(f"Passes{i}" for i in range(5)), label="long").passed == 5
    assert logs(tmp_path) == [f"a_test-{i}.log" for i in range(3)]


def test_a_failure_is_shown_without_its_neighbours(run):
    with pytest.raises(CountedFailure) as failure:
        run("Passes1", "Fails", "Passes2")
    assert (failure.value.passed, failure.value.failed) == (2, 1)
    lines = failure.value.excerpt.splitlines()
    assert lines[:3] == [
        "[ RUN      ] Suite.Fails",
        "a_test.cc:7: Failure",
        "[  FAILED  ] Suite.Fails (1 ms)",
    ]
    assert lines[3].endswith("a_test --gtest_filter='Suite.Fails'")
    assert "Passes" not in failure.value.excerpt


def test_after_a_crash_the_others_are_run(run):
    with pytest.raises(CountedFailure) as failure:
        run("Passes1", "Crashes1", "Passes2", "Crashes2", "Fails", "Passes3")
    assert (failure.value.passed, failure.value.failed) == (3, 3)
    text = failure.value.excerpt
    assert "half a line\n(unit/a_test-0 failed (exit -6)" in text
    assert text.count("again: ") == 3


def test_a_process_that_fails_after_its_tests_is_a_failure(run):
    with pytest.raises(CountedFailure) as failure:
        run("Passes1", "PassesLate")
    assert (failure.value.passed, failure.value.failed) == (1, 1)
    assert "PassesLate" in failure.value.excerpt


def test_a_program_that_begins_nothing_fails_test_by_test(run):
    with pytest.raises(CountedFailure) as failure:
        run("PassesAbsent", "Passes1")
    assert (failure.value.passed, failure.value.failed) == (1, 1)
    assert "exit 4" in failure.value.excerpt


def test_what_children_run_is_not_counted(run):
    assert run("PassesStarts", "Passes1").passed == 2


def test_nothing_is_started_once_mw_is_stopped(run, tmp_path, monkeypatch):
    monkeypatch.setattr(process, "_stopping", False)
    names = [f"PassesWaits{i}" for i in range(6)]

    def stop_when_running():
        while not any((tmp_path / "log").glob("unit/*.log")):
            time.sleep(0.01)
        process.stop_all()

    threading.Thread(target=stop_when_running).start()
    with pytest.raises(process.Stopped):
        run(*names, label="long", batch=1)
    texts = [log.read_text() for log in (tmp_path / "log" / "unit").iterdir()]
    assert sum("one of" in text for text in texts) <= 2


def test_no_tests_are_a_failure(run):
    with pytest.raises(StepFailed, match="no unit tests"):
        run()
