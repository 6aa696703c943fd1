"""The files that the commands of docs/errors.md are about, right and wrong ones."""

import json
import pickle
import random
import shutil
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
import scripts
import zstandard
from conftest import ROOT
from safetensors.numpy import save_file

HERE = Path(__file__).resolve().parent

DEVICE = {"kind": "h200"}
HOSTS = [{"devices": 2}]
TEXTS = {
    "empty": "",
    "notes.txt": "hello world\n" * 50,
    "broken.json": '{"mesh": {"data": 2},',
    "other.json": '{"a": 1, "b": 2}',
    "module.txt": "HloModule jit_f\n",
    "elided.txt": "HloModule m\nENTRY main {\n  ROOT c = f32[20]{0} constant({...})\n}\n",
    "step.mlir": "module @jit_f {\n",
    "order.csv": "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n",
    "words.csv": "0F0,hello\n",
    "gap.csv": "0F0,0B0\n2F0,2B0\n",
    "twice.csv": "0F0,0F0,0B0\n",
    "early.csv": "0B0,0F0\n",
    "lost.csv": "0F0,0F1,0B0,0B1\n1F0,1B0\n",
    "repeated.json": (
        '{"device": {"kind": "h200"}, "hosts": [{"devices": 2, "count": 4}],'
        ' "links": {"pod": {"hosts": 2, "gbps": 8, "us": 1},'
        ' "pod": {"hosts": 4, "gbps": 4, "us": 1}}}'
    ),
}
ARRAYS = {"batch/x": "x", "batch/y": "y"}
DATASETS = {
    "train.json": {},
    "kindless.json": {"kind": "csv"},
    "shufle.json": {"shufle": 3},
    "nofiles.json": {"files": ["none-*.npz"]},
    "gone.json": {"files": ["gone.npz"]},
    "packed.json": {"files": ["packed.npz"]},
    "unnamed.json": {"parameters": {**ARRAYS, "batch/x": "z"}},
    "swapped.json": {"parameters": {"batch/x": "y"}},
    "few.json": {"files": ["few.npz"]},
    "stateful.json": {"parameters": {"state/params/up": "x"}},
    "nowhere-named.json": {"parameters": {"batch/z": "x"}},
    "thirds.json": {"files": 3 * ["shard.npz"], "shard_by": "file"},
    "by-file.json": {"shard_by": "file"},
}


def dataset(**changes):
    return {"kind": "npz", "files": ["shard.npz"], "parameters": ARRAYS, **changes}


JSONS = {
    "cluster.json": {"device": DEVICE, "hosts": [{"devices": 8, "count": 2}]},
    "remote.json": {
        "device": DEVICE,
        "hosts": [
            {"address": "192.0.2.1", "devices": 2},
            {"address": "192.0.2.2", "devices": 2},
        ],
    },
    "nohosts.json": {"device": DEVICE, "hosts": []},
    "nodevice.json": {"hosts": HOSTS},
    "h20.json": {"device": {"kind": "h20"}, "hosts": HOSTS},
    "misspelt.json": {"device": {"kind": "h200", "memory": 80}, "hosts": HOSTS},
    "unequal.json": {"device": DEVICE, "hosts": [{"devices": 2}, {"devices": 4}]},
    "twins.json": {
        "device": DEVICE,
        "hosts": [{"address": "a:1", "devices": 2}, {"address": "a:1", "devices": 2}],
    },
    "noname.json": {"device": DEVICE, "hosts": [{"address": "a:1"}]},
    "tiny.json": {"device": {"kind": "h200", "memory_gib": -1}, "hosts": HOSTS},
    "slow.json": {
        "device": DEVICE,
        "hosts": HOSTS,
        "links": {"cluster": {"gbps": 0}},
    },
    "rack.json": {
        "device": DEVICE,
        "hosts": HOSTS,
        "links": {"cluster": {"gbps": 1, "per": "rack"}},
    },
    "pods.json": {
        "device": DEVICE,
        "hosts": HOSTS,
        "links": {"pod": {"gbps": 1, "us": 1}},
    },
    "threes.json": {
        "device": DEVICE,
        "hosts": [{"devices": 2, "count": 4}],
        "links": {"pod": {"hosts": 3, "gbps": 1, "us": 1}},
    },
    "contradicting.json": {
        "device": DEVICE,
        "hosts": [{"devices": 2, "count": 4}],
        "links": {"cluster": {"hosts": 2}},
    },
    "alike.json": {
        "device": DEVICE,
        "hosts": [{"devices": 2, "count": 4}],
        "links": {
            "pod": {"hosts": 2, "gbps": 8, "us": 1},
            "rail": {"hosts": 2, "gbps": 4, "us": 1},
        },
    },
    "undersubscribed.json": {
        "device": DEVICE,
        "hosts": HOSTS,
        "links": {"cluster": {"oversubscription": 0.5}},
    },
    "nodevices.json": {"device": DEVICE, "hosts": [{"devices": 2}, {"devices": 0}]},
    "mixed.json": {
        "device": DEVICE,
        "hosts": [{"devices": 2}, {"devices": 2, "device": {"kind": "h20"}}],
    },
    "beside.json": {
        "device": DEVICE,
        "hosts": [{"devices": 2}, {"devices": 2, "device": {"kind": "cpu"}}],
    },
    "stopped.json": {
        "device": DEVICE,
        "hosts": [
            {"devices": 2},
            {"devices": 2, "device": {"kind": "h200", "speed": 0}},
        ],
    },
    "unplugged.json": {
        "device": DEVICE,
        "hosts": [{"devices": 2}, {"devices": 2, "link_speed": 0}],
    },
    "pins.json": {"mesh": {"data": 2}, "parameters": {"batch/*": "[data, -]"}},
    "nomesh.json": {"parameters": {"batch/x": "[data, -]"}},
    "wider.json": {"mesh": {"data": 4}, "parameters": {"batch/x": "[data, -]"}},
    "badname.json": {"mesh": {"data": 2}, "parameters": {"batch/z": "[data, -]"}},
    "badaxis.json": {"mesh": {"data": 2}, "parameters": {"batch/x": "[model, -]"}},
    "badrank.json": {"mesh": {"data": 2}, "parameters": {"batch/x": "[data]"}},
    "axistwice.json": {"mesh": {"data": 2}, "parameters": {"batch/x": "[data, data]"}},
    "badkey.json": {"mesh": {"data": 2}, "params": {}},
    "badmesh.json": {"mesh": {"data": "two"}, "parameters": {}},
    "partial.json": {
        "mesh": {"data": 2},
        "parameters": {"batch/x": "[-, -] +{data}"},
    },
    "stages.json": {"stages": [{"instructions": ["*tanh*"]}, ["*reduce_sum*"]]},
    "nolist.json": {"stages": 2},
    "nothing.json": {"stages": [{"instructions": ["nothing.7"]}, ["*tanh*"]]},
    "stagekey.json": {"stages": [{"names": ["*tanh*"]}]},
    "problem.json": {
        "problem": {
            "name": "two",
            "nodes": {
                "intervals": [[0, 2], [1, 3]],
                "costs": [[1, 2], [3, 1]],
                "usages": [[1, 1], [1, 1]],
            },
            "edges": {"nodes": [[0, 1]], "costs": [[0, 5, 5, 0]]},
        }
    },
    **{name: dataset(**changes) for name, changes in DATASETS.items()},
    "noedges.json": {"problem": {"name": "two"}},
}


