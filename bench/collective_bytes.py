"""Bytes that collectives send per step, ours against XLA's SPMD partitioner.

    ./mw bench collective_bytes                     # every tiny model, every plan
    ./mw bench collective_bytes gpt moe:expert --verbose

Both sides split the same step in the same way over 8 devices. Counted is what one
device sends in a step, for operands of L bytes in groups of n: all-reduce 2(n-1)/n L,
all-gather (n-1) L, reduce-scatter and all-to-all (n-1)/n L, collective-permute L.

XLA for the CPU makes no reduce-scatters: it reduces all and slices. Its backends for
accelerators do, so the second pair of columns counts such an all-reduce as one.
Bars: geometric mean at most 1.0, for both.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from _machine import describe
from _sharded_step import Case, cases, use_virtual_devices
from _xla_collectives import Collective, collectives, wire_bytes

ROOT = Path(__file__).resolve().parents[1]
BAR = 1.0
WORST = 5


def xla_collectives(case: Case) -> list[Collective]:
    """As counted in a step, in the program that XLA made."""
    lowered = case.jitted().lower(case.step.state_shapes, case.step.batch_shapes)
    return collectives(lowered.compile().as_text())


def our_report(case: Case, tool: Path) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        module, shardings = case.save(Path(folder))
        command = [tool, "partition", module, "--sharding", shardings, "--json"]
        return json.loads(subprocess.check_output(list(map(str, command))))


def measure(case: Case, options) -> dict:
    ours, xla = our_report(case, options.tool), xla_collectives(case)
    total = sum(c.count * c.wire_bytes for c in xla)
    saved = sum(
        c.count * (c.wire_bytes - wire_bytes("reduce-scatter", c.devices, c.bytes))
        for c in xla
        if c.sliced
    )
    return {
        "case": case.name,
        "ours": ours["wire_bytes"],
        "xla": total,
        "ratio": ours["wire_bytes"] / total,
        "xla_scattering": total - saved,
        "ratio_scattering": ours["wire_bytes"] / (total - saved),
        "by_kind": _by_kind(ours["collectives"]),
        "xla_by_kind": _by_kind([vars(c) | {"wire_bytes": c.wire_bytes} for c in xla]),
        "largest": _largest(ours["collectives"]),
        "fallbacks": len(ours["fallbacks"]),
    }


def _by_kind(found: list[dict]) -> dict[str, float]:
    """`{"all-reduce/8": 786695.0}`: bytes sent by kind and group size."""
    total = Counter()
    for c in found:
        total[f"{c['kind']}/{c['devices']}"] += c["count"] * c["wire_bytes"]
    return dict(total)


def _largest(found: list[dict]) -> list[str]:
    found = sorted(found, key=lambda c: -c["count"] * c["wire_bytes"])
    return [
        f"{c['kind']} {c['axes']} {c['count'] * c['wire_bytes']:,.0f} {c['tensor']}"
        for c in found[:WORST]
    ]


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def _kinds_text(kinds: dict[str, float]) -> str:
    return ", ".join(f"{kind} {size:,.0f}" for kind, size in sorted(kinds.items()))


def _print_row(row: dict, options) -> None:
    print(
        f"{row['case']:24} {row['ours']:10,.0f} {row['xla']:10,.0f} {row['ratio']:6.3f} "
        f"{row['xla_scattering']:10,.0f} {row['ratio_scattering']:6.3f}",
        flush=True,
    )
    if options.verbose:
        print(f"    ours {_kinds_text(row['by_kind'])}")
        print(f"    xla  {_kinds_text(row['xla_by_kind'])}")
        for line in row["largest"]:
            print(f"      {line}")


def _print_summary(rows: list[dict]) -> dict[str, float]:
    means = {
        key: geometric_mean([row[key] for row in rows])
        for key in ("ratio", "ratio_scattering")
    }
    text = f"{means['ratio']:6.3f} {'':10} {means['ratio_scattering']:6.3f}"
    print(f"{'geometric mean':24} {'':10} {'':10} {text}")
    for row in sorted(rows, key=lambda r: -r["ratio_scattering"])[:WORST]:
        if row["ratio_scattering"] > BAR:
            print(f"above {BAR}: {row['case']}; largest of ours {row['largest'][0]}")
    return means


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="MODEL or MODEL:PLAN")
    parser.add_argument("--verbose", action="store_true", help="by kind; the largest")
    parser.add_argument("--json", type=Path, help="write every number here")
    default = os.environ.get(
        "MESHWRIGHT_BIN", ROOT / "build/release/meshwright/cli/meshwright"
    )
    parser.add_argument("--tool", type=Path, default=default)
    options = parser.parse_args()
    # The step is not run; XLA partitions it in the same way.
    use_virtual_devices("--xla_backend_optimization_level=0")
    print(describe("jax", "jaxlib"))
    print(
        f"{'case':24} {'ours':>10} {'xla':>10} {'ratio':>6} {'scattering':>10} "
        f"{'ratio':>6}"
    )
    rows = []
    for case in cases(options.cases):
        rows.append(measure(case, options))
        _print_row(rows[-1], options)
    if not rows:
        sys.exit("no such case")
    means = _print_summary(rows)
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "means": means}, indent=1))
    missed = any(mean > BAR for mean in means.values())
    print(f"bar {BAR}: " + ("missed" if missed else "kept"))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
