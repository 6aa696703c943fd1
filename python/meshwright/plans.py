"""Plans that experts use, as sharding files, for any lowered training step.

    file = make_plan("dp_tp", module, {"data": 4, "model": 2})
    file["parameters"]     # {"batch/*": [["data"], []], "*/up/w": [[], ["model"]], ...}

    python -m meshwright.plans gpt dp_tp            # of a zoo model, to stdout
    python -m meshwright.plans testdata DIRECTORY   # of all tiny models

A plan is a function from the parameters and the mesh to {name: dimensions}; parameters
that it does not name are replicated. State that belongs to a model parameter, such as
the moments of Adam, has the sharding of that parameter; it is recognised by the end of
its name.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from meshwright.errors import MeshwrightError
from meshwright.lowered_module import LoweredModule, Parameter
from meshwright.patterns import as_patterns

Mesh = Mapping[str, int]
Split = tuple[str, ...]  # By dimension: the axis; "" for none.
Shardings = dict[str, Split]

DATA, MODEL = "data", "model"
_MODEL_PARAMETERS = "/params/"

# The dimension, counted from the end, that Megatron's tensor parallelism splits: the
# output dimension of the first matrix of a pair, the input dimension of the second.
_MEGATRON = {
    r"attention/qkv/w": 1,
    r"attention/qkv/b": 1,
    r"attention/[qkv]": 2,  # [width, heads, size]
    r"attention/out/w": 2,
    r"attention/out": 3,  # [heads, size, width]
    r"mlp/(up|gate)(/[wb])?": 1,
    r"mlp/down(/w)?": 2,
    r"experts/up": 1,
    r"experts/down": 2,
    r"params/tokens": 2,
    r"params/head(/bias)?": 1,
}
# Of convolutions: [height, width, inputs, outputs].
_KERNEL = r"/params/(?P<unit>.*)/(w|conv)$"
_FEATURES = 3


def dp(parameters: list[Parameter], mesh: Mesh) -> Shardings:
    """Data parallel: the batch is split."""
    return {
        p.name: _split(p, 0, DATA)
        for p in parameters
        if p.role == "data" and _divides(p, 0, mesh[DATA])
    }


def zero2(parameters: list[Parameter], mesh: Mesh) -> Shardings:
    """Optimizer state is also sharded, and with it the gradients."""
    model = _model_parameters(parameters)
    owned = [p for p in parameters if p not in model and _owner(p, model) is not None]
    return dp(parameters, mesh) | _split_somewhere(owned, mesh)


def zero3(parameters: list[Parameter], mesh: Mesh) -> Shardings:
    """The model's parameters are also sharded (FSDP)."""
    model = _split_somewhere(_model_parameters(parameters), mesh)
    return dp(parameters, mesh) | _with_owned(parameters, model)


def megatron(parameters: list[Parameter], mesh: Mesh) -> Shardings:
    """Tensor parallel: heads, hidden units, vocabulary, output features."""
    model = _model_parameters(parameters)
    features = _split_features(parameters, mesh)
    # Attention in a model of convolutions has one head.
    shardings = features or _split_heads_and_hidden(model, mesh)
    return _with_owned(parameters, shardings)


def dp_tp(parameters: list[Parameter], mesh: Mesh) -> Shardings:
    return dp(parameters, mesh) | megatron(parameters, mesh)


def sequence(parameters: list[Parameter], mesh: Mesh) -> Shardings:
    """Sequence parallel: the batch is split, and its sequences of tokens."""
    inputs = [p for p in parameters if p.role == "data"]
    lengths = {p.shape[1] for p in inputs if re.search(r"/tokens$", p.name)}
    return dp(parameters, mesh) | {
        p.name: (DATA, MODEL)
        for p in inputs
        if len(p.shape) == 2 and p.shape[1] in lengths and _divides(p, 1, mesh[MODEL])
    }


def expert(parameters: list[Parameter], mesh: Mesh) -> Shardings:
    """The batch over `data`, experts over `model`."""
    return dp(parameters, mesh) | _split_experts(parameters, MODEL, mesh)


def gshard(parameters: list[Parameter], mesh: Mesh) -> Shardings:
    """Experts over `data`, where the tokens are; the rest tensor parallel."""
    return dp_tp(parameters, mesh) | _split_experts(parameters, DATA, mesh)


PLANS: dict[str, Callable[[list[Parameter], Mesh], Shardings]] = {
    f.__name__: f for f in (dp, zero2, zero3, megatron, dp_tp, sequence, expert, gshard)
}

_DATA_MESH = {DATA: 8}
_WIDE_MESH = {DATA: 4, MODEL: 2}
_DEEP_MESH = {DATA: 2, MODEL: 4}
_DEFAULT_MESHES = {"dp": _DATA_MESH, "zero2": _DATA_MESH, "zero3": _DATA_MESH} | {
    "megatron": _DEEP_MESH,
}


def make_plan(plan: str, module: LoweredModule, mesh: Mesh | None = None) -> dict:
    """The sharding file of a plan, by default for 8 devices.

    Raises MeshwrightError if there is no such plan, or if nothing that characterises
    the plan can be split.
    """
    if plan not in PLANS:
        raise MeshwrightError(f"no plan {plan!r}; there are {', '.join(PLANS)}")
    mesh = mesh or _DEFAULT_MESHES.get(plan, _WIDE_MESH)
    shardings = PLANS[plan](module.parameters, mesh)
    used = {axis for split in shardings.values() for axis in split if axis}
    needed = {MODEL} if MODEL in mesh else {DATA}
    if not needed <= used:
        raise MeshwrightError(f"nothing to split: {plan} does not fit the module")
    specs = {
        p.name: [[axis] if axis else [] for axis in shardings[p.name]]
        if p.name in shardings
        else None
        for p in module.parameters
    }
    return {"mesh": dict(mesh), "parameters": as_patterns(specs)}


