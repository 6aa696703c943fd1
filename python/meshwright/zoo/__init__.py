"""Complete training steps of well-known models, in plain JAX and optax.

    step = zoo.build("gpt", "tiny", batch=16)
    step.lower().save("gpt_tiny.hlo.pb.zst")

`python -m meshwright.zoo list` shows the models and sizes.
"""

from dataclasses import fields
from types import ModuleType

from meshwright.errors import MeshwrightError
from meshwright.zoo import bert, gpt, llama, moe, unet, vit, wide_resnet
from meshwright.zoo.sizes import SIZES
from meshwright.zoo.train_step import Step

# Name -> (module, sizes, differences from other models of the module).
MODELS: dict[str, tuple[ModuleType, str, dict[str, object]]] = {
    "gpt": (gpt, "gpt", {}),
    "gpt-scan": (gpt, "gpt", {"scan": True}),
    "llama": (llama, "llama", {}),
    "moe": (moe, "moe", {}),
    "bert": (bert, "bert", {}),
    "vit": (vit, "vit", {}),
    "wide-resnet": (wide_resnet, "wide-resnet", {}),
    "unet": (unet, "unet", {}),
}


def build(model: str, size: str = "tiny", **overrides) -> Step:
    """The training step of a model, with fields of its Config replaced."""
    if model not in MODELS:
        raise MeshwrightError(f"no model {model!r}; there are {', '.join(MODELS)}")
    module, sizes, variant = MODELS[model]
    if size not in SIZES[sizes]:
        raise MeshwrightError(
            f"{model} has no size {size!r}; there are {', '.join(SIZES[sizes])}"
        )
    known = {field.name for field in fields(module.Config)}
    unknown = sorted(set(overrides) - known)
    if unknown:
        raise MeshwrightError(
            f"{model} has no setting {unknown[0]!r}; "
            f"there are {', '.join(sorted(known))}"
        )
    return Step(module, module.Config(**SIZES[sizes][size] | variant | overrides))


def sizes_of(model: str) -> list[str]:
    return list(SIZES[MODELS[model][1]])
