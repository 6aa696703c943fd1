"""What a combination must end in: a plan that is as asked for and computes the same, or
exit code 2 with one line whose reason is true.

A refusal is taken at its word: what it says would fit must fit, what it blames must be
needed for it, and what it refuses of pins `partition --sharding` must refuse too.
"""

import json
import os
import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from combination_modules import BINARY
from combinations import AXES, Case

# Seconds beyond the time limit that a command may take.
PATIENCE = 600
# Of a plan whose case has none: where memory is short, more are used up.
TIME_LIMIT = "10"
# With which no search is cut short, however busy the machine is.
AMPLE = "60"
# Words, other than --FLAG and its value, by which a line speaks of a flag.
WORDS = {
    "memory": ("fit", "need", "memory", "may use"),
    "mesh": ("mesh", "axis", "axes"),
    "pin": ("pin", "lie"),
    "sharding": ("sharding", "lie", "split", "pin"),
    "forbid": ("forbid", "forbidden"),
    "batch-axis": ("batch",),
    "stages": ("stage", "micro-batch"),
    "micro-batches": ("micro-batch", "batch"),
    "schedule": ("schedule", "timetable"),
    "strategy": ("strategy",),
    "recompute": ("recompu",),
    "devices-per-stage": ("batch", "devices"),
    "estimate-statistics": ("statistics",),
    "chunks": ("stages",),
    "activations": ("held", "memory"),
    "devices": ("device", "stages"),
    "ranks": ("rank", "device"),
    "text": ("text",),
}


# Keys of a sharding file that are no tensor's name.
SECTIONS = {"mesh", "parameters", "outputs", "instructions", *AXES}


@dataclass(frozen=True)
class Outcome:
    code: int | None  # None: it did not end in time.
    stdout: str
    stderr: str

    @property
    def refused(self) -> bool:
        return self.code == 2

    @property
    def line(self) -> str:
        return self.stderr.strip()

    @property
    def kind(self) -> str:
        """The line without its particulars."""
        text = re.sub(
            r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|/\S+|[\w./%-]*\d[\w./%-]*", "#", self.line
        )
        return " ".join(text.split()[:9])


@dataclass(frozen=True)
class Failure:
    case: Case
    what: str

    def __str__(self) -> str:
        case = self.case
        return f"seed {case.number}: {self.what}\n    {case.shell()}"


