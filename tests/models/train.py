"""The models of this folder, as a user would train them.

    train.py lower MODEL MODULE      lowers the step
    train.py train MODEL PLAN        trains on 8 devices, prints a JSON object

`alone` are the losses on one device; `planned` those of `load_plan(PLAN).jit(step)`;
`shardings` those of `jax.jit` or `nnx.jit` with `load_plan(PLAN).shardings(step)`, or
of `eqx.filter_jit` with arguments that lie so; `parts` how many different parts the
batch and each named state lie in.
"""

import importlib
import json
import os
import sys

os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
)
os.environ["JAX_PLATFORMS"] = "cpu"

import jax

import meshwright

STEPS = 3
# Older versions of jax draw other numbers on several devices, unless asked not to.
jax.config.update("jax_threefry_partitionable", True)


def train(step, model) -> list[float]:
    """The losses; arguments are replaced by what comes back before the loss."""
    args, losses = model.make(), []
    for seed in range(STEPS):
        result = step(*args, model.batch(seed))
        if isinstance(result, tuple):
            *new, loss = result
            args = tuple(new)
        else:  # nnx: in place.
            loss = result
        losses.append(float(loss["loss"] if isinstance(loss, dict) else loss))
    return losses


def jitted_with(split, name: str, model):
    if name == "equinox_mixer":
        import equinox as eqx

        def step(*args):
            placed = (
                eqx.filter_shard(arg, sharding)
                for arg, sharding in zip(args, split.arguments, strict=True)
            )
            return model.jitted(*placed)

        return step
    if name == "nnx_transformer":
        from flax import nnx

        jit = nnx.jit
    else:
        jit = jax.jit
    return jit(model.step, in_shardings=split.arguments, out_shardings=split.results)


def parts(split, model) -> dict[str, int]:
    args = (*model.make(), model.batch(0))
    from meshwright.tensors import named_tensors

    names = [name.split("/")[0] for name in split.parameters]
    trees = dict(zip(dict.fromkeys(names), args, strict=True))
    return {
        name: len(
            {
                str(shard.index)
                for shard in jax.device_put(
                    array, split.parameters[name]
                ).addressable_shards
            }
        )
        for name, array in named_tensors(**trees).items()
    }


def main(command: str, name: str, path: str) -> None:
    model = importlib.import_module(name)
    example = (*model.make(), model.batch(0))
    if command == "lower":
        meshwright.lower(model.jitted, *example).save(path)
        return
    plan = meshwright.load_plan(path)
    split = plan.shardings(model.step, *example)
    report = {
        "alone": train(model.jitted, model),
        "planned": train(plan.jit(model.jitted, *example, donate=True), model),
        "shardings": train(jitted_with(split, name, model), model),
        "parts": parts(split, model),
    }
    print(json.dumps(report))


main(*sys.argv[1:])
