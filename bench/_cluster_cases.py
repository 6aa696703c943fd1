"""Clusters that no short form names, for benches: slow and shared links, three link
levels, hosts that differ, little memory.
"""

import json
from pathlib import Path

_HOST = {"host": {"gbps": 3600.0, "us": 3.0}}

CLUSTERS = {
    "slow_links": {
        "device": "h200",
        "hosts": [{"devices": 4}] * 4,
        "links": {
            "host": {"gbps": 400.0, "us": 8.0},
            "cluster": {"gbps": 25.0, "us": 40.0},
        },
    },
    # What the names of clusters cannot say, and virtual devices of a fixed machine: what
    # cpu:8 assumes depends on where it runs.
    "virtual": {
        "device": {
            "kind": "cpu",
            "memory_gib": 3.0,
            "memory_gbps": 2.5,
            "tflops": {"f32": 0.02, "bf16": 0.01},
        },
        "hosts": [{"devices": 8}],
        "links": {
            "host": {"gbps": 80.0, "us": 20.0},
            "cluster": {"gbps": 10.0, "us": 50.0},
        },
        "shared_host": True,
        "cores": 2,
    },
    # One card for all devices of a host.
    "shared_port": {
        "device": "a100-40",
        "hosts": [{"devices": 8, "count": 4}],
        "links": {**_HOST, "cluster": {"gbps": 100.0, "us": 10.0, "per": "host"}},
    },
    # Rails of pods, an oversubscribed spine, little memory.
    "spine": {
        "device": {"kind": "h200", "memory_gib": 24},
        "hosts": [{"devices": 8, "count": 8}],
        "links": {
            **_HOST,
            "pod": {"hosts": 4, "gbps": 400.0, "us": 6.0, "per": "device"},
            "cluster": {
                "gbps": 400.0,
                "us": 12.0,
                "per": "device",
                "oversubscription": 8,
            },
        },
    },
    # Pairs with a fast link inside a host, as NVLink bridges.
    "pairs": {
        "device": {"kind": "a100-40"},
        "hosts": [{"devices": 8, "count": 2}],
        "links": {
            "pair": {"devices": 2, "gbps": 2400.0, "us": 3.0},
            "host": {"gbps": 200.0, "us": 6.0, "per": "device"},
            "cluster": {"gbps": 50.0, "us": 15.0, "per": "host"},
        },
    },
    "uneven": {
        "device": "h200",
        "hosts": [
            {"devices": 4, "count": 2},
            {"devices": 4, "count": 2, "device": "a100-40"},
        ],
    },
}


def cluster_of(name: str, folder: Path) -> str:
    """What `--cluster` is given: a file of the cluster with this name, or the name."""
    if name not in CLUSTERS:
        return name
    path = folder / f"{name}.json"
    path.write_text(json.dumps(CLUSTERS[name]))
    return str(path)
