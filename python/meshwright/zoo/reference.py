"""Results of JAX itself for a few steps of a model, for comparison.

DIR/module.hlo.pb.zst     the lowered step
DIR/init.safetensors      the state before the first step, by parameter name
DIR/batch_0.safetensors   the data of step 0, by parameter name; batch_1, ...
DIR/losses.json           {"model", "size", "jax", "losses": [step 0, step 1, ...]}
"""

import json
from pathlib import Path

import jax

from meshwright.tensors import save_tensors
from meshwright.zoo import build


def write_reference(
    model: str, size: str, directory: Path, steps: int, **overrides
) -> list[float]:
    """Runs `steps` steps, each on its own example batch, and writes the files."""
    step = build(model, size, **overrides)
    directory.mkdir(parents=True, exist_ok=True)
    step.lower().save(directory / "module.hlo.pb.zst")
    state = step.init_state()
    save_tensors(directory / "init.safetensors", state=state)
    run = jax.jit(step.fn)
    losses = []
    for index in range(steps):
        batch = step.example_batch(seed=index)
        save_tensors(directory / f"batch_{index}.safetensors", batch=batch)
        state, loss = run(state, batch)
        losses.append(float(loss))
    summary = {"model": model, "size": size, "jax": jax.__version__, "losses": losses}
    (directory / "losses.json").write_text(json.dumps(summary, indent=1) + "\n")
    return losses
