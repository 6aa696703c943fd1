"""Random pin files for a module: parameters, outputs and instructions, whole and
partial, on any axis, on fused axes in any order, on padded dimensions."""

import random
import re

# The elements of a dimension that are worth splitting.
SMALLEST = 2
_LINE = re.compile(r"%?([\w.-]+) = (\w+)\[([\d,]+)\]\S* ([\w-]+)\(")


def meshes(rng, devices):
    """A mesh of up to three axes, as {axis: size}."""
    names = ["data", "model", "extra"]
    sizes = rng.choice(
        [(devices,), (devices // 2, 2), (2, devices // 2), (2, 2, devices // 4)]
    )
    return dict(zip(names, sizes, strict=False))


def instructions(text):
    """Names and dimensions of the arrays that the entry of HLO text computes."""
    entry = text[text.index("ENTRY") :]
    found = []
    for line in entry.splitlines():
        match = _LINE.search(line)
        if match and match.group(4) not in ("parameter", "constant"):
            dims = [int(d) for d in match.group(3).split(",")]
            found.append((match.group(1), dims))
    return found


def sharding(rng, dims, mesh, may_be_open=True, may_pad=True):
    """Text such as "[data, ?, (model,data)]"; None if nothing can be split."""
    axes = list(mesh)
    rng.shuffle(axes)
    out = ["-"] * len(dims)
    order = [d for d in range(len(dims)) if dims[d] >= SMALLEST]
    rng.shuffle(order)
    for dim in order:
        if not axes or rng.random() < 0.3:
            continue
        count = 2 if len(axes) > 1 and rng.random() < 0.25 else 1
        taken, parts = axes[:count], 1
        for axis in taken:
            parts *= mesh[axis]
        if parts > dims[dim] or (dims[dim] % parts and not may_pad):
            continue
        axes = axes[count:]
        out[dim] = taken[0] if count == 1 else f"({', '.join(taken)})"
    if may_be_open:
        for dim, text in enumerate(out):
            if text == "-" and rng.random() < 0.3:
                out[dim] = "?"
    if all(text in "-?" for text in out):
        return None
    return f"[{', '.join(out)}]"


def pin_file(rng, report, text, devices):
    """`report` is what inspect --json says, `text` the module as HLO text."""
    mesh = meshes(rng, devices)
    pins = {"mesh": mesh, "parameters": {}, "outputs": {}, "instructions": {}}
    arrays = [
        (p["name"], p["shape"]) for p in report["parameters"] if len(p["shape"]) > 0
    ]
    for name, dims in rng.sample(arrays, rng.randint(0, min(4, len(arrays)))):
        one = sharding(rng, dims, mesh)
        if one:
            pins["parameters"][name] = one
    ops = instructions(text)
    for name, dims in rng.sample(ops, rng.randint(0, min(2, len(ops)))):
        one = sharding(rng, dims, mesh)
        if one:
            pins["instructions"][name] = one
    return {key: value for key, value in pins.items() if value}


def seeded(seed):
    return random.Random(seed)
