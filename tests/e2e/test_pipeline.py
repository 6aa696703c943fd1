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


@pytest.mark.parametrize("schedule", ["gpipe", "zero-bubble", "auto"])
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
    assert "not valid JSON" in refuses("--stages", stages_file("{"))
    assert '"stages"' in refuses("--stages", stages_file({}))
    names = stages_file({"stages": [["nothing"], ["*"]]})
    assert '"nothing"' in refuses("--stages", names)
    assert "exclude" in refuses("--stages", 2, "--mesh", "data=2")
    assert "sometimes" in refuses("--stages", 2, "--schedule", "sometimes")
    assert "--trace" in cli.refuses("run", mlp, "--trace", "x.json")
    batch_norm = testdata / "wide_resnet_tiny.hlo.pb.zst"
    line = cli.refuses("check", batch_norm, "--stages", 2)
    assert "over all micro-batches" in line
    estimates = "--estimate-statistics"
    assert f"{estimates} needs --stages" in refuses(estimates)


@pytest.fixture
def planned(cli, mlp, tmp_path):
    def plan(*flags, cluster="cpu:4"):
        path = tmp_path / "plan.json"
        request = ["--cluster", cluster, "--assumed", "-o", path]
        return cli.json("plan", mlp, *request, *flags), path

    return plan


def test_a_plan_with_stages_runs_as_one_device_does(cli, mlp, planned, tmp_path):
    report, path = planned("--stages", 2, "--micro-batches", 4)
    assert (report["stages"], report["devices"]) == (2, 4)
    assert report["micro_batches"] == 4
    assert report["schedule"] == report["pipeline"]["schedule"] != "none"
    assert len(report["pipeline"]["stages"]) == 2
    checked = cli.json("check", mlp, "--plan", path)
    assert checked["ok"]
    assert (checked["stages"], checked["devices"]) == (2, 4)
    trace = tmp_path / "trace.json"
    flags = ["--steps", 2, "--platform", "cpu"]
    whole = cli.json("run", mlp, *flags)
    staged = cli.json("run", mlp, *flags, "--plan", path, "--trace", trace)
    assert staged["loss"] == pytest.approx(whole["loss"], rel=1e-5)
    assert "PP:1F3" in trace.read_text()


def test_stages_with_unequal_groups_of_devices(cli, mlp, planned):
    report, path = planned("--stages", 3, "--micro-batches", 4)
    assert (report["stages"], report["devices"]) == (3, 4)
    assert report["pipeline"]["layout_of_rank"] == [1, 0, 0]
    assert cli.json("check", mlp, "--plan", path)["devices"] == 4


def test_a_plan_is_simulated_as_it_predicts(cli, planned):
    report, path = planned("--stages", 4, "--schedule", "zero-bubble-v")
    assert report["pipeline"]["ranks"] == 2
    simulated = cli.json("simulate", path)
    predicted = report["predicted"]["step_seconds"]
    assert simulated["step_seconds"] == pytest.approx(predicted, rel=1e-9)
    others = cli.json("simulate", path, "--schedule", "interleaved,auto")
    assert len(others["schedules"]) == 2
    assert "--forward" in cli.refuses("simulate", path, "--forward", 1)


def test_plans_with_stages_are_the_same_each_time(planned):
    _, path = planned("--stages", 2)
    first = path.read_bytes()
    planned("--stages", 2)
    assert path.read_bytes() == first


def test_mistakes_in_plans_with_stages(cli, mlp, testdata, planned, tmp_path):
    def refuses(*flags, module=mlp):
        return cli.refuses("plan", module, "--cluster", "cpu:4", "--assumed", *flags)

    assert "4 devices cannot be shared by 5 stages" in refuses("--stages", 5)
    assert "5 micro-batches" in refuses("--stages", 2, "--micro-batches", 5)
    assert "need 8 devices" in refuses("--stages", 2, "--mesh", "data=4")
    assert "sometimes" in refuses("--stages", 2, "--schedule", "sometimes")
    batch_norm = testdata / "wide_resnet_tiny.hlo.pb.zst"
    assert "over all micro-batches" in refuses("--stages", 2, module=batch_norm)
    _, path = planned("--stages", 1)
    line = cli.refuses("check", mlp, "--plan", path, "--micro-batches", 2)
    assert "--micro-batches: the plan says that" in line
    _, path = planned("--stages", 2)
    assert "2 stages" in cli.refuses("partition", mlp, "--plan", path)
    assert "--stages" in cli.refuses("check", mlp, "--plan", path, "--stages", 2)
    broken = json.loads(path.read_text())
    broken["pipeline"]["timetable"] = "0F0\n1F0\n"
    path.write_text(json.dumps(broken))
    assert "the timetable is for" in cli.refuses("check", mlp, "--plan", path)
    del broken["pipeline"]["edges"]
    path.write_text(json.dumps(broken))
    assert "edges" in cli.refuses("check", mlp, "--plan", path)


def test_loops_over_layers_are_cut(cli, testdata, tmp_path):
    llama = testdata / "llama_tiny.hlo.pb.zst"
    flags = ["--stages", 2, "--micro-batches", 4]
    report = cli.json("check", llama, *flags)
    assert report["ok"]
    first, second = report["state_bytes"]
    assert 0.6 < first / second < 1.6
    # Outside, state is as it was.
    saved = tmp_path / "state.safetensors"
    steps = ["--steps", 1, "--platform", "cpu"]
    cli.json("run", llama, *flags, *steps, "--save", saved)
    again = cli.json("run", llama, *steps, "--inputs", saved)
    staged = cli.json("run", llama, *flags, *steps, "--inputs", saved)
    assert staged["loss"] == pytest.approx(again["loss"], rel=1e-5)


def test_iterations_by_name(cli, testdata, stages_file):
    scanned = testdata.parent / "tests/partition/testdata/scanned_layers.hlo.pb.zst"
    flags = ["--micro-batches", 3, "--stages"]
    names = stages_file({"stages": [["*[0:2]"], ["*[2:6]", "*[6:7]"]]})
    report = cli.json("check", scanned, *flags, names)
    assert report["ok"]
    first, second = report["state_bytes"]
    assert 2 * first < second
    beyond = stages_file({"stages": [["*[0:2]"], ["*[2:9]"]]})
    assert '"*[2:9]"' in cli.refuses("check", scanned, *flags, beyond)


def test_statistics_of_micro_batches(cli, testdata):
    batch_norm = testdata / "wide_resnet_tiny.hlo.pb.zst"
    flags = ["--stages", 2, "--micro-batches", 2, "--estimate-statistics"]
    assert cli.json("check", batch_norm, *flags)["ok"]
