"""What is printed says what is so, in words that a new user knows."""

import json
import re
from pathlib import Path

import pytest
import scripts

HERE = Path(__file__).resolve().parent
FLAGS = ("--assumed", "--seed", 1)


@pytest.fixture(scope="module")
def scoped(tmp_path_factory):
    """A training step of three alike layers with named scopes."""
    path = tmp_path_factory.mktemp("scoped") / "scoped.hlo.pb"
    scripts.run(HERE / "scoped_step.py", path)
    return path


@pytest.fixture(scope="module")
def told(cli, tmp_path_factory):
    """Plans a module; what was printed and the plan's file, each made once."""
    folder = tmp_path_factory.mktemp("told")
    made = {}

    def plan(module, *flags):
        key = (str(module), *map(str, flags))
        if key not in made:
            path = folder / f"{len(made)}.json"
            done = cli("plan", module, *FLAGS, *flags, "-o", path)
            assert done.returncode == 0, done.stderr
            made[key] = done.stdout, path
        return made[key]

    return plan


def seconds(text):
    number, unit = text.split()
    return float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit]


STAGED = ("--cluster", "cpu:4", "--stages", 2, "--micro-batches", 4)


@pytest.mark.parametrize("flags", [
    ("--cluster", "cpu:4"),
    ("--cluster", "h200:2x4", "--mesh", "data=2,model=4"),
    STAGED,
    (*STAGED, "--schedule", "gpipe"),
])  # fmt: skip
def test_the_terms_of_a_step_add_up(told, mlp, flags):
    text, path = told(mlp, *flags)
    predicted = json.loads(path.read_text())["predicted"]
    terms = [
        "compute_seconds",
        "exposed_comm_seconds",
        "apply_seconds",
        "bubble_seconds",
    ]
    step = predicted["step_seconds"]
    assert sum(predicted[t] for t in terms) == pytest.approx(step, rel=1e-9)
    line = re.search(r"step (\S+ \S+) = (.*?)[;,]", text)
    shown = [seconds(" ".join(t.split()[1:])) for t in line[2].split(" + ")]
    assert sum(shown) == pytest.approx(seconds(line[1]), rel=1e-9)
    names = [term.split()[0] for term in line[2].split(" + ")]
    assert ("bubble" in names) == ("--stages" in flags)
    assert ("apply" in names) == ("--stages" in flags)


@pytest.mark.parametrize(
    ("model", "cluster"), [("gpt_tiny", "cpu:8"), ("moe_tiny", "h200:2x2")]
)
def test_nothing_looks_faster_than_the_choice(told, testdata, model, cluster):
    """One kind of price is compared with the same kind, or the reason is said."""
    text, path = told(testdata / f"{model}.hlo.pb.zst", "--cluster", cluster)
    plan = json.loads(path.read_text())
    own = plan["predicted"]
    written = [a for a in plan["alternatives"] if a["predicted_seconds"] > 0]
    assert written, "the choice itself is among them"
    for one in written:
        if not one["why_not"]:
            # A tighter bound may be worth a percent.
            assert own["step_seconds"] <= 1.01 * one["predicted_seconds"]
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("meshes that"))
    assert "search" in lines[at] and "program" in lines[at]
    assert lines[at + 1].endswith("chosen")
    rows = lines[at + 2 : next(i for i, x in enumerate(lines) if "search: " in x)]
    assert rows
    for row in rows:
        if re.search(r" -\d", row):
            assert re.search(r"looser bound|not among the few|when it was run", row), (
                row
            )
        elif " by the search" not in row and re.search(r" \+\d", row):
            assert re.search(r"[mu]?s +\S+ [mu]?s +(.*: )?\+", row), (
                "not of its program"
            )


def test_devices_that_stay_idle_are_told(told, cli, mlp):
    text, _ = told(mlp, "--cluster", "cpu:8", "--mesh", "data=2,model=3")
    assert ("note: 6 of 8 devices are used, 2 are idle: the mesh data=2,model=3 has 6; "
            "without --mesh all are used") in text  # fmt: skip
    text, _ = told(mlp, "--cluster", "cpu:8", "--mesh", "data=8")
    assert "idle" not in text


