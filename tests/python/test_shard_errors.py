"""What kernel_shards takes for an error: every kind of kernel can fail."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

from _shard_errors import is_kept, shard_errors

EXACT = np.linspace(-1, 1, 64, dtype=np.float32)


def kept(got, whole, kinds=()):
    return is_kept(shard_errors([got], [whole], [EXACT])[1], kinds)


@pytest.mark.parametrize("away", [0.0, 0.01, 0.99], ids=["exact", "rounded", "far"])
def test_what_the_whole_kernel_gives_is_kept_and_its_halves_swapped_are_not(away):
    whole = EXACT + away * np.cos(np.arange(64, dtype=np.float32))
    assert kept(whole, whole)
    assert not kept(np.roll(whole, 32), whole)
    assert not kept(np.zeros_like(whole), whole)


def test_sums_may_be_further_away():
    whole = EXACT + 0.001
    assert not kept(EXACT + 0.01, whole)
    assert kept(EXACT + 0.01, whole, ["all-reduce"])
    assert not kept(EXACT + 0.02, whole, ["all-reduce"])


def test_the_worst_output_counts():
    outputs, whole = [EXACT, EXACT[::-1]], [EXACT, EXACT]
    assert not is_kept(shard_errors(outputs, whole, whole)[1], [])
