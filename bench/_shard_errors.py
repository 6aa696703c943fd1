"""How far shards are from what they should give, for kernel_shards.py."""

import numpy as np

BAR = 4.0
EPSILON = 1e-6  # Where the whole kernel is exact.
SUM_BAR = 16.0  # Parts are rounded to bf16 before they are summed up.
# A whole kernel this far from the run in f32 tells nothing of its shards by that. They
# are compared with the kernel itself then, and may be a step of 8-bit floats away.
FAR = 0.25
STEP = 1 / 8


def difference(got, want) -> float:
    """The largest error, relative to the largest value."""
    got, want = (np.asarray(one).astype(np.float32) for one in (got, want))
    return float(np.abs(got - want).max() / np.abs(want).max())


def shard_errors(outputs, whole, exact) -> tuple[list[float], list[float]]:
    """For each output, what shards may be away (at a bar of 1), and how many times that."""
    unit, errors = [], []
    for got, one, wide in zip(outputs, whole, exact, strict=True):
        rounding = max(difference(one, wide), EPSILON)
        is_far = rounding > FAR
        unit.append(STEP / BAR if is_far else rounding)
        errors.append(difference(got, one if is_far else wide) / unit[-1])
    return unit, errors


def is_kept(errors, kinds) -> bool:
    """Whether errors keep the bar of programs with these collectives."""
    return bool(np.max(errors) <= (SUM_BAR if "all-reduce" in kinds else BAR))
