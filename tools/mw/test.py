"""./mw test: all checks, as a list of steps."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from mw import (
    build,
    dist,
    embed,
    formatting,
    packages,
    process,
    unit_tests,
    wheel,
    wheels,
)
from mw.paths import (
    BUILD,
    ROOT,
    RUNTIME_ENV,
    VENV,
    VENV_JAX_OLD,
    VENV_LAUNCHERS,
    StepFailed,
    UserError,
)
from mw.progress import Task, duration
from mw.schedule import CountedFailure, Outcome, Schedule, Step, table

# Folders tested under ASan and UBSan: always those that read untrusted files and
# share memory; with --long all that plan or run. Under TSan: those with threads.
ASAN = ("hlo", "wire")
ASAN_LONG = (
    "launch",
    "remat",
    "partition",
    "search",
    "pipeline",
    "schedule",
    "planner",
    "runtime",
    "service",
)
TSAN = ("wire",)
TSAN_LONG = ("engine", "solve", "planner", "runtime", "launch")
# Without --long only these tests of a folder: seconds instead of minutes.
QUICK_SANITIZED = {"wire": "*MessagesTest*:*Shm*:*KeyValue*:*SharedMemory2"}
FUZZ_COUNT = 20_000
FUZZ_COUNT_LONG = 1_000_000
SANITIZER_ENV = {
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": f"suppressions={ROOT / 'tools' / 'tsan.supp'}",
}
# Rates and compiled programs of whoever runs the tests are neither used nor changed.
USER_CACHE = BUILD / "user-cache"
# Tests run each program only a few times, which takes less time than optimising it.
# Emitting every fusion through MLIR takes two thirds of what is left of a compilation,
# and several LLVM modules per program a fifth of the rest.
XLA_FLAGS_OLD = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)
XLA_FLAGS = (
    f"{XLA_FLAGS_OLD} --xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_parallel_codegen_split_count=1"
)


def steps(long: bool) -> list[Step]:
    """In the order in which they are started: what takes long before what is short."""
    every = build.cores()
    marks = "" if long else "not long"
    marks_old = "" if long else "not long and not one_jax"
    fuzz_count = FUZZ_COUNT_LONG if long else FUZZ_COUNT
    py, both, all_venvs = ("wheels",), ("wheels", "build"), ("wheels", "wheels-old")
    listed = [
        Step("setup", _setup, cores=every),
        Step("wheels", _wheels(wheels.FULL, wheels.PUBLIC), ("setup",), cores=0),
        Step("wheels-old", _wheels(wheels.JAX_OLD, wheels.PUBLIC_OLD), ("setup",), 0),
        Step("format", _format, ("setup",)),
        Step("layers", _script("check_layers")),
        Step("units", _script("check_units")),
        Step("size", _script("size")),
        Step("build", _build("release"), ("setup",), cores=every),
        Step("unit-tests", _unit_tests(long), ("build",), cores=every),
        *_sanitized("dev", "asan", ASAN + ASAN_LONG * long, long, ("hlo_fuzz",)),
        *_sanitized("tsan", "tsan", TSAN + TSAN_LONG * long, long),
        # These wait for processes that were killed, and for daemons.
        Step("client", _pytest("client", VENV, "tests/client", marks), both, 0),
        Step("launchers", _launchers(long, marks), both, 0),
        Step("python", _pytest("python", VENV, "tests/python", marks), both),
        Step(
            "jax-old",
            _pytest("jax-old", VENV_JAX_OLD, "tests/python", marks_old),
            ("wheels-old", "build"),
        ),
        Step("examples", _pytest("examples", VENV, "tests/examples", marks), both),
        Step("fuzz-asan-1", _fuzz(fuzz_count // 2, 1), ("build-asan",)),
        Step("fuzz-asan-2", _fuzz(fuzz_count // 2, 2), ("build-asan",)),
        Step("wheel", _wheel(long), both),
        Step("dist", _dist, ("build",)),
        Step("embed", _embed, ("build",)),
        Step("tools", _pytest("tools", VENV, "tests/tools", marks), py),
        Step("text", _pytest("text", VENV, "tests/text", marks), both),
        Step("replay", _replay(long), ("build",), cores=2),
        # In small pieces to the end, so that no core is idle then; two more than there
        # are cores, since tests of processes also wait.
        Step(
            "e2e",
            _pytest("e2e", VENV, "tests/e2e", marks, every + 2),
            (*all_venvs, "build"),
            cores=every,
        ),
    ]
    if long:
        listed += [Step("includes", _script("check_includes"), ("build",), every)]
    return listed


def _sanitized(
    preset: str, name: str, folders: Sequence[str], long: bool, more=()
) -> list[Step]:
    """Builds the tests of these folders with a sanitizer and runs them."""
    chosen = {} if long else QUICK_SANITIZED
    tests = [f"{folder}_test" for folder in folders]
    build_step = f"build-{name}"
    return [
        Step(build_step, _build(preset, (*tests, *more)), ("setup",), build.cores()),
        *(
            Step(
                f"{folder}-{name}",
                _gtest(preset, test, chosen.get(folder, "*")),
                (build_step,),
            )
            for folder, test in zip(folders, tests)
        ),
    ]


def main(args: list[str]) -> int:
    long, only = _parse(args)
    if long:
        os.environ["MW_LONG"] = "1"  # For the C++ tests.
    chosen = _with_needs(steps(long), only)
    shutil.rmtree(USER_CACHE, ignore_errors=True)
    started = time.monotonic()
    schedule = Schedule(chosen, build.cores())
    schedule.run()
    outcomes = schedule.outcomes
    print("\n" + table(chosen, outcomes))
    processor_s = sum(outcome.processor_s for outcome in outcomes.values())
    took = duration(time.monotonic() - started)
    print(f"total {took}, {duration(processor_s)} of the processor")
    passed = sum(outcome.passed for outcome in outcomes.values())
    failed = sum(outcome.failed for outcome in outcomes.values())
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def _parse(args: list[str]) -> tuple[bool, list[str]]:
    long, only = False, []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word == "--long":
            long = True
        elif word == "--only" and rest:
            only += rest.pop(0).split(",")
        elif word.startswith("--only="):
            only += word[len("--only=") :].split(",")
        else:
            raise UserError(f"test: '{word}' is not understood; see ./mw --help")
    known = [step.name for step in steps(long)]
    for name in only:
        if name not in known:
            raise UserError(f"test: no step '{name}'; there are: {', '.join(known)}")
    return long, only


def _with_needs(listed: list[Step], only: list[str]) -> list[Step]:
    if not only:
        return listed
    by_name = {step.name: step for step in listed}
    wanted, open_names = set(), list(only)
    while open_names:
        name = open_names.pop()
        wanted.add(name)
        open_names += by_name[name].needs
    return [step for step in listed if step.name in wanted]


def _setup(task: Task) -> None:
    packages.ensure(task)
    wheels.ensure(wheels.RUNTIME, task)
    wheels.ensure(wheels.TOOLS, task)


def _wheels(*layers: wheels.Layer) -> Callable[[Task], None]:
    def run(task: Task) -> None:
        for layer in layers:
            wheels.ensure(layer, task)

    return run


def _format(task: Task) -> Outcome:
    formatting.check(task)
    return Outcome(passed=1)


def _script(name: str) -> Callable[[Task], Outcome]:
    def run(task: Task) -> Outcome:
        process.run(name, [sys.executable, f"tools/{name}.py"], name, task=task)
        return Outcome(passed=1)

    return run


def _build(preset: str, targets: tuple[str, ...] = ()):
    def run(task: Task) -> Outcome | None:
        if not targets:
            build.ensure(preset=preset, task=task)
            return None
        build.configure(preset)
        build.ensure(list(targets), preset, task)
        return None

    return run


def _unit_tests(long: bool):
    def run(task: Task) -> Outcome:
        found = unit_tests.batches(unit_tests.programs(BUILD / "release"))
        # One more than there are cores, since some tests wait.
        return unit_tests.UnitTests(task, build.cores() + 1, _env(), long).run(found)

    return run


def _gtest(preset: str, target: str, chosen: str):
    def run(task: Task) -> Outcome:
        argv = [_built(preset, target), "--gtest_brief=0", f"--gtest_filter={chosen}"]
        counts = r"\[  PASSED  \] (?P<passed>\d+) tests?|(?P<failed>\d+) FAILED TESTS?"
        return _counted(argv, f"{target}-{preset}", counts, task, SANITIZER_ENV)

    return run


def _fuzz(count: int, seed: int):
    def run(task: Task) -> Outcome:
        argv = [_built("dev", "hlo_fuzz"), "--count", count, "--seed", seed]
        argv += fuzzed_modules()
        log_name = f"fuzz-asan-{seed}"
        process.run(log_name, argv, log_name, env=SANITIZER_ENV, task=task)
        return Outcome(passed=1, remark=f"{count} mutated files")

    return run


def fuzzed_modules() -> list[Path]:
    """Steps of models, and the small modules of text tests: these take a tenth of the
    time, and have kinds of operations that no model has."""
    small = (ROOT / "tests" / "text").rglob("*.hlo")
    whole = (path for path in small if path.parent.name != "errors")
    return sorted([*(ROOT / "testdata").glob("*.hlo.pb*"), *whole])


def _built(preset: str, target: str) -> Path:
    if target not in build.targets_of(preset):
        raise StepFailed(f"there is no target {target}")
    return build.binary(preset, target)


def _pytest(name: str, venv: Path, folder: str, marks: str, workers: int = 1):
    """Several workers get whole files, in the order of conftest.py."""

    def run(task: Task) -> Outcome:
        if not any((ROOT / folder).glob("**/test_*.py")):
            raise StepFailed(f"there are no tests in {folder}")
        argv = [venv / "bin" / "python", "-m", "pytest", folder, "-v", "--no-header"]
        argv += ["--tb=short", "-p", "no:cacheprovider", "-p", "mw.processor_times"]
        argv += ["-m", marks] if marks else []
        if workers > 1:
            argv += ["-n", workers, "--dist", "loadfile", "--no-loadscope-reorder"]
        counts = r"=+ .*\bin [\d.]+s.* =+"
        # An XLA that does not know a flag ends the process.
        env = {"XLA_FLAGS": XLA_FLAGS_OLD} if venv == VENV_JAX_OLD else {}
        env["PYTHONPATH"] = str(ROOT / "tools")
        return _counted(argv, f"pytest-{name}", counts, task, env)

    return run


def _launchers(long: bool, marks: str):
    """Runs under Slurm, Open MPI and sshd, if available; with `long`, also Ray."""

    def run(task: Task) -> Outcome:
        packages.install_launchers(task)
        if long:
            wheels.ensure(wheels.LAUNCHERS, task)
        venv = VENV_LAUNCHERS if long else VENV
        return _pytest("launchers", venv, "tests/launchers", marks)(task)

    return run


def _replay(long: bool):
    """Plans have not changed; `./mw bench plan_replay --update` records new ones."""

    def run(task: Task) -> Outcome:
        argv = [sys.executable, "bench/plan_replay.py", *([] if long else ["--quick"])]
        process.run("replay", argv, "replay", env=_env(), task=task)
        return Outcome(passed=1)

    return run


def _dist(task: Task) -> Outcome:
    dist.make(BUILD / "dist", task)
    return Outcome(passed=1)


def _wheel(long: bool):
    """With `long`, with its dependencies, for every available version of Python."""

    def run(task: Task) -> Outcome:
        made = wheel.make(BUILD / "wheel", task)
        wheel.check(made, task)
        whole = wheel.interpreters() if long else []
        for interpreter in whole:
            wheel.check_whole(made, interpreter, task)
        return Outcome(passed=1 + len(whole))

    return run


def _embed(task: Task) -> Outcome:
    embed.check(task)
    return Outcome(passed=1)


def _counted(argv, log_name: str, counts: str, task: Task, env=None) -> Outcome:
    """Runs a test program and reads its counts from its last lines."""
    log = BUILD / "log" / f"{log_name}.log"
    try:
        process.run(
            log_name,
            argv,
            log_name,
            excerpt=_failures,
            env={**_env(), **(env or {})},
            task=task,
        )
    except StepFailed as failure:
        outcome = _read_counts(log, counts)
        raise CountedFailure(failure, outcome.passed, outcome.failed) from None
    return _read_counts(log, counts)


def _env() -> dict[str, str]:
    return {
        **RUNTIME_ENV,
        "XLA_FLAGS": XLA_FLAGS,
        "XDG_CACHE_HOME": str(USER_CACHE),
        # Otherwise every script would compile our package again.
        "PYTHONDONTWRITEBYTECODE": "",
    }


def _read_counts(log: Path, counts: str) -> Outcome:
    passed = failed = 0
    remark = ""
    for line in log.read_text(errors="replace").splitlines() if log.exists() else ():
        match = re.search(counts, line)
        if not match:
            continue
        groups = match.groupdict()
        if not groups:  # pytest: '== 1 failed, 8 passed, 2 skipped in 3.1s =='
            found = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", line)}
            passed = found.get("passed", 0)
            failed = found.get("failed", 0) + found.get("errors", 0)
            failed += found.get("error", 0)
            remark = f"{found['skipped']} skipped" if "skipped" in found else ""
            continue
        if groups.get("failed"):
            failed = int(groups["failed"])
        if groups.get("passed"):
            passed = int(groups["passed"])
    return Outcome(passed, failed, remark)


def _failures(log: Path) -> str:
    """The part of a test log that describes failures."""
    lines = log.read_text(errors="replace").splitlines()
    marks = (r"=+ (FAILURES|ERRORS) =+", r"\[ RUN ")
    marks += (r".*ERROR: AddressSanitizer", r".*runtime error: ")
    for mark in marks:
        hits = [n for n, line in enumerate(lines) if re.match(mark, line)]
        if hits:
            first = hits[-1] if mark.startswith(r"\[ RUN") else hits[0]
            return "\n".join(lines[first : first + process.EXCERPT_LINES])
    return process.last_lines(log)
