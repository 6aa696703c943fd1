"""Converts jax shardings to the sharding file of `meshwright check --sharding`, and
back.

    mesh = jax.make_mesh((4, 2), ("data", "model"))
    module = meshwright.lower(step, state, batch)
    file = sharding_file(
        module,
        {"state": {"w": P(None, "model"), "b": None}, "batch": P("data")},
        mesh=mesh,
    )
    Path("step.json").write_text(json.dumps(file))

    named_shardings(file, module, mesh)["state/w"]   # NamedSharding(mesh, P(None, ...))

A sharding applies to all leaves below it, as in `jax.jit`'s in_shardings; None leaves
the choice open.
"""

import math
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from meshwright.errors import MeshwrightError
from meshwright.lowered_module import LoweredModule
from meshwright.naming import leaf_names

OPEN = "?"


def sharding_file(
    module: LoweredModule, in_shardings=None, out_shardings=None, *, mesh=None
) -> dict:
    """The content of a sharding file; write it with `json.dumps`.

    Args:
      in_shardings: pytrees of NamedSharding, PartitionSpec or None: a mapping by
        argument name, or a sequence with one for each argument.
      out_shardings: one sharding for all outputs, a mapping by output name, or a
        pytree with a leaf for each output of the module.
      mesh: for PartitionSpecs without one: a jax Mesh or AbstractMesh, or a mapping
        of axis names to sizes.

    Raises MeshwrightError, in one line, naming the tensor at fault.
    """
    sizes = None if mesh is None else _axis_sizes(mesh)
    parameters = _by_name(
        _ranks(module.parameters),
        _prefixes(_by_argument(module, in_shardings)),
        "parameter",
    )
    outputs = _by_name(
        _ranks(module.outputs),
        _output_prefixes(module, out_shardings),
        "output",
    )
    for name, (sharding, _) in (parameters | outputs).items():
        sizes = _merge_mesh(sizes, sharding, name)
    if sizes is None:
        raise MeshwrightError("no sharding has a mesh: give mesh=")
    return {
        "mesh": sizes,
        "parameters": _lists(parameters, sizes, module.parameters),
        "outputs": _lists(outputs, sizes, module.outputs),
    }


def named_shardings(file: Mapping, module: LoweredModule, mesh=None) -> dict:
    """The NamedShardings of the parameters that the file specifies, by name.

    `mesh` is a jax Mesh with the axes of the file; by default, one of the first
    devices. Raises MeshwrightError for what jax cannot express: pending reductions,
    strided dimensions and parts of axes.
    """
    return _named(file, "parameters", module.parameters, mesh)


def named_output_shardings(file: Mapping, module: LoweredModule, mesh=None) -> dict:
    """The same for outputs."""
    return _named(file, "outputs", module.outputs, mesh)


def parse_sharding(text: str) -> list[list[str] | str]:
    """The axes of each dimension of a sharding in text form.

    >>> parse_sharding("[data, -, (model,expert), ?]")
    [['data'], [], ['model', 'expert'], '?']
    """
    match = re.fullmatch(r"\s*\[(.*)\]\s*", text)
    if match is None or re.search(r"[:{}\[\]]", match[1]):
        raise MeshwrightError(f"jax cannot express the sharding {text!r}")
    items = re.findall(r"\(([^()]*)\)|([^\s,()]+)", match[1])
    dims = []
    for group, single in items:
        if single == OPEN:
            dims.append(OPEN)
        else:
            axes = re.split(r"\s*,\s*", group.strip()) if group else [single]
            dims.append([axis for axis in axes if axis != "-"])
    return dims


def named_sharding(name: str, text: str, dimensions: Sequence[int], mesh):
    """The NamedSharding of a tensor with these dimensions.

    Raises MeshwrightError, naming the tensor, for what jax cannot express.
    """
    from jax.sharding import NamedSharding

    try:
        dims = parse_sharding(text)
    except MeshwrightError as error:
        raise MeshwrightError(f"{name}: {error}") from error
    _check_rank(name, dims, len(dimensions))
    spec = _partition_spec(name, dims)
    for size, axes in zip(dimensions, dims, strict=True):
        parts = math.prod(mesh.shape[axis] for axis in axes)
        if size % parts:
            raise MeshwrightError(
                f"{name}: jax cannot split a dimension of {size} into {parts} parts; "
                "plan with another --mesh, pin it, or use meshwright run"
            )
    return NamedSharding(mesh, spec)


