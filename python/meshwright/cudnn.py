"""Lowers cuDNN attention on machines without a CUDA device.

JAX asks the local device for its version; the lowered program does not depend on the
answer if the device is recent.
"""

import contextlib
import importlib

_MODULE = "jax._src.cudnn.fused_attention_stablehlo"
_ANSWERS = {
    "check_cudnn_version": lambda: 91000,
    "check_compute_capability": lambda capability: True,
    "is_cuda_compute_capability_equal": lambda capability: False,
}


@contextlib.contextmanager
def assumed_present(platform: str):
    """While lowering for CUDA without a CUDA device, makes JAX assume the cuDNN version
    and compute capability of an H100."""
    asked = _asked() if platform == "cuda" and not _has_cuda() else None
    saved = {name: getattr(asked, name) for name in _ANSWERS if hasattr(asked, name)}
    try:
        for name in saved:
            setattr(asked, name, _ANSWERS[name])
        yield
    finally:
        for name, function in saved.items():
            setattr(asked, name, function)


def _asked():
    try:
        return importlib.import_module(_MODULE)
    except ImportError:
        return None


def _has_cuda() -> bool:
    import jax

    try:
        return any("cuda" in d.client.platform_version for d in jax.devices("gpu"))
    except RuntimeError:
        return False
