"""scale: predicted curves over the size of a cluster."""

import json
import math
import xml.etree.ElementTree

import pytest

FLAGS = ("--cluster", "h200:16x8", "--assumed")


def test_strong_scaling(cli, mlp, tmp_path):
    svg = tmp_path / "curves.svg"
    folder = tmp_path / "new" / "plans"
    report = cli.json("scale", mlp, *FLAGS, "--svg", svg, "-o", folder)
    assert report["scaling"] == "strong"
    assert report["unit"] == "samples"
    points = report["points"]
    assert [point["devices"] for point in points] == [8, 32, 128]
    for point in points:
        alone = cli.json(
            "plan", mlp, "--cluster", f"h200:{point['devices'] // 8}x8", "--assumed"
        )
        assert point["step_seconds"] == alone["predicted"]["step_seconds"]
        assert point["peak_bytes"] == alone["predicted"]["peak_bytes"]
        assert point["notes"] == alone["notes"]
        assert point["memory_share"] == pytest.approx(
            alone["predicted"]["peak_bytes"] / alone["memory_bytes"]
        )
        assert point["throughput_per_device"] == pytest.approx(
            point["samples"] / point["step_seconds"] / point["devices"]
        )
        assert 0 < point["mfu"] < 1
        kept = json.loads((folder / f"{point['devices']}.json").read_text())
        assert kept["mesh"] == alone["mesh"]
    drawing = xml.etree.ElementTree.parse(svg).getroot()
    assert drawing.tag.endswith("svg")
    words = {text.text for text in drawing.iter() if text.tag.endswith("text")}
    curves = {"throughput of a device", "MFU", "goodput", "communication", "bubbles"}
    assert words >= {*curves, "memory"}
    table = cli("scale", mlp, *FLAGS).stdout
    assert "strong scaling: the batch of the one step" in table
    assert table.splitlines()[3].split()[0] == "8"
    assert "#" * 24 in table  # The best.
    assert max(map(len, table.splitlines()[2:6])) <= 80


def test_weak_scaling(cli, mlp, testdata):
    """At every size the step whose batch per device is nearest to the first."""
    other = testdata / "vit_tiny.hlo.pb.zst"
    at_8 = [
        cli.json("scale", path, *FLAGS, "--devices", 8)["points"][0]["samples"]
        for path in (mlp, other)
    ]
    flags = ("--devices", "8,16", "--other-batch", other)
    report = cli.json("scale", mlp, *FLAGS, *flags)
    assert report["scaling"] == "weak"
    for point in report["points"]:
        off = [
            abs(math.log(count / (at_8[0] * point["devices"] / 8))) for count in at_8
        ]
        assert point["step"] == off.index(min(off))


def test_failures(cli, mlp):
    flags = ("--devices", 128, "--mtbf", 100, "--save-bandwidth", 1e-6)
    best = cli.json("scale", mlp, *FLAGS, *flags)["points"][0]["goodput"]
    assert best["mtbf_seconds"] == pytest.approx(100 * 3600 / 128)
    assert best["interval_seconds"] == best["best_interval_seconds"]
    rare = cli.json("scale", mlp, *FLAGS, *flags, "--checkpoint-interval", 2000)
    rare = rare["points"][0]["goodput"]
    assert rare["interval_seconds"] == 2000
    assert rare["share"] < best["share"] < 1


def test_sizes_that_do_not_fit_are_said(cli, mlp):
    """One device holds 25 KiB of state."""
    flags = ("--cluster", "h200:2x8", "--assumed")
    report = cli.json("scale", mlp, *flags, "--devices", "1,8", "--memory", 2e-5)
    one, eight = report["points"]
    assert "does not fit" in one["why_not"]
    assert "why_not" not in eight
    some = ("--devices", "8,16", "--memory", 2e-7)
    assert "on 16 devices, the most" in cli.refuses("scale", mlp, *flags, *some)


def test_a_folder_that_cannot_be(cli, mlp, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    line = cli.refuses("scale", mlp, *FLAGS, "-o", file)
    assert f"--output {file}: " in line
