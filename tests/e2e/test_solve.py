"""`meshwright solve`: answers, mistakes, and the clock."""

import gzip
import json
import random
import time

import pytest


def problem(nodes=30, options=4, seed=0, limit=None):
    rng = random.Random(seed)
    costs = [[rng.randrange(100) for _ in range(options)] for _ in range(nodes)]
    usages = [[rng.randrange(50) for _ in range(options)] for _ in range(nodes)]
    pairs = [[i, j] for j in range(1, nodes) for i in {j - 1, rng.randrange(j)}]
    tables = [[rng.randrange(90) for _ in range(options**2)] for _ in pairs]
    value = {
        "name": "random",
        "nodes": {
            "intervals": [[i, i + 6] for i in range(nodes)],
            "costs": costs,
            "usages": usages,
        },
        "edges": {"nodes": pairs, "costs": tables},
    }
    if limit is not None:
        value["usage_limit"] = limit
    return {"problem": value}


def write(path, value):
    text = json.dumps(value).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def cost_and_peak(value, chosen):
    nodes, edges = value["problem"]["nodes"], value["problem"]["edges"]
    cost = sum(c[a] for c, a in zip(nodes["costs"], chosen, strict=True))
    for (i, j), table in zip(edges["nodes"], edges["costs"], strict=True):
        cost += table[chosen[i] * len(nodes["costs"][j]) + chosen[j]]
    uses = [u[a] for u, a in zip(nodes["usages"], chosen, strict=True)]
    alive = list(zip(nodes["intervals"], uses, strict=True))
    times = range(max(end for (_, end), _ in alive))
    peak = max(sum(u for (b, e), u in alive if b <= t < e) for t in times)
    return cost, peak


@pytest.mark.parametrize("name", ["p.json", "p.json.gz"])
def test_answers_are_what_they_say(cli, tmp_path, name):
    value = problem(limit=110)
    path = write(tmp_path / name, value)
    answer = cli.json("solve", path, "--time-limit", "10")
    cost, peak = cost_and_peak(value, answer["assignment"])
    assert cost == answer["cost"] and peak <= 110
    assert answer["lower_bound"] == cost and answer["proved_optimal"]
    assert "optimal" in cli("solve", path, "--time-limit", "10").stdout


def test_two_runs_are_equal(cli, tmp_path):
    path = write(tmp_path / "p.json", problem(400, 6, limit=130))
    words = ("solve", path, "--time-limit", "100", "--work-limit", "20000000")
    answers = [cli.json(*words, "--threads", n) for n in (1, 2, 2)]
    for answer in answers:
        del answer["seconds"]
    assert answers[0] == answers[1] == answers[2]


def test_stops_in_time(cli, tmp_path):
    path = write(tmp_path / "p.json", problem(1000, 12, limit=150))
    start = time.monotonic()
    answer = cli.json("solve", path, "--time-limit", "4")
    # Not to the millisecond where others keep the cores busy.
    assert time.monotonic() - start < 20
    assert answer["lower_bound"] <= answer["cost"]


def test_mistakes_get_one_line(cli, tmp_path):
    good = problem()
    short = problem()
    short["problem"]["edges"]["costs"][3].pop()
    cases = {
        "empty.json": (b"", "the file is empty, not an IOPDDL problem"),
        "cut.json": (json.dumps(good).encode()[:500], "the text ends"),
        "list.json": (b"[1, 2]", "expected '{'"),
        "short.json": (json.dumps(short).encode(), "edge 3 joins nodes of 4 and 4"),
        "bad.json.gz": (b"\x1f\x8b" + b"x" * 50, "damaged gzip"),
    }
    for name, (content, expected) in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        line = cli.refuses("solve", path)
        assert expected in line and str(path) in line
    assert "nowhere.json" in cli.refuses("solve", tmp_path / "nowhere.json")
    path = write(tmp_path / "p.json", good)
    assert "--time-limit" in cli.refuses("solve", path, "--time-limit", "soon")
    assert "--time-limit" in cli.refuses("solve", path, "--time-limit", "0")


def test_a_limit_that_is_too_small_is_named(cli, tmp_path):
    path = write(tmp_path / "p.json", problem(limit=3))
    line = cli.refuses("solve", path)
    assert "usage limit 3 is too small: at time" in line
