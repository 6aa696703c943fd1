"""Every command on a terminal: narrow and wide, with colours and without, ended by
Ctrl-C at any moment."""

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from conftest import BINARY, ROOT
from safetensors import SafetensorError
from safetensors.numpy import load_file
from terminal import CTRL_C, PROGRESS, Terminal, environment
from test_solve import problem, write

COLUMNS = (40, 80, 200)
COLOURS = ("colour", "no-colour", "dumb")


@pytest.fixture(scope="module")
def files(cli, testdata, mlp, tmp_path_factory):
    """What the commands read; they write elsewhere."""
    folder = tmp_path_factory.mktemp("read")
    plan = folder / "plan.json"
    cli.json("plan", mlp, "--cluster", "cpu:4", "--assumed", "-o", plan)
    saved = folder / "saved"
    cli.json("run", mlp, "--steps", 1, "--checkpoint", saved)
    return {
        "mlp": mlp,
        "saved": saved,
        "gpt": testdata / "gpt_tiny.hlo.pb.zst",
        "plan": plan,
        "problem": write(folder / "problem.json", problem(60, 6)),
    }


# By command: words that take a moment, files that they write into the folder where
# they run, and whether the line at the bottom is surely seen.
COMMANDS = {
    "devices": ("", (), False),
    "inspect": ("{gpt} --parameters", (), False),
    "run": (
        "{gpt} --steps 60 --platform cpu --save state.safetensors",
        ("state.safetensors",),
        True,
    ),
    "partition": ("{mlp} --plan {plan} -o program.hlo.pb", ("program.hlo.pb",), False),
    "plan": ("{gpt} --cluster cpu:8 --assumed -o plan.json", ("plan.json",), True),
    "explain": ("{plan} --module {mlp}", (), False),
    "simulate": (
        "--devices 4 --micro-batches 12 --csv table.csv --trace trace.json",
        ("table.csv", "trace.json"),
        False,
    ),
    "scale": (
        "{mlp} --cluster h200:4x8 --assumed --svg curves.svg",
        ("curves.svg",),
        False,
    ),
    "check": ("{gpt} --plan plan8.json --steps 10", (), True),
    "profile": (
        "--calibrate --devices 2 --seconds 1 --database profile.db",
        ("profile.db",),
        True,
    ),
    "solve": ("{problem} --time-limit 5", (), False),
    "checkpoint": ("verify {saved}", (), False),
    "demo": ("--steps 3 --devices 2 --assumed", (), True),
}
SERVERS = ("serve", "worker", "launch")  # They run until told otherwise: test_serve.py.
# The same with less to do, for ways in which the line at the bottom does not matter.
LIGHT = {
    "run": "{mlp} --steps 40 --platform cpu --save state.safetensors",
    "plan": "{mlp} --cluster cpu:4 --assumed -o plan.json",
    "check": "{mlp} --plan {plan}",
    "profile": "",
}


def words(command, files, light=False):
    text = COMMANDS[command][0]
    if light:
        text = LIGHT.get(command, text)
    return [command, *text.format(**files).split()]


@pytest.fixture(scope="module")
def plan8(cli, files, tmp_path_factory):
    """Of gpt, as `check` reads it."""
    path = tmp_path_factory.mktemp("plan8") / "plan8.json"
    cli.json(
        "plan",
        files["gpt"],
        "--cluster",
        "cpu:4",
        "--assumed",
        "--stages",
        1,
        "-o",
        path,
    )
    return path


@pytest.fixture
def folder(tmp_path, plan8):
    """Where a command runs; returns what is in it besides."""
    (tmp_path / "plan8.json").symlink_to(plan8)
    return tmp_path


def written(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "plan8.json")


def test_no_command_is_left_out(cli):
    listed = re.findall(r"^  (\w+) ", cli("--help").stdout, re.MULTILINE)
    assert sorted(listed) == sorted([*COMMANDS, *SERVERS])


def ways(command):
    if command in ("profile", "demo"):
        return [(40, "colour")]
    # Without MW_LONG every width in colour, and every kind of terminal at one width.
    return [
        (columns, colour)
        for columns in COLUMNS
        for colour in COLOURS
        if "MW_LONG" in os.environ or columns == 80 or colour == "colour"
    ]


