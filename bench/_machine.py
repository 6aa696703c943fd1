"""What a figure was measured on: a line for the top of every benchmark."""

import datetime
import os
import platform
from importlib import metadata


def describe(*packages: str) -> str:
    """`Intel(R) Xeon(R), 2 cores, Linux 6.1; jax 0.10.2; 2026-11-15`."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in packages)
    parts = [f"{_cpu()}, {os.cpu_count()} cores, Linux {platform.release()}"]
    parts += [versions] if versions else []
    return "; ".join([*parts, datetime.date.today().isoformat()])


def _cpu() -> str:
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
