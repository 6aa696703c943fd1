"""Writes the small files that the tests of state/ read.

Needs numpy, ml_dtypes and safetensors. Every array is arange(6), as 2 x 3.
"""

from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

HERE = Path(__file__).parent
TYPES = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
    "bf16": ml_dtypes.bfloat16,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
}


def main():
    base = np.arange(6).reshape(2, 3)
    arrays = {name: base.astype(dtype) for name, dtype in TYPES.items()}
    arrays["pred"] = base % 2 == 1
    arrays["nested/fortran"] = np.asfortranarray(base.astype(np.float32))
    arrays["big_endian"] = base.astype(">i4")
    arrays["scalar"] = np.array(5, np.float32)
    arrays["empty"] = np.zeros((0, 3), np.float32)
    np.savez(HERE / "stored.npz", **arrays)
    np.savez_compressed(HERE / "deflated.npz", **arrays)
    np.save(HERE / "single.npy", base.astype(np.float32))
    for name in ("c128", "nested/fortran", "big_endian"):
        del arrays[name]
    save_file(arrays, HERE / "all.safetensors", metadata={"format": "np"})


main()
