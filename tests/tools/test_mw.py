"""./mw: mistakes, missing packages, interrupted setups, order of test steps."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from mw import build, packages, paths, process, wheel, wheels
from mw.main import HELP, _dispatch
from mw.progress import Task
from mw.schedule import Outcome, Schedule, Step

MW = Path(__file__).resolve().parents[2] / "mw"


def mw(*args: str) -> subprocess.CompletedProcess:
    argv = [sys.executable, MW, *args]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("asked", ["--help", "-h", "help"])
def test_help_needs_no_setup(asked):
    answer = mw(asked)
    assert answer.returncode == 0
    assert answer.stdout == HELP + "\n"


@pytest.mark.parametrize(
    "args",
    [
        ("test", "--only", "nothing"),
        ("test", "--sideways"),
        ("bench", "nothing"),
        ("dist", "--sideways"),
        ("wheel", "--sideways"),
        ("clean", "everything"),
        ("setup", "everything"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_one_line_and_exit_code_2(args):
    answer = mw(*args)
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert answer.stderr.startswith("mw: ")
    assert answer.stderr.count("\n") == 1


def test_a_typing_error_is_caught_before_the_first_setup(tmp_path, monkeypatch):
    monkeypatch.setattr("mw.main.CLI", tmp_path / "absent")
    with pytest.raises(paths.UserError, match="did you mean 'test'?"):
        _dispatch(["tets"])


@pytest.fixture
def fake_packages(tmp_path, monkeypatch):
    """A package list of which 'nosuchpackage' is missing."""
    listed = tmp_path / "packages.txt"
    listed.write_text("dpkg  # There.\nnosuchpackage\n")
    monkeypatch.setattr(packages, "LIST", listed)
    monkeypatch.setattr(packages, "BUILD", tmp_path)
    monkeypatch.setattr(packages.shutil, "which", lambda name: name)
    monkeypatch.setattr(packages, "missing", lambda names: ["nosuchpackage"])
    monkeypatch.delenv(packages.SKIP, raising=False)
    return listed


def test_without_root_the_apt_line_is_shown(fake_packages, monkeypatch):
    monkeypatch.setattr(packages.os, "geteuid", lambda: 1000)
    with pytest.raises(paths.UserError) as error:
        packages.ensure()
    assert str(error.value).endswith(
        "\nsudo apt-get install -y --no-install-recommends nosuchpackage"
    )


def test_as_root_only_what_is_missing_is_installed(fake_packages, monkeypatch):
    monkeypatch.setattr(packages.os, "geteuid", lambda: 0)
    calls = []
    monkeypatch.setattr(
        packages.process, "run", lambda title, argv, *_, **__: calls.append(argv)
    )
    packages.ensure()
    assert [call[:2] for call in calls] == [
        ["apt-get", "update"],
        ["apt-get", "install"],
    ]
    assert calls[1][-1] == "nosuchpackage"
    assert "dpkg" not in calls[1]
    packages.ensure()
    assert len(calls) == 2, "a second call asks nobody"


def test_another_system_is_told_what_to_do(fake_packages, monkeypatch):
    monkeypatch.setattr(packages.shutil, "which", lambda name: None)
    with pytest.raises(paths.UserError, match="MW_SKIP_PACKAGES=1"):
        packages.ensure()


def test_apt_progress_counts_packages():
    text = packages.AptText()
    lines = [
        "0 upgraded, 2 newly installed, 0 to remove and 1 not upgraded.",
        "Get:1 http://deb.debian.org/debian bookworm/main amd64 mold amd64 1.10 [2 MB]",
        "Unpacking mold (1.10) ...",
        "Setting up zlib1g-dev:amd64 (1.2) ...",
        "Setting up mold (1.10) ...",
    ]
    assert [text.read(line) for line in lines] == [
        None,
        "[1/2] fetching mold",
        "[1/2] unpacking mold",
        "[1/2] setting up zlib1g-dev",
        "[2/2] setting up mold",
    ]


class FakeWheels:
    """A layer whose venv and pip are recorded, not run."""

    def __init__(self, folder: Path):
        requirements = folder / "requirements.txt"
        requirements.write_text("thing==1\n")
        self.layer = wheels.Layer("test", "test", folder / ".venv", requirements)
        self.calls = []
        self.pip_fails = False

    def run(self, title, argv, *_, **__):
        self.calls.append("venv" if "venv" in argv else "pip")
        python = self.layer.venv / "bin" / "python"
        python.parent.mkdir(parents=True, exist_ok=True)
        python.touch()
        if self.pip_fails and self.calls[-1] == "pip":
            (self.layer.venv / "half a package").touch()
            raise paths.StepFailed("no network")


@pytest.fixture
def fake(tmp_path, monkeypatch):
    made = FakeWheels(tmp_path)
    monkeypatch.setattr(wheels.process, "run", made.run)
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    return made


def test_wheels_are_installed_once(fake):
    wheels.ensure(fake.layer)
    wheels.ensure(fake.layer)
    assert fake.calls == ["venv", "pip"]


def test_changed_requirements_are_installed_into_the_same_venv(fake):
    wheels.ensure(fake.layer)
    fake.layer.requirements.write_text("thing==2\n")
    wheels.ensure(fake.layer)
    assert fake.calls == ["venv", "pip", "pip"]


def test_a_change_in_an_included_file_counts(fake):
    fake.layer.requirements.write_text("-r other.txt\n")
    other = fake.layer.requirements.with_name("other.txt")
    other.write_text("thing==1\n")
    wheels.ensure(fake.layer)
    assert fake.layer.ready()
    other.write_text("thing==2\n")
    assert not fake.layer.ready()


def test_an_interrupted_installation_starts_from_nothing(fake):
    fake.pip_fails = True
    with pytest.raises(paths.StepFailed):
        wheels.ensure(fake.layer)
    assert not fake.layer.ready()
    fake.pip_fails = False
    wheels.ensure(fake.layer)
    assert fake.layer.ready()
    assert fake.calls == ["venv", "pip", "venv", "pip"]
    assert not (fake.layer.venv / "half a package").exists()


def interrupt_another_layer(fake) -> None:
    """Leaves the venv as an installation of a second layer does, cut short."""
    wheels.ensure(fake.layer)
    fake.calls.clear()
    wheels._busy(fake.layer.venv).touch()


def test_what_another_interrupted_layer_left_is_not_trusted(fake):
    interrupt_another_layer(fake)
    wheels.ensure(fake.layer)
    assert fake.calls == ["venv", "pip"]
    assert not wheels._busy(fake.layer.venv).exists()


def test_a_layer_does_not_wait_for_another_one(fake):
    interrupt_another_layer(fake)
    with paths.locked("fill" + fake.layer.venv.name):
        wheels.ensure(fake.layer)
    assert fake.calls == []


def test_compiler_progress_is_short():
    line = "[3/9] Building CXX object meshwright/hlo/CMakeFiles/mw_hlo.dir/shape.cc.o"
    assert build._ninja_text(line) == "[3/9] compiling meshwright/hlo/shape.cc"


def test_a_failed_build_shows_what_the_compiler_said(tmp_path):
    log = tmp_path / "build.log"
    log.write_text("[1/9] Building a\nFAILED: b.o\nb.cc:1: error: no\n[2/9] Linking\n")
    assert build._compiler_output(log) == "FAILED: b.o\nb.cc:1: error: no"


def test_a_failing_child_is_reported_with_its_log(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "LOG", tmp_path)
    code = "print('what went wrong'); raise SystemExit(3)"
    with pytest.raises(paths.StepFailed, match="exit 3") as error:
        process.run("child", [sys.executable, "-c", code], "child")
    assert "what went wrong" in error.value.excerpt


def test_the_processor_time_of_children_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "LOG", tmp_path)
    task = Task("a loop")
    spin = "import time\nwhile time.process_time() < 0.2: pass"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin!r}])"
    process.run("loop", [sys.executable, "-c", code], "loop", task=task)
    assert 0.2 < task.processor_s < 2


def run_steps(steps: list[Step], cores: int = 2) -> dict[str, Outcome]:
    schedule = Schedule(steps, cores)
    schedule.run()
    return schedule.outcomes


def fail(task):
    raise paths.StepFailed("no")


def test_steps_that_need_a_failed_one_are_not_run():
    done = []
    outcomes = run_steps(
        [
            Step("a", fail),
            Step("b", done.append, needs=("a",)),
            Step("c", done.append, needs=("b",)),
            Step("d", lambda task: Outcome(passed=7)),
        ]
    )
    assert done == []
    assert {name: o.state for name, o in outcomes.items()} == {
        "a": "FAILED",
        "b": "not run",
        "c": "not run",
        "d": "ok",
    }
    assert outcomes["a"].failed == 1
    assert outcomes["d"].passed == 7


def run_counting(*shapes: tuple[int, bool]) -> tuple[int, list[str]]:
    """Of steps with so many cores, those that say so at the same time: the most of
    them at once, and how they ended."""
    busy, most, lock = [0], [0], threading.Lock()
    both = threading.Barrier(max(1, sum(meet for _, meet in shapes)), timeout=20)

    def work(meet):
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        if meet:
            both.wait()
        with lock:
            busy[0] -= 1

    steps = [
        Step(str(number), lambda task, meet=meet: work(meet), cores=cores)
        for number, (cores, meet) in enumerate(shapes)
    ]
    states = [outcome.state for outcome in run_steps(steps).values()]
    return most[0], states


def test_steps_share_the_cores():
    most, states = run_counting((2, False), (1, True), (1, True))
    assert most <= 2 and states == ["ok"] * 3


def test_no_core_is_idle_while_a_step_waits():
    """One that keeps all cores busy starts beside one that leaves some."""
    assert run_counting((1, True), (2, True))[1] == ["ok"] * 2


@pytest.fixture
def held(tmp_path, monkeypatch):
    """A lock that another one holds; what a waiting one says."""
    monkeypatch.setattr(paths, "BUILD", tmp_path)
    monkeypatch.setattr(paths, "PATIENCE_S", 0.3)
    said = []

    def wait():
        with paths.locked("x", lambda: said.append("waiting")):
            said.append("in")

    return said, wait


def hold_while(wait, seconds, at_work):
    """Holds the lock for a time, after which another one gets it."""
    with paths.locked("x") as lock:
        if at_work:
            lock.at_work()
        other = threading.Thread(target=wait)
        other.start()
        other.join(seconds)
        assert other.is_alive()
    other.join()


def test_a_long_wait_for_work_is_told_once(held):
    said, wait = held
    hold_while(wait, 1.0, at_work=True)
    assert said == ["waiting", "in"]


def test_a_wait_for_one_that_only_looks_is_not_told(held):
    said, wait = held
    hold_while(wait, 1.0, at_work=False)
    assert said == ["in"]


def test_a_short_wait_is_not_told(held):
    said, wait = held
    hold_while(wait, 0.1, at_work=True)
    assert said == ["in"]


def test_what_was_at_work_before_is_forgotten(held):
    said, wait = held
    with paths.locked("x") as lock:
        lock.at_work()
    hold_while(wait, 1.0, at_work=False)
    assert said == ["in"]


def test_a_closed_pipe_is_no_crash():
    argv = [sys.executable, MW, "--help"]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_interpreters_for_the_wheel(tmp_path, monkeypatch):
    """Commands of pyenv whose version is not chosen fail, those behind them do not."""
    shims, versions = tmp_path / "shims", tmp_path / "versions"
    shims.mkdir()
    (shims / "python3.12").write_text("#!/bin/sh\nexit 127\n")
    (shims / "python3.12").chmod(0o755)
    for version, target in {"3.12.1": sys.executable, "3.13.0": "/bin/false"}.items():
        command = versions / version / "bin" / f"python{version[:4]}"
        command.parent.mkdir(parents=True)
        command.symlink_to(target)
    monkeypatch.setenv("PATH", str(shims))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert wheel.interpreters() == [str(versions / "3.12.1/bin/python3.12")]
