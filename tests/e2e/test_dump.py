"""plan --dump: what was looked at, as files that other commands take."""

import csv
import json
import signal
import subprocess
import time

import pytest
from conftest import BINARY

UNITS_PER_SECOND = 1e12


def rows(path):
    with path.open() as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def test_whole_step(cli, testdata, tmp_path):
    folder = tmp_path / "new" / "dump"
    module = testdata / "gpt_tiny.hlo.pb.zst"
    flags = ("--cluster", "h200:8", "--assumed", "--stages", 1)
    report = cli.json("plan", module, *flags, "--dump", folder)
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["predicted"] == report["predicted"]
    table = rows(folder / "candidates.tsv")
    assert [row["mesh"] for row in table] == [
        one["mesh"] for one in report["alternatives"]
    ]
    phases = {
        row["phase"]: float(row["seconds"]) for row in rows(folder / "phases.tsv")
    }
    assert phases.pop("total") == pytest.approx(sum(phases.values()), abs=1e-4)
    named = ("enumerate", "sketch", "prune", "refine", "lower", "choose", "prove")
    assert all(phases[name] >= 0 for name in named)
    assert phases["sketch"] > 0
    # The problem's optimum is a sum of ops and moves, whose reductions share a latency. The
    # plan's figure is simulated as a program runs: without what is hidden, and with what
    # waits for the host.
    solved = cli.json("solve", folder / "problem.json")
    assert solved["proved_optimal"] and plan["bound"]["gap"] == 0
    seconds = plan["predicted"]["search_seconds"]
    assert 0.2 * seconds < solved["cost"] / UNITS_PER_SECOND < 1.1 * seconds
    program = cli.json("inspect", folder / "program.hlo")
    assert program["instructions"] > 0


def test_stages(cli, testdata, tmp_path):
    module = testdata / "gpt_tiny.hlo.pb.zst"
    flags = ("--cluster", "h200:4", "--assumed", "--stages", 2, "--micro-batches", 4)
    assert cli("plan", module, *flags, "--dump", tmp_path).returncode == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert {"F0.hlo", "F1.hlo", "candidates.tsv", "problem.json"} <= names
    # The next plan's files alone, and the user's.
    (tmp_path / "Fig1.hlo").write_text("kept")
    flags = ("--cluster", "h200:4", "--assumed", "--stages", 1)
    assert cli("plan", module, *flags, "--dump", tmp_path).returncode == 0
    programs = {path.name for path in tmp_path.glob("*.hlo")}
    assert programs == {"program.hlo", "Fig1.hlo"}


@pytest.mark.parametrize("where", ("file", "file/below", ""))
def test_no_folder(cli, testdata, tmp_path, where):
    (tmp_path / "file").write_text("kept")
    path = tmp_path / where if where else ""
    module = testdata / "gpt_tiny.hlo.pb.zst"
    line = cli.refuses("plan", module, "--cluster", "h200:8", "--dump", path)
    assert "--dump" in line and str(path) in line
    assert (tmp_path / "file").read_text() == "kept"


def test_a_refused_step(cli, mlp, tmp_path):
    """What was tried is there, with the reasons, and no plan of an earlier call."""
    flags = ("--cluster", "h200:8", "--assumed", "--stages", 1, "--dump", tmp_path)
    assert cli("plan", mlp, *flags).returncode == 0
    cli.refuses("plan", mlp, *flags, "--memory", 0.000001)
    table = rows(tmp_path / "candidates.tsv")
    assert table and all(row["why_not"] for row in table)
    phases = {row["phase"] for row in rows(tmp_path / "phases.tsv")}
    assert {"enumerate", "sketch", "what_fits"} <= phases
    assert "choose" not in phases
    assert {path.name for path in tmp_path.iterdir()} == {
        "candidates.tsv",
        "phases.tsv",
    }


def test_interrupted(cli, testdata, tmp_path):
    module = testdata / "gpt_tiny.hlo.pb.zst"
    flags = ("--cluster", "h200:8x8", "--assumed", "--dump", tmp_path)
    table = tmp_path / "candidates.tsv"
    with subprocess.Popen([BINARY, "plan", module, *flags]) as planning:
        deadline = time.monotonic() + 60
        while not table.exists() or not rows(table):
            assert planning.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        planning.send_signal(signal.SIGINT)
    assert planning.returncode == 130
    assert rows(table)[0]["mesh"]
    assert any(row["phase"] == "sketch" for row in rows(tmp_path / "phases.tsv"))
    assert not (tmp_path / "plan.json").exists()