def make_files(folder: Path, mlp: Path, binary: Path) -> None:
    """All of them, in `folder`; `mlp` is the module of `mlp_step.py`."""
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    for name, value in JSONS.items():
        (folder / name).write_text(json.dumps(value))
    (folder / "folder").mkdir()
    shutil.copy(mlp, folder / "mlp.hlo.pb")
    for name, source in {
        "step": "gpt_tiny",
        "vit": "vit_tiny",
        "resnet": "wide_resnet_tiny",
    }.items():
        shutil.copy(
            ROOT / f"testdata/{source}.hlo.pb.zst", folder / f"{name}.hlo.pb.zst"
        )
    packed = (folder / "vit.hlo.pb.zst").read_bytes()
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    (folder / "half.hlo.pb").write_bytes(plain[: len(plain) // 2])
    (folder / "damaged.hlo.pb.zst").write_bytes(packed[:100] + bytes(100))
    (folder / "noise.bin").write_bytes(random.Random(0).randbytes(4000))
    (folder / "state.pkl").write_bytes(pickle.dumps({"a": 1}, protocol=4))
    up = np.zeros((32, 64), np.float32)
    save_file({"state/params/up": up}, folder / "w.safetensors")
    np.savez(folder / "w.npz", **{"state/params/up": up})
    save_file({"state/params/down": up}, folder / "shape.safetensors")
    save_file({"state/params/left": up}, folder / "name.safetensors")
    samples = {"x": np.zeros((40, 32), np.float32), "y": np.zeros((40, 16), np.float32)}
    np.savez(folder / "shard.npz", **samples)
    np.savez_compressed(folder / "packed.npz", **samples)
    np.savez(folder / "few.npz", **{name: all[:8] for name, all in samples.items()})
    with sqlite3.connect(folder / "songs.db") as database:
        database.execute("CREATE TABLE songs(name TEXT)")
    with sqlite3.connect(folder / "rates.db") as database:
        database.executescript(
            "CREATE TABLE rates(device TEXT, devices INTEGER, cores INTEGER, "
            "measured TEXT, platform TEXT, json TEXT); PRAGMA user_version = 1;"
        )
    with sqlite3.connect(folder / "newer.db") as database:
        database.execute("PRAGMA user_version = 99")
    scripts.run(HERE / "callback_step.py", folder / "prints.hlo.pb")
    scripts.run(HERE / "kernel_step.py", folder / "kernel.hlo.pb")
    for kind, name in (("mlp", "region"), ("positions", "rows")):
        path = folder / f"{name}.hlo.pb"
        scripts.run(HERE / "shard_map_step.py", kind, "shardy", path)
    make_plans(folder, binary)


def make_plans(folder: Path, binary: Path) -> None:
    """Plans of the module, and what is made of one by hand."""

    def run(*args):
        done = subprocess.run([binary, *args], check=True, cwd=folder,
                              capture_output=True, text=True)  # fmt: skip
        return done.stdout

    flags = ("plan", "mlp.hlo.pb", "--cluster", "cpu:2", "--assumed", "--seed", "1")
    printed = run(*flags, "--mesh", "data=2", "-o", "plan.json", "--json")
    (folder / "printed.json").write_text(printed)
    run(*flags, "--stages", "2", "--micro-batches", "4", "-o", "pipeline.json")
    run("plan", "mlp.hlo.pb", "--cluster", "h200:1024x8", "--assumed", "--mesh",
        "data=8192", "-o", "large.json")  # fmt: skip
    run("partition", "mlp.hlo.pb", "--sharding", "pins.json", "-o", "program.hlo.pb")
    plan = json.loads((folder / "plan.json").read_text())
    (folder / "future.json").write_text(json.dumps(plan | {"format": 5}))
    (folder / "edited.json").write_text(json.dumps(plan | {"tensors": {}}))
