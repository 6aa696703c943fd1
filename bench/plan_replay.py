"""The same plans as before? Replays recorded plans and names every difference.

    ./mw bench plan_replay              # tiny and published sizes, minutes
    ./mw bench plan_replay --quick      # what CI runs
    ./mw bench plan_replay gpt vit:huge # cases whose name holds one of these
    ./mw bench plan_replay --update     # records what is planned now

A record is what a plan decides and promises: mesh, stages, micro-batches, schedule,
recomputation, predicted step and memory, the gap that is proven, collectives by kind and
axes, and a digest of all layouts. Times are compared to a millionth, the rest exactly.
Whatever differs is either a mistake or belongs into the message of its commit.
"""

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import _replay_cases
from _replay_cases import ROOT, Case

RECORDS = ROOT / "testdata/replay/plans.json"
TOLERANCE = 1e-6
# Of a gap, which is a difference of nearly equal numbers.
GAP_TOLERANCE = 1e-4


def record_of(report: dict) -> dict:
    """What a plan decides and promises."""
    predicted = report["predicted"]
    return {
        "mesh": ",".join(f"{axis}={size}" for axis, size in report["mesh"].items()),
        "stages": report["stages"],
        "micro_batches": report["micro_batches"],
        "schedule": report["schedule"],
        "recompute": report["recompute"],
        "step_seconds": predicted["step_seconds"],
        "peak_bytes": predicted["peak_bytes"],
        "gap": report["bound"]["gap"],
        "collectives": _collectives(report["collectives"]),
        "layouts": _digest(report),
    }


def _collectives(listed: list[dict]) -> dict[str, list]:
    """By kind and axes: how many a step, and how many bytes a device sends."""
    sums: dict[str, list] = {}
    for one in listed:
        of = sums.setdefault(f"{one['kind']} along {one['axes']}", [0, 0])
        of[0] += one["count"]
        of[1] += one["count"] * one["wire_bytes"]
    return dict(sorted(sums.items()))


def _digest(report: dict) -> str:
    """Whatever the format of plan files, the same for the same plan: layouts other than
    the first are counted with the pipeline, which alone has them."""
    first, *others = report["layouts"]
    pipeline = report.get("pipeline")
    if pipeline is not None:
        pipeline = dict(pipeline)
        layout_of_rank = pipeline.pop("layout_of_rank")
        if others:
            pipeline |= {"layout_of_rank": layout_of_rank, "other_layouts": others}
    parts = [report["shardings"], first["strategies"], first["moved"], pipeline]
    held = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(held.encode()).hexdigest()[:16]


def replay(tool: Path, case: Case, folder: Path) -> dict:
    """The record of a plan made now; of a refusal, its line."""
    path = folder / f"{abs(hash(case))}.plan.json"
    command = [tool, "plan", case.module(folder), *case.flags(folder)]
    command += ["--assumed", "--time-limit", "600", "-o", path]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        return {"refused": done.stderr.strip().splitlines()[-1:]}
    return record_of(json.loads(path.read_text()))


def differences(before: dict, now: dict) -> list[str]:
    found = []
    for key in sorted(before.keys() | now.keys()):
        old, new = before.get(key), now.get(key)
        if not _same(key, old, new):
            found.append(f"{key}: {_shown(old)} -> {_shown(new)}")
    return found


def _same(key: str, old, new) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        if key == "gap":
            return abs(old - new) <= GAP_TOLERANCE
        return math.isclose(old, new, rel_tol=TOLERANCE)
    return old == new


def _shown(value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else json.dumps(value)


def chosen(options) -> list[Case]:
    cases = _replay_cases.quick() if options.quick else _replay_cases.every()
    if not options.names:
        return cases
    return [case for case in cases if any(name in case.name for name in options.names)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="only cases whose name holds one")
    parser.add_argument("--quick", action="store_true", help="the part that CI runs")
    parser.add_argument("--update", action="store_true", help="record these plans")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args()
    default = ROOT / "build/release/meshwright/cli/meshwright"
    tool = Path(os.environ.get("MESHWRIGHT_BIN", default))
    records = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    cases = chosen(options)
    if not cases:
        print(f"no case holds {' or '.join(options.names)}", file=sys.stderr)
        return 2
    changed: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folder = Path(name)
        for case in cases:  # Once each, before they are shared.
            case.module(folder)
        plans = pool.map(lambda case: replay(tool, case, folder), cases)
        for case, now in zip(cases, plans, strict=True):
            before = records.get(case.name)
            new = ["not recorded yet"] if before is None else differences(before, now)
            if new:
                changed[case.name] = new
            if not options.json:
                print(f"{case.name:<64} {'; '.join(new) or 'the same'}", flush=True)
            records[case.name] = now
    if options.update:
        RECORDS.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n")
    if options.json:
        print(json.dumps({"cases": len(cases), "changed": changed}))
    else:
        print(f"{len(cases)} plans, {len(changed)} of them changed")
    return 1 if changed and not options.update else 0


if __name__ == "__main__":
    sys.exit(main())
