"""`lower`: lowers a jax-jittable training step to an HLO module with names and
roles."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from meshwright.batch_argument import Batch, batch_dimensions
from meshwright.callbacks import find_callbacks
from meshwright.cudnn import assumed_present
from meshwright.errors import MeshwrightError, in_one_line, warn
from meshwright.flat_program import flatten, needs_flattening
from meshwright.hlo_module import HloModule
from meshwright.kernel_variants import LIMIT, add_kernels
from meshwright.keys import key_implementation
from meshwright.lowered_module import (
    BATCH,
    FORMAT,
    FORMAT_VERSION,
    KEY,
    KEY_OUTPUTS,
    LOSS,
    NAME,
    OUTPUTS,
    ROLE,
    RULES,
    LoweredModule,
)
from meshwright.naming import leaf_names, require_unique
from meshwright.pairing import Selection, pair_state
from meshwright.partitioned_functions import as_kernels, lowering_parameters
from meshwright.rules import Rules, check_rules, rules_text
from meshwright.tracing import TracedStep, function_name, trace

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


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
    kernel_variants: int = LIMIT,
    rules: Rules = None,
    require_rules: bool = False,
) -> LoweredModule:
    """Lowers `fn(*args, **kwargs)` to an HLO module that identifies its training state.

    Arguments are pytrees of arrays or of `jax.ShapeDtypeStruct`, nnx objects or equinox
    modules; nothing is allocated or computed. `fn` may be a plain function or already
    jitted by `jax.jit`, `nnx.jit` or `eqx.filter_jit`. nnx objects are state; if there
    are equinox modules, everything but arrays is static.

        def step(state, batch):
            ...
            return new_state, loss

        module = meshwright.lower(step, state, batch)
        module.save("step.hlo.pb.zst")

    Args:
      state: the arguments (positions or names) that are training state. Each must
        reappear in the result with the same tree, shapes and dtypes. Default: the
        donated arguments that reappear; if none does, all arguments that reappear,
        except float scalars, which may just as well be a learning rate and a loss.
        If several parts of the result fit, the one whose key is the argument's name
        is taken, or else the first.
      names: names for the (non-static) arguments, in place of the signature's.
      loss: the output that is the loss, by flat index or name. Default: among
        the float scalar outputs that are not state, the first whose key is `loss`,
        or else the first whose key has `loss` in it, or else the first.
      batch: the batch dimension of data, if it is not the one that a plan finds (the
        one along which most of the step's work can be split): `1` for all data with
        that many dimensions, or by name, `{"batch": 1, "batch/lengths": 0}`. The
        longest name counts, and None means that there is no batch dimension. Data
        that is not named has none.
      static_argnums: as for `jax.jit`; not for a `fn` that is `jax.jit`-ed.
      platform: the platform jax lowers for, one of PLATFORMS; it need not be present.
      kernel_variants: for how many local shapes, including its own, each
        `meshwright.kernel` is lowered; splits into the fewest parts come first. Half
        as many are added for 3, 5 or 7 times a power of two parts.
      rules: how kernels are split, by custom-call target: `{"norm": "b n, n -> b n
        {need_replication: n}"}`, or a JSON file with that, as `--rules FILE` of
        `meshwright plan` has it. The module keeps them.
      require_rules: refuse a step with an operation that no rule splits, which every
        device would compute whole. Rules are checked by the `meshwright` program.

    `meshwright.lowered_module` describes what the module records. Warns
    (MeshwrightWarning) about a step without state and about callbacks that are removed.
    Raises MeshwrightError, in one line, for anything wrong with the call.
    """
    if platform not in PLATFORMS:
        raise MeshwrightError(
            f"platform={platform!r} is not one of {', '.join(PLATFORMS)}"
        )
    require_jax()
    text = rules_text(rules)
    with assumed_present(platform):
        step = trace(fn, args, dict(kwargs or {}), names, static_argnums)
    lowered = lower_traced(step, state, loss, batch, platform, kernel_variants, text)
    if text or require_rules:
        check_rules(lowered.module, rules, require_rules)
    if not lowered.pairs:
        _warn_of_no_state(fn)
    return lowered.module


@dataclass(frozen=True)
class LoweredStep:
    """A module; the outputs that are the next values of its parameters; and, by output
    of the module, the output of the traced function."""

    module: LoweredModule
    pairs: dict[int, int]
    outputs: list[int]


def lower_traced(
    step: TracedStep,
    state: Selection = None,
    loss: int | str | None = None,
    batch: Batch = None,
    platform: str = "cpu",
    kernel_variants: int = LIMIT,
    rules: str = "",
) -> LoweredStep:
    """As `lower`, for a step that has been traced; `rules` are JSON, not checked."""
    _check_callbacks(step)
    parameter_names = [
        name for arg in step.arguments for name in leaf_names(arg.tree, arg.name)
    ]
    require_unique(parameter_names, "parameter")
    pairs, outputs = _outputs(step, pair_state(step, state))
    jaxpr = as_kernels(step.traced.jaxpr)
    module = _lower(step, jaxpr, outputs, platform)
    _record(module, step, parameter_names, pairs, outputs, loss, batch)
    if rules:
        module.set_attributes({RULES: rules})
    hlo = module.serialize()
    with assumed_present(platform):
        hlo = add_kernels(hlo, jaxpr, platform, kernel_variants)
    return LoweredStep(LoweredModule(hlo), pairs, outputs)


def _record(module, step, parameter_names, pairs, outputs, loss, batch) -> None:
    """Writes names, roles, batches, keys, aliases and the loss into the module."""
    output_names = leaf_names(step.result, "out")
    output_names = [""] * (len(outputs) - len(output_names)) + output_names
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
    keys = [key_implementation(leaf) for arg in step.arguments for leaf in arg.leaves]
    for parameter, name in enumerate(parameter_names):
        attributes = {NAME: name, ROLE: roles[parameter]}
        if parameter in batches:
            attributes[BATCH] = str(batches[parameter])
        if keys[parameter]:
            attributes[KEY] = keys[parameter]
        module.set_parameter_attributes(parameter, attributes)
    donors = set(module.donors) | set(module.aliases)
    module.set_aliases(pairs, sorted(donors - set(pairs)))
    attributes = {FORMAT: FORMAT_VERSION, OUTPUTS: json.dumps(output_names)}
    key_outputs = _key_outputs(step, outputs)
    if key_outputs:
        attributes[KEY_OUTPUTS] = json.dumps(key_outputs)
    loss_index = _find_loss(module, output_names, set(pairs.values()), loss)
    if loss_index is not None:
        attributes[LOSS] = str(loss_index)
    module.set_attributes(attributes)


def require_jax() -> None:
    try:
        import jax  # noqa: F401
    except ModuleNotFoundError as error:
        raise MeshwrightError(
            "lowering needs jax: pip install 'meshwright[jax]'"
        ) from error


def _check_callbacks(step: TracedStep) -> None:
    """Rejects callbacks whose results are needed, and warns about the others."""
    name = step.traced.fun_name
    for callback in find_callbacks(step.traced.jaxpr):
        if callback.needed:
            raise MeshwrightError(
                f"{name} calls Python by {callback}, which a module cannot: compute "
                "it in jax, or before the step and give it the result as an argument"
            )
        warn(
            f"{callback} is left out of the module, which cannot call Python: the "
            f"results of {name} are the same, but nothing is printed or recorded"
        )


def _warn_of_no_state(fn: Callable) -> None:
    warn(
        f"{function_name(fn)} has no training state: no argument comes back in the "
        "result with the same tree, shapes and dtypes, so that nothing is kept from "
        "step to step; return the new state, or name its argument with state="
    )


def _outputs(step: TracedStep, pairs: dict) -> tuple[dict[int, int], list[int]]:
    """The pairs, and which outputs of the traced function the module has: the contents
    of nnx objects are outputs only if they are state."""
    used = set(pairs.values())
    kept = [i for i in range(step.outputs.stop) if i in used or i in step.outputs]
    places = {output: place for place, output in enumerate(kept)}
    return {p: places[output] for p, output in pairs.items()}, kept


def _key_outputs(step: TracedStep, outputs: list[int]) -> dict[str, str]:
    """Index of each output that is a PRNG key -> its implementation."""
    import jax

    leaves = jax.tree_util.tree_leaves(step.traced.out_info)
    found = {str(i): key_implementation(leaves[k]) for i, k in enumerate(outputs)}
    return {index: name for index, name in found.items() if name}


def _lower(step: TracedStep, jaxpr, outputs: list[int], platform: str) -> HloModule:
    """The module of `jaxpr` with all arguments as parameters, and these outputs."""
    traced = step.traced
    parameters = sum(len(arg.leaves) for arg in step.arguments)
    whole = outputs == list(range(step.outputs.stop))
    rewritten = jaxpr is not traced.jaxpr
    if whole and not rewritten and not needs_flattening(traced):
        module = _to_hlo(traced, platform)
        if len(module.parameters) == parameters:
            return module
    module = _to_hlo(flatten(traced, outputs, jaxpr), platform)
    got = len(module.parameters), len(module.outputs)
    if got != (parameters, len(outputs)):
        raise MeshwrightError(
            f"{traced.fun_name} lowered to {got[0]} parameters and {got[1]} outputs, "
            f"expected {parameters} and {len(outputs)}: ordered effects and hoisted "
            "constants are not supported"
        )
    return module


def _to_hlo(traced, platform: str) -> HloModule:
    """The module that jax lowers it to."""
    from meshwright.stablehlo import bytecode, stablehlo_to_hlo

    try:
        with assumed_present(platform):
            lowered = traced.lower(
                lowering_platforms=(platform,),
                _private_parameters=lowering_parameters(),
            )
        return HloModule(stablehlo_to_hlo(bytecode(lowered.compiler_ir())))
    except Exception as error:
        raise MeshwrightError(
            f"jax cannot lower {traced.fun_name} for {platform}: {in_one_line(error)}"
        ) from error


def _find_loss(module, output_names, state_outputs, loss) -> int | None:
    if loss is None:
        scalars = [
            index
            for index, shape in enumerate(module.outputs)
            if index not in state_outputs
            and not shape.dimensions
            and shape.dtype.startswith(("f", "bf"))
        ]
        # Dictionaries are sorted by key, so `accuracy` comes before `loss`.
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
