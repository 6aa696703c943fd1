"""Step time through our engine against `jax.jit` of the same function.

    ./mw bench step_time                                    # every tiny zoo model
    ./mw bench step_time gpt:117m --platform cuda --batch 8 --seq 1024 --dtype bf16

Both sides keep their state on the device, start from the same values and are
stepped in turn, one step each, in the same run. Prints medians and their ratio.
Bars: at most 1.05 on the CPU, 1.02 on a GPU.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from _machine import describe
from _peers import Jax, Ours
from meshwright.tensors import save_tensors
from meshwright.zoo import MODELS, build

ROOT = Path(__file__).resolve().parents[1]
BARS = {"cpu": 1.05}
GPU_BAR = 1.02


def our_options(options) -> list[str]:
    shared_memory = ["memory_fraction=0.4"] if options.platform != "cpu" else []
    return options.option + shared_memory


def jax_side(fn, state, batch) -> Jax:
    import jax

    state, batch = jax.device_put((state, batch), jax.devices()[0])
    return Jax(jax.jit(fn, donate_argnums=0), state, batch)


def compare(name: str, options, folder: Path) -> dict:
    model, _, size = name.partition(":")
    overrides = {
        key: value
        for key in ("batch", "seq", "dtype", "layers", "attention", "routing")
        if (value := getattr(options, key)) is not None
    }
    for text in options.set:
        key, _, value = text.partition("=")
        overrides[key] = int(value)
    step = build(model, size or "tiny", **overrides)
    state, batch = step.init_state(), step.example_batch()
    files = [folder / n for n in ("m.hlo.pb", "state.safetensors", "b.safetensors")]
    step.lower(options.platform).save(files[0])
    save_tensors(files[1], state=state)
    save_tensors(files[2], batch=batch)
    ours = Ours(
        options.server,
        files[0],
        inputs=files[1:],
        platform=options.platform,
        options=our_options(options),
    )
    jax = jax_side(step.fn, state, batch)
    pairs = [(ours.step(), jax.step()) for _ in range(options.warmup + options.steps)]
    ours.close()
    timed = pairs[options.warmup :]
    our_median = statistics.median(seconds for (seconds, _), _ in timed)
    jax_median = statistics.median(seconds for _, (seconds, _) in timed)
    return {
        "model": name,
        "ours_ms": our_median * 1e3,
        "jax_ms": jax_median * 1e3,
        "ratio": our_median / jax_median,
        "pair_ratio": statistics.median(a / b for (a, _), (b, _) in timed),
        "losses": [[a, b] for (_, a), (_, b) in pairs],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", help="MODEL or MODEL:SIZE (default tiny)")
    parser.add_argument("--platform", default="cpu")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--seq", type=int)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--dtype")
    parser.add_argument("--attention")
    parser.add_argument("--routing")
    parser.add_argument("--set", action="append", default=[], help="NAME=NUMBER")
    parser.add_argument("--option", action="append", default=[], help="NAME=VALUE")
    parser.add_argument("--json", type=Path, help="write every number here")
    default = ROOT / "build/release/bench/step_server"
    parser.add_argument("--server", type=Path, default=default)
    options = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", options.platform)
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.4")
    print(describe("jax", "jaxlib"))
    print(f"{'model':16} {'ours ms':>9} {'jax ms':>9} {'ratio':>6} {'by pair':>7}")
    rows = []
    for name in options.models or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            row = compare(name, options, Path(folder))
        rows.append(row)
        print(
            f"{row['model']:16} {row['ours_ms']:9.2f} {row['jax_ms']:9.2f} "
            f"{row['ratio']:6.3f} {row['pair_ratio']:7.3f}   "
            f"first losses {row['losses'][0][0]:.6f} {row['losses'][0][1]:.6f}",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps({"rows": rows}, indent=1))
    bar = BARS.get(options.platform, GPU_BAR)
    missed = [row["model"] for row in rows if row["ratio"] > bar]
    print(f"bar {bar}: " + (f"missed by {', '.join(missed)}" if missed else "kept"))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
