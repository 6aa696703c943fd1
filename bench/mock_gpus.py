"""Step time of one of several mock GPUs, ours against a hand-written shard_map.

    ./mw bench mock_gpus                       # dp, megatron, context
    ./mw bench mock_gpus dp --set layers=4

One GPU, of eight (or more) that XLA believes in: programs are compiled for all and run on
the one, collectives bring garbage (`jax_mock_gpu_topology`). The step is a llama with
cuDNN's attention, of 32,768 tokens for `context`. Ours is what `meshwright partition` makes
of it; the other side is `jax.jit` with the same shardings and a `shard_map` around the
kernel, as JAX asks for it, for `context` ring attention by hand (`_ring.py`). Stepped in
turn, one step each. Prints medians and the median of each pair's ratio. Bar: 1.00.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _mock_sides import (
    Jitted,
    Partitioned,
    believe_in,
    described,
    dump,
    pairs,
    platform,
    sharding,
)

ROOT = Path(__file__).resolve().parents[1]
BAR = 1.0
SIZE = {
    "layers": 2,
    "width": 2048,
    "heads": 16,
    "kv_heads": 16,
    "hidden": 5504,
    "vocab": 32000,
    "seq": 2048,
    "batch": 16,
}
BATCH = {r"^batch/": ("x", None)}
MODEL = {
    r"attention/[qkv]$": (None, "x", None),
    r"attention/out$": ("x", None, None),
    r"mlp/(gate|up)$": (None, "x"),
    r"mlp/down$": ("x", None),
    r"(params|mu|nu)/tokens$": ("x", None),
    r"(params|mu|nu)/head$": (None, "x"),
}
# What splits parameters, and queries, keys and values.
PLANS = {
    "dp": (BATCH, ("x", None, None, None)),
    "megatron": (MODEL, (None, None, "x", None)),
    "context": ({r"^batch/": (None, "x")}, (None, "x", None, None)),
}
LONG = {"batch": 1, "seq": 32768}  # Of the last one.


def build(plan: str, options):
    from meshwright import zoo

    size = SIZE | (LONG if plan == "context" else {})
    size |= {n: int(v) for n, v in (one.split("=") for one in options.set)}
    return zoo.build(
        "llama", "tiny", **size, dtype="bf16", attention=options.attention, scan=False
    )


def spec_of(name: str, rank: int, rules: dict) -> tuple:
    blocks = re.sub(r"/blocks/\d+/", "/blocks/", name)
    for pattern, spec in rules.items():
        if re.search(pattern, blocks):
            return spec
    return (None,) * rank


def inputs_of(step):
    """Names, shapes and tree of (state, batch)."""
    import jax
    from meshwright.naming import leaf_names

    tree = (step.state_shapes, step.batch_shapes)
    names = leaf_names(tree[0], "state") + leaf_names(tree[1], "batch")
    return names, *jax.tree_util.tree_flatten(tree)


def partitioned(step, rules, mesh, binary: Path, folder: Path) -> Partitioned:
    names, shapes, _ = inputs_of(step)
    specs = {
        name: spec_of(name, len(shape.shape), rules)
        for name, shape in zip(names, shapes, strict=True)
    }
    file = {
        "mesh": {"x": mesh.size},
        "parameters": {
            name: f"[{', '.join(axis or '-' for axis in spec)}]"
            for name, spec in specs.items()
            if any(spec)
        },
    }
    module, split = folder / "step.hlo.pb", folder / "split.hlo.pb"
    step.lower(platform()).save(module)
    (folder / "split.json").write_text(json.dumps(file))
    command = [binary, "partition", module, "--sharding", folder / "split.json"]
    subprocess.run([*command, "-o", split], check=True)
    states = len([name for name in names if name.startswith("state/")])
    return Partitioned(split.read_bytes(), states)


def by_hand(step, rules, heads, mesh) -> Jitted:
    """`jax.jit` with shardings, and a shard_map around attention."""
    import jax
    from _ring import ring_attention

    names, shapes, tree = inputs_of(step)
    specs = [
        sharding(mesh, spec_of(name, len(shape.shape), rules))
        for name, shape in zip(names, shapes, strict=True)
    ]
    state, batch = jax.tree_util.tree_unflatten(tree, specs)
    whole = jax.nn.dot_product_attention
    spec = jax.sharding.PartitionSpec(*heads)

    def mapped(q, k, v, **options):
        attend = (
            ring_attention("x", mesh.size)
            if heads[1]
            else lambda q, k, v: whole(q, k, v, **options)
        )
        return jax.shard_map(
            attend,
            mesh=mesh,
            in_specs=(spec,) * 3,
            out_specs=spec,
            check_vma=False,
        )(q, k, v)

    jax.nn.dot_product_attention = mapped
    try:
        return Jitted(
            step.fn,
            (step.state_shapes, step.batch_shapes),
            (state, batch),
            (state, sharding(mesh, ())),
        )
    finally:
        jax.nn.dot_product_attention = whole


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plans", nargs="*")
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--attention", default="cudnn")
    parser.add_argument("--dump", type=Path, help="optimised programs go there")
    parser.add_argument("--set", action="append", default=[], help="NAME=NUMBER")
    default = ROOT / "build/release/meshwright/cli/meshwright"
    parser.add_argument("--binary", type=Path, default=default)
    options = parser.parse_args()
    believe_in(options.devices)
    import jax

    mesh = jax.make_mesh((options.devices,), ("x",), (jax.sharding.AxisType.Auto,))
    print(described())
    print(f"{'plan':10} {'ours ms':>9} {'jax ms':>9} {'by pair':>7}")
    ratios = []
    for plan in options.plans or PLANS:
        rules, heads = PLANS[plan]
        step = build(plan, options)  # Traced anew: attention is not the same.
        with tempfile.TemporaryDirectory() as folder:
            ours = partitioned(step, rules, mesh, options.binary, Path(folder))
        peer = by_hand(step, rules, heads, mesh)
        if options.dump:
            dump(options.dump, plan, {"ours": ours, "jax": peer})
        turns = pairs(ours, peer, options.steps, options.warmup)
        ratios.append(statistics.median(a / b for a, b in turns))
        medians = [statistics.median(one) * 1e3 for one in zip(*turns, strict=True)]
        print(
            f"{plan:10} {medians[0]:9.2f} {medians[1]:9.2f} {ratios[-1]:7.3f}",
            flush=True,
        )
    missed = max(ratios) > BAR
    print(f"bar {BAR}: {'missed' if missed else 'kept'}")
    sys.exit(missed)


if __name__ == "__main__":
    main()
