"""The package itself: what importing it costs, and the examples in its docstrings."""

import doctest
import importlib
import subprocess
import sys

import pytest

PROGRAM = """
import sys, meshwright
print(meshwright.lower.__name__, {"jax", "numpy", "zstandard"} & set(sys.modules))
"""

WITHOUT_JAX = """
import sys
sys.modules["jax"] = None
import meshwright
try:
    meshwright.lower(abs, 1)
except meshwright.MeshwrightError as error:
    print(error)
"""


def output_of(program: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return result.stdout


def test_importing_loads_neither_jax_nor_numpy():
    assert output_of(PROGRAM) == "lower set()\n"


def test_lowering_without_jax_says_what_to_install():
    assert "pip install 'meshwright[jax]'" in output_of(WITHOUT_JAX)


@pytest.mark.parametrize("name", ["errors", "naming", "shardings", "wire", "zoo.data"])
def test_examples_in_docstrings_are_true(name):
    module = importlib.import_module(f"meshwright.{name}")
    failed, attempted = doctest.testmod(module)
    assert attempted > 0
    assert failed == 0
