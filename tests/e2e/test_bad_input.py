"""Mistakes get one clear line and exit code 2; nothing crashes or hangs."""

import json
import os
import random

import numpy as np
import pytest
import zstandard
from safetensors.numpy import save_file


@pytest.fixture(scope="module")
def plain(testdata):
    packed = (testdata / "vit_tiny.hlo.pb.zst").read_bytes()
    return zstandard.ZstdDecompressor().decompressobj().decompress(packed)


@pytest.mark.parametrize("command", ["inspect", "run"])
def test_files_that_are_no_modules(cli, tmp_path, plain, command):
    cases = {
        "empty": (b"", "empty"),
        "text": (b"hello world\n" * 100, "this is text, not an HLO module"),
        "hlo_text": (b"HloModule jit_f\n", "line 2, column 1: expected a computation"),
        "mlir": (b"module @jit_f {\n", "meshwright.convert"),
        "truncated": (plain[: len(plain) // 2], "truncated"),
        "noise": (random.Random(0).randbytes(10_000), "not a serialized"),
        "bad_zstd": (b"\x28\xb5\x2f\xfd" + b"x" * 50, "damaged zstd"),
        "bad_gzip": (b"\x1f\x8b" + b"x" * 50, "damaged gzip"),
    }
    for name, (content, expected) in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        line = cli.refuses(command, path)
        assert expected in line and str(path) in line


def test_long_and_odd_values_leave_a_readable_line(cli, mlp, tmp_path):
    path = tmp_path / "cluster.json"
    for value in ("x" * 5000, "\x1b[31m\x07"):
        path.write_text(json.dumps({"device": {"kind": value}, "hosts": []}))
        line = cli.refuses("plan", mlp, "--cluster", path)
        assert len(line) < 1500 and "\x1b" not in line
        assert "unknown device kind" in line and line.endswith("tpu-v5p, cpu")


def test_missing_file_and_folder(cli, tmp_path):
    assert "nowhere.hlo.pb" in cli.refuses("inspect", tmp_path / "nowhere.hlo.pb")
    assert str(tmp_path) in cli.refuses("inspect", tmp_path)


def test_file_above_two_gib(cli, tmp_path):
    path = tmp_path / "huge.hlo.pb"
    with path.open("wb") as file:
        os.truncate(file.fileno(), (1 << 31) + 10)
    assert "huge.hlo.pb" in cli.refuses("inspect", path)


def test_zstd_bomb(cli, tmp_path):
    path = tmp_path / "bomb.zst"
    compressor = zstandard.ZstdCompressor(level=1)
    chunk = bytes(1 << 24)
    with path.open("wb") as file, compressor.stream_writer(file) as writer:
        for _ in range(130):
            writer.write(chunk)
    assert "decompresses to more than" in cli.refuses("inspect", path)


def test_flags(cli, testdata):
    module = testdata / "vit_tiny.hlo.pb.zst"
    assert "did you mean --steps" in cli.refuses("run", module, "--stps", 3)
    assert "--steps must be a whole number" in cli.refuses(
        "run", module, "--steps", "x"
    )
    assert "--steps must be a whole number" in cli.refuses("run", module, "--steps", -1)
    assert "needs a value" in cli.refuses("run", module, "--steps")
    assert "takes no value" in cli.refuses("run", module, "--json=1")
    assert "expected MODULE" in cli.refuses("run")
    assert "did you mean inspect" in cli.refuses("inspct", module)
    assert "no-such-platform" in cli.refuses("run", module, "--platform",
                                             "no-such-platform")  # fmt: skip


def test_inputs_that_do_not_fit(cli, testdata, tmp_path):
    module = testdata / "vit_tiny.hlo.pb.zst"
    path = tmp_path / "in.safetensors"
    save_file({"no/such/parameter": np.zeros(3, np.float32)}, path)
    assert "no/such/parameter" in cli.refuses("run", module, "--inputs", path)
    report = cli.json("inspect", module)
    image = next(p for p in report["parameters"] if p["role"] == "data")
    save_file({image["name"]: np.zeros((1, 2), np.float32)}, path)
    assert image["name"] in cli.refuses("run", module, "--inputs", path)
    path.write_bytes(b"\xff" * 100)
    assert str(path) in cli.refuses("run", module, "--inputs", path)