def test_links_are_told_as_they_were_read(told, mlp, tmp_path):
    def links(**cluster):
        path = tmp_path / "cluster.json"
        path.write_text(json.dumps({
            "device": {"kind": "h200"}, "hosts": [{"devices": 8, "count": 2}],
            "links": {"cluster": {"us": 8} | cluster}}))  # fmt: skip
        return told(mlp, "--cluster", path, "--mesh", "data=16", "--seed", len(cluster))

    shared, _ = links(gbps=400)
    assert "cluster: 400 Gbit/s per host, shared by its 8 devices, 8 us" in shared
    assert "that is 50 for each h200; usual are 400" in shared
    assert '"per": "device"' in shared
    own, _ = links(gbps=400, per="device")
    assert "cluster: 400 Gbit/s per device, 8 us" in own and "usual are" not in own
    short, _ = told(mlp, "--cluster", "h200:2x8", "--mesh", "data=16")
    assert own.splitlines()[0] == short.splitlines()[0]


@pytest.mark.parametrize("flags", [STAGED, (*STAGED, "--schedule", "gpipe"), (
    "--cluster", "cpu:2", "--stages", 4, "--micro-batches", 4, "--schedule",
    "interleaved")])  # fmt: skip
def test_one_peak_of_a_rank(told, cli, mlp, flags):
    text, path = told(mlp, *flags)
    pipeline = json.loads(path.read_text())["pipeline"]
    simulated = cli.json("simulate", path)
    for stage, rank in enumerate(simulated["device_of_stage"]):
        assert simulated["peak_bytes"][rank] == pipeline["stages"][stage]["peak_bytes"]
    drawn = cli("simulate", path).stdout
    for peak in re.findall(r"^ +\d+  .*; peak (\S+ \S+)$", text, re.MULTILINE):
        assert f"peak {peak}\n" in drawn
    assert "rank 0" in drawn and "device 0" not in drawn


def test_no_numbers_that_only_machines_read(told, testdata):
    text, _ = told(testdata / "gpt_tiny.hlo.pb.zst", "--cluster", "cpu:8")
    assert not re.search(r"\de[+-]\d", text)
    assert "along -" not in text and "over -" not in text
    line = re.search(r"^  \S+ +over .* (\d+) x (\S+) (\S+) = (\S+) (\S+)$", text,
                     re.MULTILINE)  # fmt: skip
    unit = {"B": 1, "KiB": 1024, "MiB": 1 << 20, "GiB": 1 << 30}
    assert int(line[1]) * float(line[2]) * unit[line[3]] == pytest.approx(
        float(line[4]) * unit[line[5]], rel=0.02
    )
    # Layers that are alike are said once.
    assert re.search(r"blocks/\*/\S+ x \d+", text)
    assert not re.search(r"blocks/1/", text)


def test_known_names_of_strategies(cli, mlp):
    flags = ("--cluster", "cpu:4", *FLAGS)
    for alias, name in {"ddp": "dp", "fsdp": "zero3", "tp": "megatron",
                        "sp": "sequence", "zero1": "zero2"}.items():  # fmt: skip
        one = cli.json("plan", mlp, *flags, "--strategy", alias)
        two = cli.json("plan", mlp, *flags, "--strategy", name)
        assert one["strategy"] == name and one["shardings"] == two["shardings"]
        remarks = [note for note in one["notes"] if note not in two["notes"]]
        assert len(remarks) == (alias == "zero1"), remarks
    words = cli("plan", "--help").stdout
    for name in ("ddp", "fsdp", "zero1", "tp ", "sp ", "selective"):
        assert name in words


def test_selective_recomputation(cli, testdata):
    flags = ("--cluster", "cpu:2", *FLAGS, "--mesh", "data=2", "--recompute")
    module = testdata / "gpt_tiny.hlo.pb.zst"
    one = cli.json("plan", module, *flags, "selective")
    two = cli.json("plan", module, *flags, "light")
    assert one["recompute"] == two["recompute"] == "selective"
    assert one["predicted"] == two["predicted"]


