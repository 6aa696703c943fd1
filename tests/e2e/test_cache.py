"""Compiled programs on disk, and memory, of jobs in this process and on workers."""

import json
import os
import subprocess

import pytest
from conftest import BINARY, HERE

# Without reductions, which the CPU plug-in computes by programs it cannot write.
STEP = HERE / "small_step.hlo"


@pytest.fixture(scope="module")
def plan(cli, tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    flags = ("--cluster", "cpu:4", "--strategy", "zero3", "--assumed")
    cli.json("plan", STEP, *flags, "-o", path)
    return path


def counts(run):
    return run["programs_cached"], run["programs_compiled"]


@pytest.mark.parametrize("devices", [1, 4])
def test_a_second_start_does_not_compile(cli, plan, tmp_path, devices):
    words = ["run", STEP, "--steps", 3, "--cache", tmp_path]
    words += ["--plan", plan] if devices > 1 else []
    first = cli.json(*words)
    assert counts(first) == (0, 1)
    again = cli.json(*words)
    assert counts(again) == (1, 0)
    assert again["loss"] == first["loss"]
    assert again["measured_peak_bytes"] == first["measured_peak_bytes"]
    # A damaged program is compiled again, once.
    (file,) = tmp_path.iterdir()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    for expected in ((0, 1), (1, 0)):
        again = cli.json(*words)
        assert counts(again) == expected and again["loss"] == first["loss"]
    assert list(tmp_path.iterdir()) == [file]


def test_compiled_anew_for_other_flags_of_xla(cli, tmp_path):
    words = ["run", STEP, "--steps", "1", "--json", "--cache", tmp_path]
    cli.json(*words[:-3], *words[-2:])
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_enable_fast_math=false"
    done = subprocess.run(
        [BINARY, *map(str, words)],
        check=True,
        capture_output=True,
        env=os.environ | {"XLA_FLAGS": flags},
    )
    assert counts(json.loads(done.stdout)) == (0, 1)


def test_where_it_is(cli, plan, tmp_path):
    home = tmp_path / "home"
    words = ["run", STEP, "--steps", "1", "--json"]

    def run(*more):
        env = os.environ | {"XDG_CACHE_HOME": str(home)}
        done = subprocess.run(
            [BINARY, *map(str, (*words, *more))],
            check=True,
            capture_output=True,
            env=env,
        )
        return counts(json.loads(done.stdout))

    assert run("--cache", "none") == (0, 1) and not home.exists()
    flags = ("--plan", plan, "--workers", 2)
    assert run(*flags, "--cache", "none") == (None, None) and not home.exists()
    own = tmp_path / "own"
    run(*flags, "--cache", own)
    assert list(own.iterdir()) and not home.exists()
    assert run() == (0, 1)
    assert len(list((home / "meshwright/programs").iterdir())) == 1
    line = cli.refuses("serve", "--listen", "127.0.0.1:0", "--cache", own)
    assert "--cache is for --own-devices; workers take it themselves" in line
    line = cli.refuses("run", STEP, "--serve-at", "127.0.0.1:1", "--cache", own)
    assert "--cache" in line


def test_memory_in_the_metrics(cli, plan, tmp_path):
    """The same figure here as on workers."""
    found = []
    for workers in ([], ["--workers", 1]):
        file = tmp_path / f"{len(workers)}.jsonl"
        words = ["--plan", plan, "--steps", 2, "--metrics", file, *workers]
        run = cli.json("run", STEP, *words)
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert {line["memory_bytes"] for line in lines} == {run["measured_peak_bytes"]}
        found.append(run["measured_peak_bytes"])
    assert found[0] == found[1] > 0