class Oracle:
    """Judges cases; counts how they end.

    A reason is judged by runs that are compared with one another. What one of them finds
    within its time limit depends on how busy the machine is, so a reason is only false
    if it is false when all of them have `limit`.
    """

    def __init__(self, limit: str | None = None):
        self.limit = limit  # Of every plan, whatever its case says.
        self.counts: Counter[str] = Counter()

    def judge(self, case: Case) -> Failure | None:
        with tempfile.TemporaryDirectory(prefix="combination") as folder:
            what = self._failure(case, Path(folder))
        if what is None:
            return None
        return self._shrunk(Failure(case, what))

    def run(self, case: Case, folder: Path) -> Outcome:
        if case.command == "plan":
            limit = self.limit or case.value("time-limit") or TIME_LIMIT
            case = case.with_flag("time-limit", limit)
        case.write_files(folder)
        return _run(case.argv(folder), folder, case.value("time-limit"))

    def _shrunk(self, failure: Failure) -> Failure:
        """Without the flags that the failure does not need."""
        kind = failure.what.split(":")[0]
        for name in failure.case.optional():
            smaller = failure.case.without(name)
            with tempfile.TemporaryDirectory(prefix="combination") as folder:
                what = self._failure(smaller, Path(folder))
            if what is not None and what.split(":")[0] == kind:
                failure = Failure(smaller, what)
        return failure

    def _failure(self, case: Case, folder: Path) -> str | None:
        asked = case
        if case.command == "plan":
            files = (*case.files, ("plan.json", ""))
            asked = replace(case, files=files).with_flag("output", "plan.json")
        outcome = self.run(asked, folder)
        self.counts[f"{case.command.split()[0]} exit {outcome.code}"] += 1
        what = _abnormal(outcome)
        if what is not None:
            return what
        if outcome.refused:
            what = self._false_reason(case, outcome, folder)
            if what is None or self.limit or case.command != "plan":
                return what
            return Oracle(AMPLE)._failure(case.without("time-limit"), folder)
        if case.has("json"):
            what = _not_json(outcome)
            if what is not None:
                return what
        if case.command == "plan":
            plan = json.loads((folder / "plan.json").read_text())
            what = _not_as_asked(case, plan)
            return what or self._failure_after(case, plan, folder)
        return None

    def _failure_after(self, case: Case, plan: dict, folder: Path) -> str | None:
        """The plan, used."""
        file = str(folder / "plan.json")
        module = case.argv(folder)[1]
        for after in case.after:
            command, *rest = after.split()
            if command in ("check", "run"):
                argv = [command, module, "--plan", file, "--steps", "2"]
            elif command == "explain":
                argv = ["explain", file, *rest, "--module", module]
                argv += ["--pin", str(folder / "pin.json")] if case.has("pin") else []
            elif command == "simulate":
                argv = ["simulate", file]
            else:
                argv = [command, module, "--plan", file]
            outcome = _run(argv, folder, None)
            self.counts[f"{command} --plan exit {outcome.code}"] += 1
            what = _abnormal(outcome)
            if what is None and outcome.refused:
                what = _wrongly_refused(command, plan, outcome.line)
            if what is not None:
                return f"{command} of the plan {what}"
        return None

    def _false_reason(self, case: Case, outcome: Outcome, folder: Path) -> str | None:
        what = self._would_fit(case, outcome, folder)
        if what is not None:
            return what
        for name, _ in case.flags:
            if not re.search(rf"--{name}\b(?!-)", outcome.line) or name == "cluster":
                continue
            if f"(--{name} " in outcome.line:  # Said as the cure.
                continue
            other = self.run(case.without(name), folder)
            if other.refused and other.line == outcome.line:
                return f"blames --{name}, without which it says the same: {other.line}"
        if self._speaks_of_what_is_needed(case, outcome, folder):
            return None
        core, said = self._core(case, outcome, folder)
        if core.optional() and not any(
            _mentions(said.line, name, core) for name in core.optional()
        ):
            names = ", ".join(f"--{name}" for name in core.optional())
            return f"needs {names}, and says: {said.line}"
        if case.command != "plan":
            return None
        if not core.optional():
            return f"refuses what has no flags: {said.line}"
        if core.has("pin") and set(core.optional()) <= {"pin", "mesh"}:
            return self._pins_refused(core, said, folder)
        return None

    def _speaks_of_what_is_needed(self, case, outcome: Outcome, folder: Path) -> bool:
        """Whether one flag is told as the reason and is, which needs few runs."""
        if case.command == "plan" and _mentions(outcome.line, "pin", case):
            return False  # Pins are compared with what partition says of them.
        for name in case.optional():
            if not _mentions(outcome.line, name, case):
                continue
            other = self.run(case.without(name), folder)
            if not other.refused or other.kind != outcome.kind:
                return True
        return False

    def _core(self, case: Case, outcome: Outcome, folder: Path):
        """The flags without which it is not refused so, and the line then."""
        for name in case.optional():
            other = self.run(case.without(name), folder)
            if other.refused and other.kind == outcome.kind:
                case, outcome = case.without(name), other
        return case, outcome

    def _pins_refused(self, case: Case, said: Outcome, folder: Path) -> str | None:
        flags = [("sharding", "pin.json")]
        flags += [("mesh", case.value("mesh"))] if case.has("mesh") else []
        oracle = replace(case, command="partition", flags=tuple(flags))
        if self.run(oracle, folder).code == 0:
            return f"partition takes the pins that plan refuses: {said.line}"
        return None

    def _would_fit(self, case: Case, outcome: Outcome, folder: Path) -> str | None:
        """What a plan that does not fit is said to need, tried."""
        if case.command != "plan" or not re.search("fit into|would need", outcome.line):
            return None
        cure = re.search(r"--memory ([\d.e+-]+)\)", outcome.line)
        self.counts["does not fit"] += 1
        if cure:
            other = self.run(case.with_flag("memory", cure[1]), folder)
            if other.code != 0:
                return f"--memory {cure[1]} would do, it says: {other.line}"
        if case.has("memory"):
            limit = float(case.value("memory")) * 2**30
            flags = (*case.without("memory", "json").flags, ("json", None))
            free = self.run(replace(case, flags=flags), folder)
            if free.code == 0:
                peak = json.loads(free.stdout)["predicted"]["peak_bytes"]
                if peak <= limit:
                    return f"does not fit, but the plan without --memory takes {peak} of {limit:.0f}"
        more = re.search(r"or (\d+) such devices", outcome.line)
        cluster = case.value("cluster")
        if more and not case.has("mesh") and re.fullmatch(r"[\w-]+:\d+", cluster):
            grown = f"{cluster.split(':')[0]}:{more[1]}"
            if grown.startswith("cpu"):
                other = self.run(case.with_flag("cluster", grown), folder)
                if other.code != 0:
                    return f"{more[1]} devices would do, it says: {other.line}"
        return None


