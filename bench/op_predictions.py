"""Predicted against measured time of single ops, on 8 virtual CPU devices.

    ./mw bench op_predictions --realtime
    ./mw bench op_predictions --realtime --only dot

A plan is chosen by the ratios between predictions, so an op that is predicted too cheap
draws work to itself. Each row is a step of one op many times over, on local arrays of the
given sizes: dots in the orders of the forward pass (nn), the backward pass (nt) and the
gradients of weights (tn), optimizer updates, and collectives of arrays by which devices
differ. Processor time over the cores, median of steps, at assumed rates or those of
--database. Bar: every ratio within 1.5 times of their geometric mean.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from _machine import describe
from cost_accuracy import Probe

BAR = 1.5
CORES = min(8, os.cpu_count())

DOTS = {
    "nn": ((0, 1), (1, 2), 1, 0),  # Dimensions (rows, contracted, columns).
    "nt": ((0, 1), (2, 1), 1, 1),
    "tn": ((1, 0), (1, 2), 0, 0),
}
DOT_SIZES = [
    (16, 128, 512),
    (64, 512, 512),
    (128, 128, 512),
    (128, 1024, 64),
    (256, 256, 128),
    (1024, 128, 64),
]
ARRAY_SIZES = [(8, 32), (128, 128), (512, 512)]
MESHES = {2: {"y": 4, "x": 2}, 8: {"x": 8}}
REDUCE = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
FLOPS = 1e8  # Of all dots of a step, about.


def shape(*sizes) -> str:
    return f"f32[{','.join(map(str, sizes))}]"


def dots(kind: str, sizes: tuple, count: int) -> str:
    """A loop of them, of which each depends on the one before."""
    left, right, by_left, by_right = DOTS[kind]
    x, w = (shape(*(sizes[i] for i in dims)) for dims in (left, right))
    out, carried = shape(sizes[0], sizes[2]), f"(s32[], {x}, {w})"
    return f"""HloModule dots