def without_times(text):
    """The words of a text, without what differs from run to run, and from width to
    width."""
    text = re.sub(r"[\d.]+ (s|ms|us|min|GiB/s)\b", "T", text)
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize(
    ("command", "columns", "colour"),
    [(name, *way) for name in COMMANDS for way in ways(name)],
)
def test_what_a_person_sees(command, columns, colour, files, folder):
    _, outputs, takes_a_while = COMMANDS[command]
    light = (columns, colour) != (40, "colour")
    if command == "plan" and (columns, colour) == (80, "no-colour"):
        light = False
    argv = [BINARY, *words(command, files, light)]
    with Terminal(argv, columns, colour, cwd=folder) as terminal:
        assert terminal.wait() == 0, terminal.text()
        terminal.check_left_tidy()
    assert written(folder) == sorted(outputs)
    if colour != "colour":
        assert b"\x1b" not in terminal.bytes
    if takes_a_while and not light:
        assert terminal.progress, "no line said what goes on"
        # A terminal adds ^C: two columns are left for it.
        assert max(len(row) for row in terminal.progress) <= columns - 3
    if colour == "dumb":
        assert not terminal.progress
        assert b"\r" not in terminal.bytes.replace(b"\r\n", b"")
    if light and command in ("inspect", "partition", "explain", "run", "plan"):
        plain = subprocess.run(
            argv, cwd=folder, capture_output=True, text=True, check=True
        )
        assert plain.stderr == ""
        assert without_times(terminal.text()) == without_times(plain.stdout)


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in ("demo",)])
def test_json_is_one_object_and_nothing_else(command, files, folder):
    argv = [BINARY, *words(command, files, light=command != "plan"), "--json"]
    with Terminal(argv, 200, "colour", cwd=folder) as terminal:
        assert terminal.wait() == 0, terminal.text()
        terminal.check_left_tidy()
    # The live line goes to stderr; here both are the terminal, so it is taken out
    # as the terminal does: what is on a line before a carriage return is gone.
    text = terminal.bytes.decode().replace("\r\n", "\n")
    lines = [line.rsplit("\r", 1)[-1] for line in text.split("\n")]
    json.loads("\n".join(lines))


def test_step_lines_and_the_bar_do_not_mix(files, folder):
    argv = [BINARY, "run", files["gpt"], "--steps", "60", "--platform", "cpu"]
    with Terminal(argv, 60, cwd=folder) as terminal:
        assert terminal.wait() == 0
        terminal.check_left_tidy()
    steps = [row for row in terminal.rows() if "step" in row]
    assert [int(row.split()[1]) for row in steps[:-1]] == list(range(60))
    assert all(
        re.fullmatch(r"step \d+ +loss [\d.]+ +[\d.]+ \w+", r) for r in steps[:-1]
    )
    bars = [row for row in terminal.progress if row.startswith("running [")]
    assert bars and all(re.search(r"\] \d+/60  \d+ s", row) for row in bars), bars


def test_colours_of_the_timetable(files, folder):
    argv = [BINARY, *words("simulate", files)]
    seen = {}
    for colour in COLOURS:
        with Terminal(argv, 80, colour, cwd=folder) as terminal:
            assert terminal.wait() == 0
        seen[colour] = b"\x1b[48;5;" in terminal.bytes
    assert seen == {"colour": True, "no-colour": False, "dumb": False}


# ---- Ctrl-C


def is_whole(path):
    """Whether a file is what its name says."""
    try:
        if path.suffix == ".json":
            json.loads(path.read_bytes())
        elif path.suffix == ".safetensors":
            load_file(path)
        elif path.suffix == ".db":
            with sqlite3.connect(path) as rows:
                rows.execute("SELECT count(*) FROM rates").fetchone()
        elif path.suffix == ".csv":
            return path.read_text().endswith("\n")
        else:
            return path.stat().st_size > 0
    except (ValueError, OSError, SafetensorError, sqlite3.Error):
        return False
    return True


def interrupt(argv, folder, outputs, delay, columns=80):
    """Presses Ctrl-C after a time; what is left is as if nothing or all was done."""
    with Terminal(argv, columns, cwd=folder) as terminal:
        terminal.wait_until_it_minds_signals()
        end = time.monotonic() + delay
        while time.monotonic() < end and terminal.process.poll() is None:
            terminal.read(0.002)
        ended_before = terminal.process.poll() is not None
        if not ended_before:
            terminal.press(CTRL_C)
        pressed = time.monotonic()
        code = terminal.wait(30)
        took = time.monotonic() - pressed
        # Of one that was done the terminal shows ^C after all.
        if code == 130 or ended_before:
            terminal.check_left_tidy()
    assert code in ((0,) if ended_before else (0, 130)), (code, terminal.text())
    if code == 130:
        assert took < 20  # At once, on a machine with nothing else to do.
        assert terminal.rows()[-1] == "meshwright: interrupted", terminal.text()
    else:
        assert written(folder) == sorted(outputs)
    assert set(written(folder)) <= set(outputs), written(folder)
    assert all(is_whole(folder / name) for name in written(folder))
    return code


# What a command takes here, at most: moments are drawn from it.
TAKES = {"profile": 8.0, "demo": 4.0, "plan": 3.0, "check": 4.0, "run": 4.0}