def first_dimensions(sharding, rank: int):
    """The sharding restricted to the first dimensions.

    A PRNG key has fewer dimensions than the integers that it consists of.
    """
    from jax.sharding import NamedSharding, PartitionSpec

    return NamedSharding(sharding.mesh, PartitionSpec(*sharding.spec[:rank]))


def mesh_of_first(sizes: Mapping, devices: Sequence | None = None):
    """A jax Mesh with these axes, of the first devices."""
    import jax
    import numpy as np

    count = math.prod(sizes.values())
    devices = jax.devices() if devices is None else devices
    if len(devices) < count:
        raise MeshwrightError(
            f"the mesh {dict(sizes)} needs {count} devices, there are {len(devices)}"
            + _virtual_devices(devices, count)
        )
    grid = np.array(devices[:count]).reshape(tuple(sizes.values()))
    return jax.sharding.Mesh(grid, tuple(sizes))


def _virtual_devices(devices: Sequence, count: int) -> str:
    """Advice on how to get more devices, if that is possible."""
    if any(device.platform != "cpu" for device in devices):
        return ""
    flag = f"--xla_force_host_platform_device_count={count}"
    return f"; XLA_FLAGS={flag} before jax starts gives virtual ones"


def _is_leaf(value) -> bool:
    import jax

    leaves = (jax.sharding.NamedSharding, jax.sharding.PartitionSpec)
    return value is None or isinstance(value, leaves)


def _by_argument(module: LoweredModule, in_shardings) -> dict:
    """The pytrees by argument name."""
    if in_shardings is None or isinstance(in_shardings, Mapping):
        return dict(in_shardings or {})
    names = list(dict.fromkeys(p.name.split("/")[0] for p in module.parameters))
    if _is_leaf(in_shardings):
        return dict.fromkeys(names, in_shardings)
    if len(in_shardings) != len(names):
        raise MeshwrightError(
            f"{len(in_shardings)} in_shardings for {len(names)} arguments "
            f"({', '.join(names)}): give a mapping by argument name"
        )
    return dict(zip(names, in_shardings, strict=True))


def _prefixes(trees: Mapping) -> dict:
    """Shardings by path: {'state/params': P('data')}."""
    import jax

    prefixes = {}
    for name, tree in trees.items():
        leaves = jax.tree_util.tree_leaves(tree, is_leaf=_is_leaf)
        for path, leaf in zip(leaf_names(tree, name, _is_leaf), leaves, strict=True):
            if not _is_leaf(leaf):
                raise MeshwrightError(
                    f"{name}: {leaf!r} is no NamedSharding, PartitionSpec or None"
                )
            prefixes[path] = leaf
    return prefixes


def _output_prefixes(module: LoweredModule, out_shardings) -> dict:
    import jax

    names = [output.name for output in module.outputs]
    if _is_leaf(out_shardings):
        return dict.fromkeys(names, out_shardings)
    if isinstance(out_shardings, Mapping) and set(out_shardings) <= set(names):
        return dict(out_shardings)
    leaves = jax.tree_util.tree_leaves(out_shardings, is_leaf=_is_leaf)
    if len(leaves) != len(names):
        raise MeshwrightError(
            f"{len(leaves)} out_shardings for {len(names)} outputs: give one for each, "
            "or a mapping by output name"
        )
    return dict(zip(names, leaves, strict=True))


def _by_name(tensors, prefixes: Mapping, what: str) -> dict:
    """(sharding, rank) of each tensor that has a sharding, by name."""
    found, used = {}, set()
    for name, rank in tensors:
        parts = name.split("/")
        paths = ("/".join(parts[:end]) for end in range(len(parts), 0, -1))
        path = next((path for path in paths if path in prefixes), None)
        if path is not None:
            used.add(path)
            if prefixes[path] is not None:
                found[name] = (prefixes[path], rank)
    unused = [path for path in prefixes if path not in used]
    if unused:
        raise MeshwrightError(f"no {what} is called {unused[0]!r}")
    return found