def _run(argv: list[str], folder: Path, limit: str | None) -> Outcome:
    env = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    try:
        done = subprocess.run(
            [BINARY, *argv],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=PATIENCE + float(limit or 60),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(None, "", "")
    return Outcome(done.returncode, done.stdout, done.stderr)


def _abnormal(outcome: Outcome) -> str | None:
    if outcome.code is None:
        return "hangs"
    if outcome.code not in (0, 2):
        return f"exit code {outcome.code}: {outcome.line[-300:]}"
    lines = outcome.stderr.splitlines()
    if outcome.code == 0:
        return f"talks on stderr: {outcome.line[:300]}" if lines else None
    if len(lines) != 1 or not lines[0].startswith("meshwright "):
        return f"refuses in {len(lines)} lines: {outcome.line[:300]}"
    if outcome.stdout:
        return f"refuses with an answer: {outcome.stdout[:100]}"
    return None


def _wrongly_refused(command: str, plan: dict, line: str) -> str | None:
    """A plan is taken, but where a pipeline, or only one, is meant."""
    staged = plan["stages"] > 1
    if command == "simulate" and not staged and "one stage" in line:
        return None
    if command in ("partition", "explain") and staged and "stages" in line:
        return None
    if command == "explain" and "is called" in line:
        return None
    return f"refused: {line}"


def _not_json(outcome: Outcome) -> str | None:
    try:
        json.loads(outcome.stdout)
    except ValueError as error:
        return f"no JSON: {error}"
    return None


def _mentions(line: str, name: str, case: Case) -> bool:
    """Whether the line speaks of a flag, its value, or a name in its file."""
    value = case.value(name)
    if f"--{name}" in line or (value and len(value) > 1 and value in line):
        return True
    content = dict(case.files).get(value, "") if value else ""
    names = set(re.findall(r'"([^"]+)": ', content)) - SECTIONS
    words = WORDS.get(name, (name,))
    return any(re.search(rf"\b{word}", line) for word in words) or any(
        key in line for key in names
    )


def _not_as_asked(case: Case, plan: dict) -> str | None:
    """Where a plan is not what its flags say."""
    mesh = ",".join(f"{name}={size}" for name, size in plan["mesh"].items())
    axes = {name for name, size in plan["mesh"].items() if size > 1}
    if case.has("mesh") and mesh != case.value("mesh"):
        return f"asked for mesh {case.value('mesh')}: got {mesh}"
    for flag, key in (("micro-batches", "micro_batches"), ("stages", "stages")):
        if case.has(flag) and plan[key] != int(case.value(flag)):
            return f"asked for --{flag} {case.value(flag)}: got {plan[key]}"
    if case.has("strategy") and plan["strategy"] != case.value("strategy"):
        return f"asked for {case.value('strategy')}: got {plan['strategy']}"
    recompute = case.value("recompute")
    recompute = "selective" if recompute == "light" else recompute  # As it was called.
    told = any("recomput" in note for note in plan["notes"])
    if recompute not in (None, "auto", plan["recompute"]) and not told:
        return f"asked for recompute {recompute}: got {plan['recompute']}, no note"
    if case.has("memory"):
        limit = float(case.value("memory")) * 2**30
        if plan["predicted"]["peak_bytes"] > limit:
            return f"memory {limit:.0f}: got {plan['predicted']['peak_bytes']}"
    for word in (case.value("forbid") or "").split(",") if case.has("forbid") else ():
        kind, _, axis = word.partition("@")
        for one in plan["collectives"]:
            along = set(re.findall(r"\w+", one["axes"])) & axes
            if one["kind"] == kind and (not axis or axis in along):
                return f"forbidden {word}: runs along {one['axes']}"
    return None
