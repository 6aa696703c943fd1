"""Settings of the tests of examples."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Compiled in a quarter of the time: to compile threefry is most of a tiny example.
os.environ.setdefault("JAX_DEFAULT_PRNG_IMPL", "rbg")