def test_scopes_name_what_is_explained(cli, told, scoped):
    _, path = told(scoped, "--cluster", "cpu:4", "--mesh", "data=2,model=2")
    text = cli("explain", path, "--module", scoped).stdout
    # Layers that are split alike are told once.
    assert re.search(
        r"^  blocks/\*/down/dot_general x [23] \[dot_general", text, re.MULTILINE
    ), text
    for name in ("blocks/1/up/dot_general", "*/1/up/dot_general", "1/up/dot_general"):
        report = cli.json("explain", path, name, "--module", scoped)
        assert report["shown"] == "blocks/1/up/dot_general", name
        assert report["opcode"] == "dot" and report["name"].startswith("dot_general.")
    by_hlo = cli.json("explain", path, report["name"], "--module", scoped)
    assert by_hlo["options"] == report["options"]
    weight = cli.json("explain", path, "blocks/1/up", "--module", scoped)
    assert weight["opcode"] == "parameter" and "state/blocks/" in weight["shown"]
    line = cli.refuses("explain", path, "1/up/dot", "--module", scoped)
    assert "could be dot_general." in line and "(backward)" in line
    assert "give one of these names" in line
    line = cli.refuses("explain", path, "blocks/1/ip/dot_general", "--module", scoped)
    assert "did you mean blocks/1/up/dot_general?" in line


def test_a_module_of_the_model_is_explained(cli, told, scoped):
    _, path = told(scoped, "--cluster", "cpu:4", "--mesh", "data=2,model=2")
    whole = cli.json("explain", path, "--module", scoped)["blocks"]
    report = cli.json("explain", path, "blocks/1", "--module", scoped)
    assert report["part"] == "blocks/1"
    # Its parameters, and the layers' that are decided with them.
    assert [one["opcode"] for one in report["choices"]] == ["parameter"] * 2
    assert {one["shown"].split(" x ")[0] for one in report["choices"]} <= {
        f"state/blocks/{layer}/{name}"
        for layer in ("*", "1")
        for name in ("up", "down")
    }
    assert all(one["option"].startswith("[") for one in report["choices"])
    names = {block["name"] for block in report["blocks"]}
    assert names < {block["name"] for block in whole} and len(names) == 2
    for block in report["blocks"]:
        assert "head" not in block["shown"] and block["options"][0]["chosen"]
    text = cli("explain", path, "blocks/1/", "--module", scoped).stdout
    assert text.startswith("blocks/1\n") and text.count("chosen") == 2
    # A pattern that several choices match is a part, too.
    every = cli.json("explain", path, "blocks/1/*/dot_general", "--module", scoped)
    assert names == {block["name"] for block in every["blocks"]}
    line = cli.refuses("explain", path, "blocks/7", "--module", scoped)
    assert line.endswith(
        'no module, parameter or instruction that matters is called "blocks/7"; '
        "did you mean blocks/0 or blocks/1 or blocks/2?"
    )


def test_what_a_name_could_be_has_it(cli, told, testdata):
    """Not the first of the layers that are planned alike."""
    gpt = testdata / "gpt_tiny.hlo.pb.zst"
    _, path = told(gpt, "--cluster", "cpu:4")
    line = cli.refuses("explain", path, "--module", gpt, "blocks/1/ml")
    listed = line.split(" could be ")[1].split(" or ")[0].split(", ")
    assert len(listed) > 3 and len(set(listed)) == len(listed)
    assert all("blocks/1/ml" in name for name in listed)


def test_a_plan_that_splits_nothing_says_so(told, scoped):
    note = "nothing is split: each of 8 devices computes the whole step"
    assert note in told(scoped, "--cluster", "h200:1x8")[0]
    assert note not in told(scoped, "--cluster", "h200:1x8", "--strategy", "dp")[0]


def test_inspect_names_and_folds(cli, scoped, mlp):
    text = cli("inspect", scoped, "--parameters").stdout
    assert re.search(
        r"^segment +blocks/0/up/dot_general \[dot_general", text, re.MULTILINE
    ), text
    assert re.search(r"state +state/blocks/\*/up x 3 +f32\[32,128\]", text), text
    # Without scopes the weights say what an operation is.
    text = cli("inspect", mlp).stdout
    assert "dot_general(state/params/up) [dot_general." in text


def test_a_callback_is_listed(cli, tmp_path):
    path = tmp_path / "prints.hlo.pb"
    scripts.run(HERE / "callback_step.py", path)
    text = cli("inspect", path).stdout
    line = next(x for x in text.splitlines() if x.startswith("host "))
    assert "debug_print" in line and "callback_step.py:11" in line
    assert len(cli.json("inspect", path)["host_calls"]) == 1
