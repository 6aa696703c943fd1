"""Bytes between stages and balance of work, ours against contiguous cuts.

    ./mw bench stage_cut                 # unet, gpt, an encoder-decoder; 2, 4, 8 stages
    ./mw bench stage_cut unet:tiny --stages 2,4

The others cut the program's order: `uniform`, the same number of layers on every stage;
`linear`, the dynamic programme with the least work on the bottleneck stage; `fewest`, the
same with the fewest bytes within 5 %. Each is compared with what we cut within its own
balance; `ours` is what we cut within 5 %. Bytes are of one micro-batch, both ways.

Bars: never more bytes nor a worse balance; on every unet fewer bytes over all numbers
of stages.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import _encoder_decoder
from _machine import describe
from meshwright.zoo.train_step import Step

from meshwright import zoo

ROOT = Path(__file__).resolve().parents[1]
PROBE = ROOT / "build/release/bench/stage_cut"
MODELS = ["unet:tiny", "unet:small", "unet:large", "gpt:117m", "encoder-decoder"]
OTHERS = {"uniform": "uniform", "linear": "linear", "linear_fewest": "fewest"}
MICRO_BATCHES = {"unet:tiny": 4}  # Of a batch of 8; all others have 8.
ROUNDING = 1e-6


def build(model: str) -> Step:
    if model != "encoder-decoder":
        return zoo.build(*model.split(":"))
    config = _encoder_decoder.Config(
        layers=12, width=1024, heads=16, vocab=32000, seq=512, batch=64, dtype="bf16"
    )
    return Step(_encoder_decoder, config)


def measure(module: Path, model: str, stages: int) -> dict:
    count = MICRO_BATCHES.get(model, 8)
    command = [PROBE, module, str(stages), str(count), "1"]
    report = json.loads(subprocess.check_output(list(map(str, command))))
    return {"model": model, "stages": stages} | report


def misses(rows: list[dict]) -> list[str]:
    found = []
    for row in rows:
        for name in OTHERS.keys() & row.keys():
            other, ours = row[name], row[name]["ours"]
            if (
                ours["bytes"] > other["bytes"]
                or ours["balance"] > other["balance"] + ROUNDING
            ):
                found.append(f"{row['model']} in {row['stages']}: {name} is better")
    for model in sorted({row["model"] for row in rows if "unet" in row["model"]}):
        for name in OTHERS:
            pairs = [r[name] for r in rows if r["model"] == model and name in r]
            ours = sum(pair["ours"]["bytes"] for pair in pairs)
            if pairs and ours >= sum(pair["bytes"] for pair in pairs):
                found.append(f"{model}: no fewer bytes than {name}")
    return found


def show(row: dict) -> None:
    def cell(cut: dict) -> str:
        return f"{cut['bytes'] / 1e6:10.3f} MB {cut['balance']:.3f}"

    ours = row["ours"]
    print(
        f"{row['model']:16} {row['stages']:2} stages  ours {cell(ours)}  "
        f"gap {100 * ours['gap']:.1f} %  {ours['seconds']:.2f} s"
    )
    for name, label in OTHERS.items():
        if name in row:
            other = row[name]
            print(f"{label:>30} {cell(other)}   ours {cell(other['ours'])}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--stages", default="2,4,8")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            module = Path(folder) / "step.hlo.pb.zst"
            build(model).lower().save(module)
            for stages in map(int, options.stages.split(",")):
                rows.append(measure(module, model, stages))
                if not options.json:
                    show(rows[-1])
    missed = misses(rows)
    if options.json:
        print(json.dumps({"machine": describe("jax"), "rows": rows, "missed": missed}))
    else:
        print("\n".join([describe("jax"), *(f"missed: {line}" for line in missed)]))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
