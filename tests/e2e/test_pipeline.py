"""Steps cut into stages on the command line."""

import json

import pytest


@pytest.fixture
def stages_file(tmp_path):
    def write(content):
        path = tmp_path / "stages.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


@pytest.mark.parametrize("schedule", ["gpipe", "zero-bubble"])
def test_check(cli, mlp, schedule):
    flags = ["--stages", 2, "--micro-batches", 4, "--devices-per-stage", 2]
    report = cli.json("check", mlp, *flags, "--schedule", schedule)
    assert report["ok"]
    assert report["devices"] == 4
    assert report["stages"] == 2
    assert report["micro_batches"] == 4
    assert report["schedule"] == schedule


def test_run_trains_alike_and_writes_a_trace(cli, mlp, tmp_path):
    trace = tmp_path / "trace.json"
    flags = ["--steps", 3, "--platform", "cpu"]
    whole = cli.json("run", mlp, *flags)
    staged = cli.json("run", mlp, *flags, "--stages", 2, "--trace", trace)
    assert staged["loss"] == pytest.approx(whole["loss"], rel=1e-5)
    names = {event["name"] for event in json.loads(trace.read_text())["traceEvents"]}
    assert {"PP:0F0", "PP:1B3", "PP:0A", "PP:0SEND_F0"} <= names


def test_a_timetable_of_ones_own(cli, mlp, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("0F0,0F1,0B1,0B0\n1F0,1F1,1B1,1B0\n")
    flags = ["--stages", 2, "--micro-batches", 2, "--schedule", table]
    assert cli.json("check", mlp, *flags)["ok"]
    table.write_text("0F0,0F1,0B1,0B0\n1F0,1B0,1B1,1F1\n")
    assert "1B1" in cli.refuses("check", mlp, *flags)


def test_mistakes(cli, mlp, testdata, stages_file):
    def refuses(*flags):
        return cli.refuses("check", mlp, *flags)

    assert "stage" in refuses("--stages", 900, "--micro-batches", 2)
    assert "5 micro-batches" in refuses("--stages", 2, "--micro-batches", 5)
    assert "nowhere.json" in refuses("--stages", "nowhere.json")
    assert "not JSON" in refuses("--stages", stages_file("{"))
    assert '"stages"' in refuses("--stages", stages_file({}))
    names = stages_file({"stages": [["nothing"], ["*"]]})
    assert '"nothing"' in refuses("--stages", names)
    assert "exclude" in refuses("--stages", 2, "--mesh", "data=2")
    assert "sometimes" in refuses("--stages", 2, "--schedule", "sometimes")
    assert "--trace" in cli.refuses("run", mlp, "--trace", "x.json")
    batch_norm = testdata / "wide_resnet_tiny.hlo.pb.zst"
    line = cli.refuses("check", batch_norm, "--stages", 2)
    assert "over all micro-batches" in line
