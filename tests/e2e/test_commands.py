"""The contracts of `devices`, `inspect` and `run`; the demo is the README's."""

import gzip
import math
import re

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

MODELS = [
    "bert_tiny",
    "gpt_scan_tiny",
    "gpt_tiny",
    "gpt_tiny_jax0435",
    "llama_tiny",
    "moe_tiny",
    "unet_tiny",
    "vit_tiny",
    "wide_resnet_tiny",
]


def test_devices_lists_the_cpu_plugin(cli):
    report = cli.json("devices", "--cpu-devices", 4)
    cpu = next(p for p in report["plugins"] if p["name"] == "cpu")
    assert re.fullmatch(r"\d+\.\d+", cpu["pjrt_api"])
    assert [device["id"] for device in cpu["devices"]] == [0, 1, 2, 3]


def test_a_named_plugin_is_not_replaced_by_another(cli, mlp, monkeypatch):
    monkeypatch.setenv("MESHWRIGHT_PJRT_PLUGIN", "/no/where.so")
    line = cli.refuses("run", mlp)
    assert line.endswith("plug-in where (/no/where.so): no such file")


@pytest.mark.parametrize("model", MODELS)
def test_inspect_knows_every_model(cli, testdata, model):
    report = cli.json("inspect", testdata / f"{model}.hlo.pb.zst")
    assert report["instructions"] == sum(report["opcodes"].values()) > 500
    assert report["flops"] > 1e6
    assert report["unknown_loops"] == 0
    assert report["warnings"] == []
    roles = [p["role"] for p in report["parameters"]]
    assert roles.count("state") > 10 and roles.count("data") >= 1
    assert [p["index"] for p in report["parameters"]] == list(range(len(roles)))
    assert report["outputs"][report["loss"]]["role"] == "loss"


def test_inspect_finds_the_token_bound(cli, testdata):
    report = cli.json("inspect", testdata / "gpt_tiny.hlo.pb.zst")
    data = {p["name"]: p for p in report["parameters"] if p["role"] == "data"}
    assert data["batch/tokens"]["bound"] == data["batch/targets"]["bound"] == 128


def test_inspect_finds_scanned_layers(cli, testdata):
    report = cli.json("inspect", testdata / "gpt_scan_tiny.hlo.pb.zst")
    assert any(s["count"] == 2 and s["label"].startswith("while") for s in
               report["segments"])  # fmt: skip


@pytest.mark.parametrize("model, blocks", [("gpt_tiny", 13), ("gpt_scan_tiny", 7)])
def test_inspect_finds_blocks_and_memory(cli, testdata, model, blocks):
    report = cli.json("inspect", testdata / f"{model}.hlo.pb.zst")
    assert sum(b["count"] for b in report["blocks"]) == blocks
    # Forward, weight gradient and input gradient, each split with the others.
    assert all(b["contractions"] == 3 for b in report["blocks"])
    assert all(s["parts"] > 1 for b in report["blocks"] for s in b["splits"])
    flops = sum(b["count"] * b["flops"] for b in report["blocks"])
    assert 0.9 * report["flops"] < flops < report["flops"]
    assert sum(s["parameters"] for s in report["segments"]) > 10
    memory = report["memory"]
    assert memory["peak_bytes"] > memory["parameter_bytes"] > report["state_bytes"]


def test_inspect_text_is_hlo(cli, testdata):
    done = cli("inspect", testdata / "vit_tiny.hlo.pb.zst", "--text")
    assert done.returncode == 0
    assert done.stdout.startswith("HloModule ")
    assert "\nENTRY " in done.stdout


def test_run_is_deterministic_and_learns(cli, testdata):
    module = testdata / "vit_tiny.hlo.pb.zst"
    first = cli.json("run", module, "--steps", 8, "--seed", 3, "--platform", "cpu")
    again = cli.json("run", module, "--steps", 8, "--seed", 3, "--platform", "cpu")
    other = cli.json("run", module, "--steps", 8, "--seed", 4, "--platform", "cpu")
    assert first["loss"] == again["loss"] != other["loss"]
    assert len(first["step_seconds"]) == 8 and min(first["step_seconds"]) > 0
    assert first["loss"][-1] < first["loss"][0]


def test_run_resumes_from_saved_state(cli, testdata, tmp_path):
    module = testdata / "vit_tiny.hlo.pb.zst"
    saved = tmp_path / "state.safetensors"
    whole = cli.json("run", module, "--steps", 6)
    cli.json("run", module, "--steps", 3, "--save", saved)
    rest = cli.json("run", module, "--steps", 3, "--inputs", saved)
    assert rest["loss"] == whole["loss"][3:]


def test_run_takes_npz_and_gzip(cli, testdata, tmp_path):
    import zstandard

    packed = (testdata / "gpt_tiny.hlo.pb.zst").read_bytes()
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    module = tmp_path / "gpt.hlo.pb.gz"
    module.write_bytes(gzip.compress(plain))
    state = load_file(testdata / "gpt_tiny_init.safetensors")
    np.savez(tmp_path / "state.npz", **state)
    tokens = np.full((16, 64), 65, np.int64)
    batch = {"batch/tokens": tokens, "batch/targets": tokens}
    save_file(batch, tmp_path / "batch.safetensors")
    report = cli.json(
        "run", module, "--inputs", tmp_path / "state.npz",
        "--data", tmp_path / "batch.safetensors", "--steps", 3, "--platform", "cpu",
    )  # fmt: skip
    assert math.isclose(report["loss"][0], math.log(128), rel_tol=0.05)
    assert report["loss"][2] < report["loss"][0]


def test_help_and_version(cli):
    assert "inspect" in cli("--help").stdout
    assert "--steps" in cli("run", "--help").stdout
    assert re.fullmatch(r"meshwright \d+\.\d+\.\d+\n", cli("--version").stdout)
