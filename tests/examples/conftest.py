"""Settings of the tests of examples."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