@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c(command, files, folder):
    storm(command, files, folder, seed=1, times=3)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_storm(command, files, folder, seed):
    storm(command, files, folder, seed, times=25)


def storm(command, files, folder, seed, times):
    rng = random.Random(f"{command} {seed}")
    outputs = COMMANDS[command][1]
    argv = [BINARY, *words(command, files)]
    for _ in range(times):
        delay = rng.uniform(0, TAKES.get(command, 0.3))
        interrupt(argv, folder, outputs, delay, rng.choice(COLUMNS))
        for name in written(folder):
            (folder / name).unlink()


@pytest.mark.parametrize("old", [True, False], ids=["over a file", "new"])
def test_ctrl_c_while_a_file_is_written(old, files, folder):
    """The temporary file goes, and the old one stays. On a busy machine, the file may
    be there while nobody looks: then it is written again."""
    argv = [BINARY, "simulate", "--devices", "8", "--micro-batches", "4000"]
    argv += ["--schedule", "1f1b", "--trace", "trace.json"]
    trace = folder / "trace.json"
    for _ in range(10):
        trace.unlink(missing_ok=True)
        if old:
            trace.write_text("[]")
        with Terminal(argv, cwd=folder) as terminal:
            while terminal.process.poll() is None:
                if any(".tmp." in name for name in os.listdir(folder)):
                    terminal.press(CTRL_C)
                    break
                terminal.read(0)
            code = terminal.wait(30)
            terminal.check_left_tidy()
        if code != 0:
            break
    assert code == 130, terminal.text()
    assert written(folder) == (["trace.json"] if old else [])
    if old:
        assert (folder / "trace.json").read_text() == "[]"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_other_signals(number, code, files, folder):
    with Terminal([BINARY, *words("plan", files)], cwd=folder) as terminal:
        while not terminal.progress:
            terminal.read(0.05)
        terminal.process.send_signal(number)
        assert terminal.wait(30) == code
        terminal.check_left_tidy()
    assert written(folder) == []


# ---- The other end of standard output


def run_with(stdout, argv, **more):
    return subprocess.run(
        list(map(str, argv)),
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=120,
        **more,
    )


def test_a_closed_pipe_is_no_crash(files):
    argv = [BINARY, "inspect", files["gpt"], "--text"]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == -signal.SIGPIPE


@pytest.mark.parametrize(
    "command", [c for c in COMMANDS if c not in ("demo", "profile")]
)
def test_a_full_disk_is_an_error(command, files, folder):
    argv = [BINARY, *words(command, files, light=True)]
    with open("/dev/full", "w") as full:
        done = run_with(full, argv, cwd=folder)
    assert done.returncode == 2
    what = "standard output: No space left on device"
    assert done.stderr == f"meshwright {command}: {what}\n"


def test_closed_streams_are_errors(files, folder):
    line = f'"{BINARY}" inspect "{files["mlp"]}"'
    done = run_with(None, ["sh", "-c", f"{line} >&-"], cwd=folder)
    assert done.returncode != 0
    assert done.stderr == "meshwright inspect: standard output: Bad file descriptor\n"
    # Files that are opened then do not get its number.
    plan = f'"{BINARY}" plan "{files["mlp"]}" --cluster cpu:2 --assumed -o p.json'
    done = run_with(None, ["sh", "-c", f"{plan} >&- <&- 2>&-"], cwd=folder)
    assert done.returncode != 0
    assert is_whole(folder / "p.json")


# ---- ./mw


def test_mw_itself(folder):
    with Terminal([ROOT / "mw", "--help"], 40) as terminal:
        assert terminal.wait() == 0
        assert terminal.rows()[0].startswith("usage: ./mw")
    with Terminal([ROOT / "mw", "inspect", "no/such"], 80, cwd=folder) as terminal:
        assert terminal.wait() == 2
        assert terminal.rows()[-1].startswith("meshwright inspect: no/such")
        terminal.check_left_tidy()


def test_ctrl_c_of_mw(files, folder):
    rng = random.Random(1)
    # Not by its first line: what `python3` is may be a script that finds one.
    argv = [sys.executable, ROOT / "mw", *words("run", files)]
    for _ in range(5):
        with Terminal(argv, cwd=folder) as terminal:
            terminal.wait_until_it_minds_signals()
            end = time.monotonic() + rng.uniform(0, 2)
            while time.monotonic() < end:
                terminal.read(0.01)
            terminal.press(CTRL_C)
            assert terminal.wait(30) == 130, terminal.text()
            assert not PROGRESS.search(terminal.text())
        rows = terminal.rows()
        assert not rows or not any("Traceback" in row for row in rows), rows
        assert written(folder) == []


def test_mw_and_a_closed_pipe(files):
    argv = [ROOT / "mw", "inspect", files["gpt"], "--text"]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment("dumb")
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == -signal.SIGPIPE
