"""`meshwright simulate`: numbers, files it writes, and mistakes."""

import json

import pytest

FOUR = ("--devices", 4, "--micro-batches", 12)


def halves(schedule):
    """Arguments so that a device's share takes one second each."""
    chunks = 2 if schedule in ("interleaved", "breadth-first", "zero-bubble-v") else 1
    words = ["--schedule", schedule, "--chunks", chunks]
    for flag in ("--forward", "--input-grad", "--weight-grad"):
        words += [flag, 1 / chunks]
    return words


@pytest.mark.parametrize(
    ("schedule", "step", "with_transfers", "held"),
    [
        ("gpipe", 45, 45.6, [12, 12, 12, 12]),
        ("1f1b", 45, 47.2, [4, 3, 2, 1]),
        ("interleaved", 40.5, 41.9, [11, 9, 7, 5]),
        ("breadth-first", 40.5, 41.1, [24, 24, 24, 24]),
        ("zero-bubble", 39, 40.2, [4, 4, 4, 4]),
        ("zero-bubble-v", 37.5, 38.8, [8, 8, 8, 8]),
    ],
)
def test_known_numbers(cli, schedule, step, with_transfers, held):
    answer = cli.json("simulate", *FOUR, *halves(schedule))
    assert answer["step_seconds"] == pytest.approx(step)
    assert answer["bubble_share"] == pytest.approx(1 - 36 / step)
    assert answer["peak_held"] == held
    moved = ("simulate", *FOUR, *halves(schedule), "--transfer", 0.1)
    assert cli.json(*moved)["step_seconds"] == pytest.approx(with_transfers)
    whole = cli.json(*moved, "--transfers")
    assert whole["step_seconds"] == pytest.approx(with_transfers)
    assert any("SEND_F" in cell for row in whole["timetable"] for cell in row)


def test_auto_is_the_best(cli):
    words = ("simulate", *FOUR, "--forward", "1,1.3,1,0.8", "--transfer", 0.05)
    rows = cli.json(*words, "--schedule", "all")["schedules"]
    seconds = {r["schedule"]: r["step_seconds"] for r in rows if "step_seconds" in r}
    assert seconds["auto"] <= min(seconds.values())
    assert [r["schedule"] for r in rows if "why_not" in r] == ["zero-bubble-v"]
    best = cli.json(*words)
    assert best["lower_bound"] <= best["step_seconds"] == seconds["auto"]


def test_memory_is_kept(cli):
    words = ("simulate", *FOUR, "--activations", 512, "--memory", 1)
    answer = cli.json(*words)
    assert max(answer["peak_bytes"]) <= 2**30
    line = cli.refuses(*words, "--schedule", "gpipe")
    assert line.endswith("device 0 holds 6.00 GiB at its peak, its memory is 1.00 GiB")
    line = cli.refuses("simulate", *FOUR, "--activations", 512, "--memory", 0.25)
    assert "for one micro-batch in its stages" in line


@pytest.mark.parametrize("more", [(), ("--transfers",)])
def test_csv_goes_out_and_in(cli, tmp_path, more):
    path = tmp_path / "table.csv"
    made = cli.json("simulate", *FOUR, "--schedule", "1f1b", "--csv", path, *more)
    read = cli.json("simulate", "--timetable", path)
    assert read["timetable"] == made["timetable"]
    assert read["step_seconds"] == made["step_seconds"]
    rows = [line.split(",") for line in path.read_text().splitlines()]
    assert len(rows) == 4 and rows[0][0] == "0F0"


def test_trace(cli, tmp_path):
    path = tmp_path / "trace.json"
    done = cli("simulate", *FOUR, "--transfer", 0.1, "--apply", 2, "--trace", path)
    assert done.returncode == 0, done.stderr
    events = json.loads(path.read_text())["traceEvents"]
    names = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
    assert names[:4] == [f"device {d}" for d in range(4)]
    assert "link 0 to 1" in names
    slices = {e["name"]: e for e in events if e["ph"] == "X"}
    assert {"PP:0F0", "PP:3F11", "PP:0SEND_F0", "PP:1SEND_B0", "PP:2A"} <= set(slices)
    assert slices["PP:1F0"]["ts"] == pytest.approx(1.1e6)


def test_drawing(cli):
    text = cli("simulate", *FOUR, "--schedule", "1f1b", "--columns", 80).stdout
    assert text.startswith("1f1b: 4 stages on 4 devices, 12 micro-batches\n")
    assert "\n0 F0- F1- F2- F3- " in text and "\033" not in text
    assert "step 45.0 s, 20.0 % of it bubbles" in text
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (("--devices", 4), "--micro-batches says how many"),
        (("--micro-batches", 4), "--stages or --devices says how long"),
        ((*FOUR, "--schedule", "1b1f"), 'unknown schedule "1b1f"'),
        ((*FOUR, "--schedule", "1f1b", "--chunks", 2), "one stage per device"),
        ((*FOUR, "--stages", 9, "--chunks", 2), "--stages 9 is not --devices 4"),
        ((*FOUR, "--stages", 3), "leave a device without a stage"),
        ((*FOUR, "--forward", "1,2,3"), "--forward has 3 numbers"),
        ((*FOUR, "--forward", "1,2,x,4"), '--forward: "x" is no number'),
        ((*FOUR, "--forward", "nan"), '--forward: "nan" is no number'),
        ((*FOUR, "--edge", "0-3"), '--edge: "0-3" is not FROM:TO'),
        ((*FOUR, "--edge", "3:1"), "from stage 3 to 1"),
        ((*FOUR, "--edge", "0:1"), "from stage 0 to 1 is given twice"),
        ((*FOUR, "--memory", 1), "--memory needs --activations"),
        ((*FOUR, "--schedule", "all", "--csv", "x"), "--csv is for one schedule"),
        ((*FOUR, "--timetable", "x"), "leave out --devices"),
        (("--timetable", "/no/such.csv"), "/no/such.csv"),
        (("--devices", 2000, "--micro-batches", 100000), "more than 16777216"),
    ],
)
def test_mistakes_get_one_line(cli, words, culprit):
    assert culprit in cli.refuses("simulate", *words)


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("", "the file is empty, not a timetable"),
        ("0F0,0X1", 'device 0, cell 2: "0X1" is no action'),
        ("0F0,0B0\n1F0", "device 1 never runs 1B0"),
        ("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1", "deadlock: device 0 waits in cell 2"),
        ("0B0,0F0", "row: =>0B0 0F0"),
    ],
)
def test_timetables_that_cannot_run(cli, tmp_path, text, culprit):
    path = tmp_path / "table.csv"
    path.write_text(text)
    line = cli.refuses("simulate", "--timetable", path)
    assert culprit in line and str(path) in line


def test_plans_have_one_stage(cli, mlp, tmp_path):
    plan = tmp_path / "plan.json"
    done = cli("plan", mlp, "--cluster", "cpu:2", "--assumed", "-o", plan)
    assert done.returncode == 0, done.stderr
    line = cli.refuses("simulate", plan)
    assert "this plan has one stage, so there is nothing to schedule" in line