def _axis_sizes(mesh) -> dict[str, int]:
    shape = mesh if isinstance(mesh, Mapping) else mesh.shape
    return {str(axis): int(size) for axis, size in shape.items()}


def _merge_mesh(sizes, sharding, name: str):
    """The mesh of all shardings so far."""
    if not hasattr(sharding, "mesh"):
        return sizes
    own = _axis_sizes(sharding.mesh)
    if sizes is not None and list(own.items()) != list(sizes.items()):
        raise MeshwrightError(f"{name} is on the mesh {own}, others are on {sizes}")
    return own


def _ranks(tensors: Sequence) -> list[tuple[str, int]]:
    """Names and ranks in jax: keys have one dimension less than in the module."""
    return [(t.name, len(t.shape) - bool(t.key)) for t in tensors]


def _lists(shardings: Mapping, sizes: Mapping, tensors: Sequence) -> dict:
    keys = {tensor.name for tensor in tensors if tensor.key}
    return {
        name: _axes_list(name, getattr(sharding, "spec", sharding), rank, sizes)
        + [[]] * (name in keys)
        for name, (sharding, rank) in shardings.items()
    }


def _axes_list(name: str, spec, rank: int, sizes: Mapping) -> list:
    """P('data', None, ('a', 'b')) -> [['data'], [], ['a', 'b']]."""
    from jax.sharding import PartitionSpec

    if getattr(spec, "unreduced", None):
        raise MeshwrightError(f"{name}: unreduced axes are not supported")
    dims = []
    for entry in spec:
        if entry is PartitionSpec.UNCONSTRAINED:
            dims.append(OPEN)
            continue
        axes = [] if entry is None else [entry] if isinstance(entry, str) else entry
        for axis in axes:
            if axis not in sizes:
                raise MeshwrightError(
                    f"{name}: no mesh axis {axis!r}; the mesh is {dict(sizes)}"
                )
        dims.append(list(axes))
    if len(dims) > rank:
        raise MeshwrightError(f"{name}: {spec} is longer than its rank, {rank}")
    return dims + [[] for _ in range(rank - len(dims))]


def _named(file: Mapping, section: str, tensors, mesh) -> dict:
    from jax.sharding import NamedSharding

    if mesh is None:
        mesh = mesh_of_first(file["mesh"])
    entries = file.get(section, {})
    result = {}
    for tensor, (name, rank) in zip(tensors, _ranks(tensors), strict=True):
        value = _entry(entries, name)
        if value is None:
            continue
        dims = parse_sharding(value) if isinstance(value, str) else value
        _check_rank(name, dims, len(tensor.shape))
        sharding = NamedSharding(mesh, _partition_spec(name, dims))
        result[name] = first_dimensions(sharding, rank)
    return result


def _check_rank(name: str, dims: Sequence, rank: int) -> None:
    if len(dims) != rank:
        raise MeshwrightError(
            f"{name}: the sharding has {len(dims)} dimensions, the tensor has {rank}"
        )


def _entry(entries: Mapping, name: str):
    """The exact name takes precedence, then the first pattern that matches."""
    if name in entries:
        return entries[name]
    for key, value in entries.items():
        # Only * is a wildcard.
        if "*" in key and fnmatchcase(name, re.sub(r"([\[?])", r"[\1]", key)):
            return value
    return None


def _partition_spec(name: str, dims):
    from jax.sharding import PartitionSpec

    entries = []
    for dim in dims:
        if dim == OPEN:
            entries.append(PartitionSpec.UNCONSTRAINED)
            continue
        axes = [dim] if isinstance(dim, str) else list(dim or ())
        if any(":" in axis for axis in axes):
            raise MeshwrightError(f"{name}: jax cannot express parts of axes: {axes}")
        entries.append(axes[0] if len(axes) == 1 else tuple(axes) or None)
    return PartitionSpec(*entries)
