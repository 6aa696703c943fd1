"""Settings of the tests of examples."""

import contextlib
import os
import subprocess

import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Compiled in a quarter of the time: to compile threefry is most of a tiny example.
os.environ.setdefault("JAX_DEFAULT_PRNG_IMPL", "rbg")


@pytest.fixture
def coordinator():
    """The address of one with two workers, of two devices each."""
    from meshwright.executable import find_program

    with contextlib.ExitStack() as stack:

        def start(*words):
            child = subprocess.Popen(
                [find_program(), *words], stdout=subprocess.PIPE, text=True
            )
            stack.callback(child.wait, 30)
            stack.callback(child.terminate)
            return child

        words = ("--listen", "127.0.0.1:0", "--cluster", "cpu:4", "--workers", "2")
        serve = start("serve", *words)
        address = serve.stdout.readline().split()[2].rstrip(";")
        for _ in range(2):
            start("worker", "--join", address, "--devices", "2", "--platform", "cpu")
        yield address
