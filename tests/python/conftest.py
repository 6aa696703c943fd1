"""Settings of the Python tests."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes minutes; left out by default")
