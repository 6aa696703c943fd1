"""`lower`: a jax-jittable training step -> an HLO module with names and roles."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from meshwright.batch_argument import Batch, batch_dimensions
from meshwright.errors import MeshwrightError, first_line
from meshwright.flat_program import flatten, has_keys
from meshwright.hlo_module import HloModule
from meshwright.lowered_module import (
    BATCH,
    FORMAT,
    FORMAT_VERSION,
    LOSS,
    NAME,
    OUTPUTS,
    ROLE,
    LoweredModule,
)
from meshwright.naming import (
    leaf_names,
    positional_names,
    recorded_names,
    require_unique,
)
from meshwright.pairing import Pairing

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
Selection = int | str | Iterable[int | str] | None


@dataclass(frozen=True)
class Argument:
    """A traced argument: a pytree of leaves with shape, dtype and donated."""

    name: str
    tree: object
    leaves: list
    start: int  # Index of its first leaf among the entry's parameters.

    @property
    def parameters(self) -> range:
        return range(self.start, self.start + len(self.leaves))

    @property
    def donated(self) -> bool:
        return any(leaf.donated for leaf in self.leaves)

    @property
    def is_float_scalar(self) -> bool:
        import jax.numpy as jnp

        return all(
            not leaf.shape and jnp.issubdtype(leaf.dtype, jnp.floating)
            for leaf in self.leaves
        )


def lower(
    fn: Callable,
    *args,
    kwargs: Mapping[str, object] | None = None,
    state: Selection = None,
    names: Sequence[str] | None = None,
    loss: int | str | None = None,
    batch: Batch = None,
    static_argnums: int | Sequence[int] | None = None,
    platform: str = "cpu",
) -> LoweredModule:
    """Lowers `fn(*args, **kwargs)` to an HLO module that knows its training state.

    Arguments are pytrees of arrays or of `jax.ShapeDtypeStruct`; nothing is
    allocated or computed. `fn` may be plain or already `jax.jit`-ed.

        def step(state, batch):
            ...
            return new_state, loss

        module = meshwright.lower(step, state, batch)
        module.save("step.hlo.pb.zst")

    Args:
      state: the arguments (positions or names) that are training state. Each must
        reappear in the result as the same tree, shapes and dtypes. Default: the
        donated arguments that reappear; if none does, all arguments that reappear,
        except float scalars, which may as well be a learning rate and a loss.
        Where several parts of the result fit, one with the argument's name for its
        key is taken, or else the first.
      names: names for the (non-static) arguments, in place of the signature's.
      loss: the output that is the loss, by flat index or name. Default: among
        the float scalar outputs that are not state, the first whose key is `loss`,
        or else the first whose key has `loss` in it, or else the first.
      batch: the dimension of data that is the batch's, where it is not what a plan
        finds (the one by which most of the step's work can be split): `1` for all
        data that has so many, or by name, `{"batch": 1, "batch/lengths": 0}`; the
        longest name counts, and None says that there is no batch. What is not named
        has none.
      static_argnums: as for `jax.jit`; only for a `fn` that is not jitted yet.
      platform: what jax lowers for, one of PLATFORMS; it need not be present.

    What is recorded in the module is told in `meshwright.lowered_module`.
    Raises MeshwrightError, in one line, for anything wrong with the call.
    """
    if platform not in PLATFORMS:
        raise MeshwrightError(
            f"platform={platform!r} is not one of {', '.join(PLATFORMS)}"
        )
    kwargs = dict(kwargs or {})
    traced = _trace(fn, args, kwargs, static_argnums)
    arguments = _arguments(fn, traced, args, names)
    parameter_names = [
        name for arg in arguments for name in leaf_names(arg.tree, arg.name)
    ]
    require_unique(parameter_names, "parameter")
    module = _to_hlo(flatten(traced) if has_keys(traced) else traced, platform)
    if len(module.parameters) < len(parameter_names):
        module = _to_hlo(flatten(traced), platform)
    _check_counts(module, len(parameter_names), traced)

    pairs = _pair_state(arguments, traced.out_info, state)
    output_names = leaf_names(traced.out_info, "out")
    for parameter, output in pairs.items():
        output_names[output] = parameter_names[parameter]
    require_unique(output_names, "output")

    roles = ["state" if i in pairs else "data" for i in range(len(parameter_names))]
    batches = batch_dimensions(
        batch,
        parameter_names,
        [len(p.shape.dimensions) for p in module.parameters],
        [role == "data" for role in roles],
    )
    for parameter, name in enumerate(parameter_names):
        attributes = {NAME: name, ROLE: roles[parameter]}
        if parameter in batches:
            attributes[BATCH] = str(batches[parameter])
        module.set_parameter_attributes(parameter, attributes)
    donors = set(module.donors) | set(module.aliases)
    module.set_aliases(pairs, sorted(donors - set(pairs)))
    attributes = {FORMAT: FORMAT_VERSION, OUTPUTS: json.dumps(output_names)}
    loss_index = _find_loss(module, output_names, set(pairs.values()), loss)
    if loss_index is not None:
        attributes[LOSS] = str(loss_index)
    module.set_attributes(attributes)
    return LoweredModule(module.serialize())


def _trace(fn, args, kwargs, static_argnums):
    try:
        import jax
    except ModuleNotFoundError as error:
        raise MeshwrightError(
            "lowering needs jax: pip install 'meshwright[jax]'"
        ) from error
    jitted = fn
    if not hasattr(fn, "trace"):
        if not callable(fn):
            raise MeshwrightError(f"{fn!r} is not a function")
        jitted = jax.jit(fn, static_argnums=static_argnums, keep_unused=True)
    elif static_argnums is not None:
        raise MeshwrightError("the function is jitted: give static_argnums to jax.jit")
    try:
        return jitted.trace(*args, **kwargs)
    except Exception as error:
        name = getattr(fn, "__name__", type(fn).__name__)
        raise MeshwrightError(
            f"jax.jit cannot trace {name}: {first_line(error)}"
        ) from error


def _arguments(fn, traced, args, names) -> list[Argument]:
    """The traced arguments in flat order; static ones are not among them."""
    import jax

    positional, keyword = traced.args_info
    trees = [*positional, *(keyword[key] for key in sorted(keyword))]
    if names is None:
        names = _positional_names(fn, traced, args, len(positional)) + sorted(keyword)
    names = list(names)
    if len(names) != len(trees):
        raise MeshwrightError(f"{len(names)} names given for {len(trees)} arguments")
    arguments, start = [], 0
    for name, tree in zip(names, trees, strict=True):
        leaves = jax.tree_util.tree_leaves(tree)
        arguments.append(Argument(name, tree, leaves, start))
        start += len(leaves)
    return arguments


def _positional_names(fn, traced, args, count: int) -> list[str]:
    names = positional_names(fn, len(args))
    if len(names) > count:  # Some are static: jax recorded no leaves of theirs.
        recorded = recorded_names(traced.jaxpr.jaxpr.debug_info.arg_names or ())
        names = [name for name in names if name in recorded]
    if len(names) != count:
        raise MeshwrightError("cannot tell the static arguments apart: give names=")
    return names


def _to_hlo(traced, platform: str) -> HloModule:
    """The module jax makes of it."""
    from meshwright.stablehlo import bytecode, stablehlo_to_hlo

    try:
        lowered = traced.lower(lowering_platforms=(platform,))
        return HloModule(stablehlo_to_hlo(bytecode(lowered.compiler_ir())))
    except Exception as error:
        raise MeshwrightError(
            f"jax cannot lower {traced.fun_name} for {platform}: {first_line(error)}"
        ) from error


def _check_counts(module: HloModule, parameters: int, traced) -> None:
    import jax

    got = len(module.parameters), len(module.outputs)
    want = parameters, len(jax.tree_util.tree_leaves(traced.out_info))
    if got != want:
        raise MeshwrightError(
            f"{traced.fun_name} lowered to {got[0]} parameters and {got[1]} outputs, "
            f"expected {want[0]} and {want[1]}: ordered effects and hoisted constants "
            "are not supported"
        )


def _pair_state(arguments, result, selection: Selection) -> dict[int, int]:
    """Parameter index -> output index for every leaf of the state."""
    pairing = Pairing(result)

    def pair(candidates: list[Argument]) -> dict[str, tuple[range, range | None]]:
        return {
            arg.name: (arg.parameters, pairing.take(arg.name, arg.tree))
            for arg in candidates
        }

    if selection is not None:
        taken = pair(_select(arguments, selection))
        for name, (_, outputs) in taken.items():
            if outputs is None:
                raise MeshwrightError(
                    f"state argument {name!r} has no matching output: no part of the "
                    "result has its tree, shapes and dtypes"
                )
    else:
        taken = pair([arg for arg in arguments if arg.donated])
        if not any(outputs for _, outputs in taken.values()):
            taken = pair([arg for arg in arguments if not arg.is_float_scalar])
    return {
        parameter: output
        for parameters, outputs in taken.values()
        if outputs is not None
        for parameter, output in zip(parameters, outputs, strict=True)
    }


def _select(arguments: list[Argument], selection: Selection) -> list[Argument]:
    if isinstance(selection, int | str):
        selection = [selection]
    by_name = {argument.name: argument for argument in arguments}
    chosen = []
    for item in selection:
        if isinstance(item, str) and item in by_name:
            chosen.append(by_name[item])
        elif isinstance(item, int) and -len(arguments) <= item < len(arguments):
            chosen.append(arguments[item])
        else:
            raise MeshwrightError(
                f"state={item!r} is not an argument; there are {', '.join(by_name)}"
            )
    return chosen


def _find_loss(module, output_names, state_outputs, loss) -> int | None:
    if loss is None:
        scalars = [
            index
            for index, shape in enumerate(module.outputs)
            if index not in state_outputs
            and not shape.dimensions
            and shape.dtype.startswith(("f", "bf"))
        ]
        # Dictionaries come in the order of their keys: accuracy before loss.
        return min(scalars, key=lambda i: _unlike_a_loss(output_names[i]), default=None)
    if isinstance(loss, str) and loss in output_names:
        return output_names.index(loss)
    if isinstance(loss, int) and 0 <= loss < len(output_names):
        return loss
    raise MeshwrightError(
        f"loss={loss!r} is not an output; there are {len(output_names)}: "
        f"{', '.join(output_names[:8])}"
    )


def _unlike_a_loss(name: str) -> int:
    key = name.rsplit("/", 1)[-1].lower()
    return 0 if key == "loss" else 1 if "loss" in key else 2