body {{
  p = {carried} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = {x} get-tuple-element(p), index=1
  w = {w} get-tuple-element(p), index=2
  d = {out} dot(x, w), lhs_contracting_dims={{{by_left}}}, rhs_contracting_dims={{{by_right}}}
  e = f32[1,1] slice(d), slice={{[0:1], [0:1]}}
  z = s32[] constant(0)
  next = {x} dynamic-update-slice(x, e, z, z)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = {carried} tuple(j, next, w)
}}
condition {{
  p = {carried} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant({count})
  ROOT r = pred[] compare(i, n), direction=LT
}}
ENTRY main {{
  x = {x} parameter(0)
  w = {w} parameter(1)
  z = s32[] constant(0)
  t = {carried} tuple(z, x, w)
  l = {carried} while(t), condition=condition, body=body
  ROOT o = {x} get-tuple-element(l), index=1
}}
"""


def separately(count: int, parameter: str, result: str, line: str) -> str:
    """`line` for each parameter; all results are outputs."""
    text = f"HloModule ops\n{REDUCE}ENTRY main {{\n zero = f32[] constant(0)\n"
    for i in range(count):
        text += f" p{i} = {parameter} parameter({i})\n"
    for i in range(count):
        text += " " + line.format(i=i) + "\n"
    results = ", ".join(f"o{i}" for i in range(count))
    return text + f" ROOT r = ({', '.join([result] * count)}) tuple({results})\n}}\n"


def gathers(sizes: tuple, count: int) -> str:
    array = shape(*sizes)
    return separately(count, array, array, f"o{{i}} = {array} negate(p{{i}})")


def sums(devices: int, sizes: tuple, count: int) -> str:
    parameter, result = shape(devices, *sizes), shape(*sizes)
    line = f"o{{i}} = {result} reduce(p{{i}}, zero), dimensions={{{{0}}}}, to_apply=add"
    return separately(count, parameter, result, line)


def updates(size: int, count: int) -> str:
    """Momentum: two arrays are read and written."""
    array, both = shape(size), 2 * count
    aliases = ", ".join(f"{{{i}}}: ({i}, {{}}, may-alias)" for i in range(both))
    text = f"HloModule updates, input_output_alias={{ {aliases} }}\nENTRY main {{\n"
    text += f" s = f32[] constant(0.9)\n b = {array} broadcast(s), dimensions={{}}\n"
    for i in range(both):
        text += f" p{i} = {array} parameter({i})\n"
    for i in range(count):
        text += f" k{i} = {array} multiply(p{count + i}, b)\n"
        text += f" m{i} = {array} add(k{i}, p{i})\n"
        text += f" n{i} = {array} subtract(p{i}, m{i})\n"
    names = [f"n{i}" for i in range(count)] + [f"m{i}" for i in range(count)]
    types = ", ".join([array] * both)
    return text + f" ROOT r = ({types}) tuple({', '.join(names)})\n}}\n"


def cases():
    """(name, module, sharding file, ops of a step)"""
    for sizes in DOT_SIZES:
        count = max(8, int(FLOPS / (2 * sizes[0] * sizes[1] * sizes[2])))
        for kind in DOTS:
            name = f"dot {kind} {'x'.join(map(str, sizes))}"
            yield name, dots(kind, sizes, count), {"mesh": MESHES[8]}, count
    for size, count in ((1 << 10, 40), (1 << 14, 40), (1 << 18, 8)):
        yield f"update {size}", updates(size, count), {"mesh": MESHES[8]}, count
    for devices, mesh in MESHES.items():
        for sizes in ARRAY_SIZES:
            count = 20 if sizes[0] < 512 else 6
            label = f"of {devices} {'x'.join(map(str, sizes))}"
            names = [f"p{i}" for i in range(count)]
            whole = {f"out/{i}": [[], []] for i in range(count)}
            for dimension in (0, 1):
                axes = [["x"], []] if dimension == 0 else [[], ["x"]]
                rows = {"mesh": mesh, "parameters": {name: axes for name in names}}
                rows["outputs"] = whole
                name = f"all-gather {label} dimension {dimension}"
                yield name, gathers(sizes, count), rows, count
            rows = {
                "mesh": mesh,
                "parameters": {name: [["x"], [], []] for name in names},
            }
            rows["outputs"] = whole
            yield f"all-reduce {label}", sums(devices, sizes, count), rows, count


def measure(module: str, sharding: dict, options, folder: Path) -> tuple[float, float]:
    """Predicted and measured seconds of a step."""
    source, plan = folder / "op.hlo", folder / "op.json"
    source.write_text(module)
    plan.write_text(json.dumps({"parameters": {}} | sharding))
    probe = Probe(str(source), plan, options.database, realtime=options.realtime)
    for _ in range(options.turns):
        probe.step(5)
    probe.close()
    taken = statistics.median(cpu for _, cpu in probe.steps) / CORES
    return probe.report["predicted"]["step_seconds"], taken


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="rows that begin with this")
    parser.add_argument("--turns", type=int, default=4, help="of five steps")
    parser.add_argument("--database", type=Path, help="of rates measured before")
    parser.add_argument("--realtime", action="store_true", help="before all others")
    parser.add_argument("--json", type=Path, help="write every number here")
    options = parser.parse_args()
    print(describe())
    print(f"{'op':34} {'predicted':>12} {'measured':>12} {'ratio':>6}")
    ratios = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, module, sharding, count in cases():
            if not name.startswith(options.only):
                continue
            predicted, taken = measure(module, sharding, options, Path(folder))
            ratios[name] = predicted / taken
            times = f"{1e6 * predicted / count:9.1f} us {1e6 * taken / count:9.1f} us"
            print(f"{name:34} {times} {ratios[name]:6.2f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(ratios, indent=1))
    mean = statistics.geometric_mean(ratios.values())
    apart = {name: max(r / mean, mean / r) for name, r in ratios.items()}
    worst = max(apart, key=apart.get)
    missed = apart[worst] > BAR
    print(
        f"geometric mean {mean:.2f}; {worst} is {apart[worst]:.2f} times from it, bar "
        f"{BAR}: {'missed' if missed else 'kept'}"
    )
    sys.exit(missed)


if __name__ == "__main__":
    main()