def plans_for(module: LoweredModule) -> dict[str, dict]:
    """Every plan that fits the module and differs from the previous ones."""
    files: dict[str, dict] = {}
    for plan in PLANS:
        try:
            file = make_plan(plan, module)
        except MeshwrightError:
            continue
        if file not in files.values():
            files[plan] = file
    return files


def to_json(file: dict) -> str:
    """JSON with one line for each pattern."""
    lines = [
        f"  {json.dumps(name)}: {json.dumps(spec)}"
        for name, spec in file["parameters"].items()
    ]
    body = ",\n".join(lines)
    return f'{{"mesh": {json.dumps(file["mesh"])},\n "parameters": {{\n{body}}}}}\n'


def _split(p: Parameter, dim: int, axis: str) -> Split:
    return tuple(axis if d == dim else "" for d in range(len(p.shape)))


def _divides(p: Parameter, dim: int, parts: int) -> bool:
    return -len(p.shape) <= dim < len(p.shape) and p.shape[dim] % parts == 0


def _model_parameters(parameters: Iterable[Parameter]) -> list[Parameter]:
    """Those under `params`, or else the state that is no copy of other state, such as
    `optimizer/mu/head/kernel`, a copy of `model/head/kernel`."""
    state = [p for p in parameters if p.role == "state"]
    named = [p for p in state if _MODEL_PARAMETERS in p.name]
    if named:
        return named
    leaves = {_leaf(p): p for p in state}
    return [p for p in state if not _is_copy(p, leaves)]


def _is_copy(p: Parameter, leaves: Mapping[str, Parameter]) -> bool:
    parts = p.name.split("/")
    ends = ("/" + "/".join(parts[start:]) for start in range(2, len(parts)))
    return any(end in leaves and leaves[end].shape == p.shape for end in ends)


def _leaf(p: Parameter) -> str:
    """`state/params/norm/bias` and `model/norm/bias` -> `/norm/bias`."""
    around = _MODEL_PARAMETERS if _MODEL_PARAMETERS in p.name else "/"
    return "/" + p.name.partition(around)[2]


def _owner(p: Parameter, model: list[Parameter]) -> Parameter | None:
    """The model parameter to which a piece of state belongs."""
    if p.role != "state":
        return None
    found = [m for m in model if p.name.endswith(_leaf(m)) and p.shape == m.shape]
    return max(found, key=lambda m: len(m.name), default=None)


def _with_owned(parameters: list[Parameter], shardings: Shardings) -> Shardings:
    model = _model_parameters(parameters)
    owners = {p.name: _owner(p, model) for p in parameters}
    return shardings | {
        name: shardings[owner.name]
        for name, owner in owners.items()
        if owner is not None and owner.name in shardings
    }


def _split_somewhere(parameters: Iterable[Parameter], mesh: Mesh) -> Shardings:
    """Splits over `data`, along the first dimension that is divisible."""
    shardings = {}
    for p in parameters:
        dims = [d for d in range(len(p.shape)) if _divides(p, d, mesh[DATA])]
        if dims:
            shardings[p.name] = _split(p, dims[0], DATA)
    return shardings


def _split_heads_and_hidden(model: list[Parameter], mesh: Mesh) -> Shardings:
    shardings = {}
    for p in model:
        for pattern, from_end in _MEGATRON.items():
            dim = len(p.shape) - from_end
            if re.search(f"/{pattern}$", p.name) and _divides(p, dim, mesh[MODEL]):
                shardings[p.name] = _split(p, dim, MODEL)
    return shardings


def _split_features(parameters: list[Parameter], mesh: Mesh) -> Shardings:
    """Splits output features of convolutions, and vectors over them."""
    shardings = {}
    for kernel in _model_parameters(parameters):
        match = re.search(_KERNEL, kernel.name)
        if not match or not _divides(kernel, _FEATURES, mesh[MODEL]):
            continue
        shardings[kernel.name] = _split(kernel, _FEATURES, MODEL)
        unit = re.escape(match["unit"])
        vectors = f"/params/{unit}/(b|norm/.*)$|/{unit}/(mean|variance)$"
        shardings |= {
            p.name: (MODEL,) for p in parameters if re.search(vectors, p.name)
        }
    return shardings


def _split_experts(parameters: list[Parameter], axis: str, mesh: Mesh) -> Shardings:
    """Splits [experts, ...]."""
    experts = {
        p.name: _split(p, 0, axis)
        for p in _model_parameters(parameters)
        if re.search(r"/experts/(up|down)$", p.name) and _divides(p, 0, mesh[axis])
    }
    return _with_owned(parameters, experts)


def _write_testdata(directory: Path) -> None:
    """`<model>_<plan>.json` for every tiny zoo model in the folder above."""
    from meshwright.zoo import MODELS

    directory.mkdir(parents=True, exist_ok=True)
    for model in MODELS:
        name = model.replace("-", "_")
        module = LoweredModule.load(directory.parent / f"{name}_tiny.hlo.pb.zst")
        for plan, file in plans_for(module).items():
            (directory / f"{name}_{plan}.json").write_text(to_json(file))


def main(argv: list[str]) -> int:
    if len(argv) not in (2, 3):
        print("usage: python -m meshwright.plans MODEL PLAN [SIZE]", file=sys.stderr)
        return 2
    if argv[0] == "testdata":
        _write_testdata(Path(argv[1]))
        return 0
    from meshwright.zoo import build

    try:
        module = build(argv[0], *argv[2:]).lower()
        print(to_json(make_plan(argv[1], module)), end="")
    except MeshwrightError as error:
        print(f"plans: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
