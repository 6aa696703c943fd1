"""Random combinations of flags, each told by its number alone.

case = draw(17, ["mlp", "gpt_tiny"])
case.argv(folder)      # ["plan", ".../mlp.hlo.pb.zst", "--cluster", "cpu:8", ...]
"""

import itertools
import json
import random
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from combination_modules import SMALL, Facts, facts

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
KINDS += ("collective-permute",)
STRATEGIES = ("auto", "dp", "zero2", "zero3", "megatron", "sequence", "volume")
PLAN_SCHEDULES = ("gpipe", "1f1b", "zero-bubble", "auto")
SCHEDULES = (*PLAN_SCHEDULES, "interleaved", "breadth-first", "zero-bubble-v")
RECOMPUTE = ("auto", "none", "light", "selective", "full")
AXES = ("data", "model", "x")


@dataclass(frozen=True)
class Case:
    """One command, and what is done with its plan.

    `flags` are (name, value or None); a value that is a key of `files` stands for
    the path of that file.
    """

    number: int
    module: str
    command: str
    flags: tuple[tuple[str, str | None], ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    takes_module: bool = True
    after: tuple[str, ...] = ()  # Commands on the plan.

    def value(self, flag: str) -> str | None:
        return dict(self.flags).get(flag)

    def has(self, flag: str) -> bool:
        return flag in dict(self.flags)

    def without(self, *names: str) -> "Case":
        flags = tuple(one for one in self.flags if one[0] not in names)
        return replace(self, flags=flags)

    def with_flag(self, name: str, value: str | None) -> "Case":
        flags = [*self.without(name).flags, (name, value)]
        return replace(self, flags=tuple(flags))

    def optional(self) -> list[str]:
        """Flags that the command can do without."""
        return [name for name, _ in self.flags if name not in ("cluster", "assumed")]

    def argv(self, folder: Path) -> list[str]:
        made = dict(self.files)
        words = [str(folder / w) if w in made else w for w in self.command.split()]
        if self.takes_module:
            words.append(str(facts(self.module).path))
        for name, value in self.flags:
            words.append(f"--{name}")
            if value in dict(self.files):
                words.append(str(folder / value))
            elif value is not None:
                words.append(value)
        return words

    def write_files(self, folder: Path) -> None:
        for name, content in self.files:
            (folder / name).write_text(content)

    def shell(self) -> str:
        """One line that does it again."""
        used = {*self.command.split(), *(value for _, value in self.flags)}
        made = [
            f"printf %s {shlex.quote(content)} > {name};"
            for name, content in self.files
            if name in used and content
        ]
        words = ["meshwright", *map(shlex.quote, self.argv(Path()))]
        return " ".join([*made, *words])


def draw(number: int, modules) -> Case:
    rng = random.Random(number)
    module = rng.choice(list(modules))
    kind = rng.choices(
        ("plan", "split", "stages", "simulate", "inspect", "solve", "profile"),
        (64, 12, 12, 6, 3, 2, 1),
    )[0]
    if kind == "stages" and module not in SMALL and rng.random() < 0.8:
        kind = "plan"  # Which is quicker than to compile many programs.
    makers = {
        "plan": _plan,
        "split": _split,
        "stages": _stages,
        "simulate": _simulate,
        "inspect": _inspect,
        "solve": _solve,
        "profile": _profile,
    }
    return makers[kind](rng, Case(number, module, kind), facts(module))


def _some(rng, flags, probability, name, make):
    if rng.random() < probability:
        flags.append((name, make()))


def _mesh(rng, devices: int) -> dict[str, int]:
    """Axes whose sizes have `devices` for their product, seldom less."""
    if devices > 2 and rng.random() < 0.15:
        devices -= 1
    names = rng.sample(AXES, rng.choice((1, 2, 2, 3)))
    sizes = dict.fromkeys(names, 1)
    rest, prime = devices, 2
    while rest > 1:
        if rest % prime:
            prime += 1
            continue
        sizes[rng.choice(names)] *= prime
        rest //= prime
    return sizes


def _text(mesh: dict[str, int]) -> str:
    return ",".join(f"{name}={size}" for name, size in mesh.items())


def _cluster(rng) -> tuple[str, int, str | None]:
    """What --cluster says, how many devices that is, and the content of a file."""
    if rng.random() < 0.7:
        devices = rng.choice((1, 2, 3, 4, 4, 6, 8, 8, 8))
        return f"cpu:{devices}", devices, None
    kind = rng.choice(("h200", "a100", "v100", "tpu-v5p", "b200"))
    hosts, each = rng.choice(((1, 4), (1, 8), (2, 2), (2, 4), (1, 3), (4, 2)))
    if rng.random() < 0.6:
        return f"{kind}:{hosts}x{each}", hosts * each, None
    cluster = {
        "device": {"kind": kind, "memory_gib": rng.choice((16, 40, 141))},
        "hosts": [{"count": hosts, "devices": each}],
        "links": {"host": {"gbps": rng.choice((100, 3600)), "us": 3}},
    }
    if hosts > 1:
        cluster["links"]["cluster"] = {"gbps": rng.choice((10, 400)), "us": 8}
    return "cluster.json", hosts * each, json.dumps(cluster)


def _sharding(rng, rank: int, mesh: dict[str, int], is_open: float) -> str:
    names = rng.sample(list(mesh), len(mesh))
    dims: list[list[str]] = [[] for _ in range(rank)]
    for name in names:
        if rank and rng.random() < 0.6:
            dims[rng.randrange(rank)].append(name)
    words = []
    for dim in dims:
        if not dim:
            words.append("?" if rng.random() < is_open else "-")
        else:
            words.append(dim[0] if len(dim) == 1 else f"({','.join(dim)})")
    return f"[{', '.join(words)}]"


def _layout_file(rng, known: Facts, mesh: dict[str, int], is_open: float) -> str:
    """A sharding file: a few parameters, seldom outputs and instructions."""
    sections: dict[str, dict[str, str]] = {"parameters": {}}
    for name, shape, _ in rng.sample(
        known.parameters, min(rng.choice((1, 1, 2, 4)), len(known.parameters))
    ):
        sections["parameters"][name] = _sharding(rng, len(shape), mesh, is_open)
    if rng.random() < 0.2 and known.outputs:
        name, shape = rng.choice(known.outputs)
        if name not in sections["parameters"]:
            text = _sharding(rng, len(shape), mesh, is_open)
            sections["outputs"] = {name: text}
    if rng.random() < 0.2 and known.dots:
        dot, rank = rng.choice(known.dots)
        sections["instructions"] = {dot: _sharding(rng, rank, mesh, is_open)}
    return json.dumps({"mesh": mesh, **sections})


def _memory(rng, known: Facts, devices: int) -> str:
    """Around what a device needs: often too little, often enough."""
    bytes_each = known.peak_bytes * rng.choice((0.5, 1, 1.5, 3)) / devices
    return f"{max(bytes_each * rng.uniform(0.5, 2), 4096) / 2**30:.4g}"


def _forbidden(rng, mesh: dict[str, int] | None) -> str:
    kinds = rng.sample(KINDS, rng.choice((1, 1, 2, 3)))
    if mesh and rng.random() < 0.5:
        axis = rng.choice(list(mesh))
        kinds = [f"{kind}@{axis}" if rng.random() < 0.6 else kind for kind in kinds]
    return ",".join(kinds)


def _plan(rng, case: Case, known: Facts) -> Case:
    cluster, devices, content = _cluster(rng)
    flags: list[tuple[str, str | None]] = [("cluster", cluster), ("assumed", None)]
    files = {} if content is None else {cluster: content}
    mesh = _mesh(rng, devices) if rng.random() < 0.5 else None
    stages = None
    if rng.random() < 0.3:
        stages = rng.choice((1, 2, 2, 3, 4))
        if mesh and stages > 1 and rng.random() < 0.8:
            mesh = _mesh(rng, max(1, devices // stages))
    if mesh:
        flags.append(("mesh", _text(mesh)))
    if stages is not None:
        flags.append(("stages", str(stages)))
        _some(rng, flags, 0.4, "schedule", lambda: rng.choice(PLAN_SCHEDULES))
    _some(rng, flags, 0.4, "strategy", lambda: rng.choice(STRATEGIES))
    counts = ("1", "2", "2", "4", "8", "3")
    _some(rng, flags, 0.35, "micro-batches", lambda: rng.choice(counts))
    _some(rng, flags, 0.35, "recompute", lambda: rng.choice(RECOMPUTE))
    _some(rng, flags, 0.35, "memory", lambda: _memory(rng, known, devices))
    _some(rng, flags, 0.3, "forbid", lambda: _forbidden(rng, mesh))
    axes = list(mesh) if mesh else ["data", "rows"]
    _some(rng, flags, 0.25, "batch-axis", lambda: rng.choice(axes))
    if mesh and rng.random() < 0.4:
        flags.append(("pin", "pin.json"))
        files["pin.json"] = _layout_file(rng, known, mesh, 0.2)
    _some(rng, flags, 0.7, "time-limit", lambda: rng.choice(("1", "2", "5")))
    _some(rng, flags, 0.3, "seed", lambda: str(rng.randrange(100)))
    if cluster.startswith("cpu") and known.name in SMALL and rng.random() < 0.03:
        flags.append(("measure", None))
    if rng.random() < 0.5:
        flags.append(("json", None))
    after = [one for one in ("partition", "explain", "simulate") if rng.random() < 0.1]
    runs = 0.15 if known.name in SMALL else 0.03
    after += [one for one in ("check", "run") if rng.random() < runs]
    if rng.random() < 0.03 and known.dots:
        after.append(f"explain {rng.choice(known.dots)[0]}")
    return _made(case, "plan", flags, files, after=tuple(after))


def _split(rng, case: Case, known: Facts) -> Case:
    """Shardings by hand: partition, or check and run where that is quick."""
    devices = rng.choice((1, 2, 4, 6, 8))
    mesh = _mesh(rng, devices)
    command = "partition"
    if known.name in SMALL:
        command = rng.choice(("partition", "check", "run"))
    elif rng.random() < 0.1:
        command = rng.choice(("check", "run"))
    flags: list[tuple[str, str | None]] = []
    files = {}
    if rng.random() < 0.8:
        flags.append(("sharding", "sharding.json"))
        files["sharding.json"] = _layout_file(rng, known, mesh, 0.2)
    if not flags or rng.random() < 0.3:
        flags.append(("mesh", _text(mesh)))
    if command == "partition":
        _some(rng, flags, 0.2, "output", lambda: "program.hlo.pb")
        _some(rng, flags, 0.2, "text", lambda: None)
    else:
        flags += _steps(rng, command)
    if command == "check":
        _some(rng, flags, 0.2, "tolerance", lambda: rng.choice(("1e-4", "0.01")))
    _some(rng, flags, 0.4, "json", lambda: None)
    if ("output", "program.hlo.pb") in flags:
        files["program.hlo.pb"] = ""
    return _made(case, command, flags, files)


def _steps(rng, command: str) -> list[tuple[str, str | None]]:
    flags: list[tuple[str, str | None]] = [("steps", rng.choice(("1", "2", "3")))]
    _some(rng, flags, 0.3, "seed", lambda: str(rng.randrange(100)))
    _some(rng, flags, 0.2, "platform", lambda: "cpu")
    if command == "run":
        _some(rng, flags, 0.2, "save", lambda: "state.safetensors")
    return flags


def _stages(rng, case: Case, known: Facts) -> Case:
    """Stages by number."""
    command = rng.choice(("check", "run"))
    stages = rng.choice((1, 2, 2, 3, 4))
    flags: list[tuple[str, str | None]] = [("stages", str(stages))]
    files = {"state.safetensors": "", "trace.json": ""}
    if rng.random() < 0.15 and len(known.dots) > stages:
        flags = [("stages", "stages.json")]
        files["stages.json"] = _stage_file(rng, known, stages)
    _some(rng, flags, 0.4, "devices-per-stage", lambda: rng.choice(("1", "2", "4")))
    counts = ("2", "4", "4", "8", "3")
    _some(rng, flags, 0.6, "micro-batches", lambda: rng.choice(counts))
    _some(rng, flags, 0.6, "schedule", lambda: rng.choice(SCHEDULES))
    _some(rng, flags, 0.3, "recompute", lambda: rng.choice(RECOMPUTE[1:]))
    _some(rng, flags, 0.2, "ranks", lambda: str(rng.randint(1, stages)))
    _some(rng, flags, 0.15, "estimate-statistics", lambda: None)
    flags += _steps(rng, command)
    _some(rng, flags, 0.4, "json", lambda: None)
    if command == "run":
        _some(rng, flags, 0.2, "trace", lambda: "trace.json")
    return _made(case, command, flags, files)


def _stage_file(rng, known: Facts, stages: int) -> str:
    """Matrix products in the order of the module, cut anywhere."""
    names = [name for name, _ in known.dots]
    cuts = sorted(rng.sample(range(1, len(names)), stages - 1))
    bounds = [0, *cuts, len(names)]
    lists = [names[i:j] for i, j in itertools.pairwise(bounds)]
    return json.dumps([{"instructions": one} for one in lists])


def _simulate(rng, case: Case, _: Facts) -> Case:
    devices = rng.choice((1, 2, 3, 4, 8))
    flags: list[tuple[str, str | None]] = [("devices", str(devices))]
    chunks = rng.choice((1, 1, 2, 3))
    stages = devices * chunks
    _some(rng, flags, 0.4, "stages", lambda: str(stages))
    if chunks > 1 or rng.random() < 0.2:
        flags.append(("chunks", str(chunks)))
    flags.append(("micro-batches", rng.choice(("1", "2", "7", "8", "16", "64"))))
    _some(rng, flags, 0.7, "schedule", lambda: rng.choice((*SCHEDULES, "all")))

    def seconds(count=stages):
        values = [f"{rng.uniform(0.1, 3):.3g}" for _ in range(count)]
        return rng.choice((values[0], ",".join(values)))

    for name in ("forward", "input-grad", "weight-grad", "backward", "apply"):
        _some(rng, flags, 0.2, name, seconds)
    if stages > 1:
        _some(rng, flags, 0.3, "transfer", lambda: f"{rng.uniform(0, 1):.3g}")
    if stages > 2 and rng.random() < 0.2:
        flags.append(("edge", f"0:{rng.randint(2, stages - 1)}=0.1"))
    if rng.random() < 0.4:
        flags.append(("activations", rng.choice(("1", "100"))))
        _some(rng, flags, 0.4, "kept", lambda: rng.choice(("0.5", "1")))
        _some(rng, flags, 0.5, "memory", lambda: rng.choice(("0.001", "0.1", "1")))
    _some(rng, flags, 0.2, "barrier", lambda: None)
    _some(rng, flags, 0.3, "transfers", lambda: None)
    _some(rng, flags, 0.3, "columns", lambda: rng.choice(("40", "80", "200")))
    _some(rng, flags, 0.3, "json", lambda: None)
    _some(rng, flags, 0.1, "csv", lambda: "timetable.csv")
    _some(rng, flags, 0.1, "trace", lambda: "trace.json")
    files = {"timetable.csv": "", "trace.json": ""}
    return _made(case, "simulate", flags, files, takes_module=False)


def _inspect(rng, case: Case, _: Facts) -> Case:
    flags: list[tuple[str, str | None]] = []
    for name in ("parameters", "text", "json"):
        _some(rng, flags, 0.4, name, lambda: None)
    return _made(case, "inspect", flags, {})


def _solve(rng, case: Case, _: Facts) -> Case:
    nodes, options = rng.randint(2, 30), rng.randint(1, 5)
    costs = [[rng.randrange(100) for _ in range(options)] for _ in range(nodes)]
    usages = [[rng.randrange(50) for _ in range(options)] for _ in range(nodes)]
    pairs = [[i, i + 1] for i in range(nodes - 1)]
    tables = [[rng.randrange(90) for _ in range(options**2)] for _ in pairs]
    problem = {
        "name": "random",
        "nodes": {
            "intervals": [[i, i + 6] for i in range(nodes)],
            "costs": costs,
            "usages": usages,
        },
        "edges": {"nodes": pairs, "costs": tables},
    }
    if rng.random() < 0.5:
        problem["usage_limit"] = rng.randint(20, 400)
    flags: list[tuple[str, str | None]] = []
    _some(rng, flags, 0.8, "time-limit", lambda: rng.choice(("1", "5")))
    _some(rng, flags, 0.3, "work-limit", lambda: rng.choice(("1", "100000")))
    _some(rng, flags, 0.3, "seed", lambda: str(rng.randrange(100)))
    _some(rng, flags, 0.3, "threads", lambda: rng.choice(("1", "2")))
    _some(rng, flags, 0.5, "json", lambda: None)
    files = {"problem.json": json.dumps({"problem": problem})}
    made = _made(case, "solve", flags, files, takes_module=False)
    return replace(made, command="solve problem.json")


def _profile(rng, case: Case, _: Facts) -> Case:
    flags: list[tuple[str, str | None]] = []
    _some(rng, flags, 0.5, "json", lambda: None)
    _some(rng, flags, 0.3, "devices", lambda: "2")
    return _made(case, "profile", flags, {}, takes_module=False)


def _made(case: Case, command: str, flags, files, **more) -> Case:
    return replace(
        case, command=command, flags=tuple(flags), files=tuple(files.items()), **more
    )
