"""The contract of `profile`: measured once, kept, and shown."""

import sqlite3


def test_calibrates_and_shows(cli, tmp_path):
    database = tmp_path / "new" / "profile.db"
    made = cli.json(
        "profile", "--calibrate", "--devices", 4, "--seconds", 2,
        "--database", database,
    )  # fmt: skip
    assert made["device"] == "cpu" and made["devices"] == 4 and made["cores"] >= 1
    rates = made["rates"]
    assert rates["op_seconds"]["origin"] == "calibrated"
    assert 0 < rates["op_seconds"]["value"] < 0.1
    assert [p[0] for p in rates["memory"]["points"]] == sorted(
        p[0] for p in rates["memory"]["points"]
    )
    inside = rates["levels"][0]
    assert inside["origin"] == "calibrated"
    assert [row["devices"] for row in inside["all-reduce"]] == [2, 4]
    assert all(sample["seconds"] > 0 for sample in made["samples"])
    shown = cli.json("profile", "--database", database)
    assert [entry["rates"] for entry in shown["entries"]] == [rates]
    with sqlite3.connect(database) as rows:
        (count,) = rows.execute("SELECT count(*) FROM samples").fetchone()
    assert count == len(made["samples"])


def test_nothing_measured_yet(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cli.json("profile")["entries"] == []
    done = cli("profile")
    assert done.returncode == 0 and "nothing measured yet" in done.stdout


def test_mistakes_are_one_line(cli, tmp_path):
    text = tmp_path / "text.db"
    text.write_text("no database " * 500)
    assert "text.db" in cli.refuses("profile", "--database", text)
    assert "no such file" in cli.refuses("profile", "--database", tmp_path / "none")
    assert "--seconds" in cli.refuses("profile", "--calibrate", "--seconds", "soon")
    assert "--calibrate" in cli.refuses("profile", "--devices", 4)
