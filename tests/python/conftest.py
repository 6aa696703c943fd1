"""Settings of the Python tests."""

import os
import sys
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Before anything makes an array.
os.environ["XLA_FLAGS"] = " ".join(
    [os.environ.get("XLA_FLAGS", ""), "--xla_force_host_platform_device_count=8"]
)
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes minutes; left out by default")
    what = "says nothing more under another version of JAX: nothing is lowered"
    config.addinivalue_line("markers", f"one_jax: {what}")
