"""The package itself: what importing it costs."""

import subprocess
import sys

PROGRAM = """
import sys, meshwright
print(meshwright.lower.__name__, {"jax", "numpy", "zstandard"} & set(sys.modules))
"""


def test_importing_loads_neither_jax_nor_numpy():
    printed = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert printed.stdout == "lower set()\n"
