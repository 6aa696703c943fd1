"""What a user may ask of `meshwright plan`: forbidden collectives, the batch's
axis, pins."""

import json

import pytest

MESH = "data=4,model=2"
KINDS = [
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
]


@pytest.fixture
def make(cli, mlp, tmp_path):
    """Plans the small step; gives what --json says and the path of the file."""

    def plan(*flags, cluster="cpu:8", module=mlp):
        path = tmp_path / "plan.json"
        report = cli.json(
            "plan", module, "--cluster", cluster, "--assumed", "-o", path, *flags
        )
        return report, path

    return plan


@pytest.fixture
def pin(tmp_path):
    """Writes a pin file."""

    def write(**sections):
        path = tmp_path / "pin.json"
        path.write_text(json.dumps({"mesh": {"data": 4, "model": 2}, **sections}))
        return path

    return write


def kinds_in(report):
    return {one["kind"] for one in report["collectives"]}


def parameter(report, path, name):
    names = [t["name"] for t in json.loads(path.read_text())["tensors"]["parameters"]]
    return report["shardings"]["parameters"][names.index(name)]


def test_forbidden_kinds_do_not_run(cli, mlp, make):
    report, path = make("--strategy", "dp", "--forbid", "all-reduce,all-to-all")
    assert report["collectives"] and not kinds_in(report) & {"all-reduce", "all-to-all"}
    assert report["steering"]["forbidden"] == ["all-reduce", "all-to-all"]
    # The plan says so, and runs so.
    checked = cli.json("check", mlp, "--plan", path)
    assert checked["ok"] and not kinds_in(checked) & {"all-reduce", "all-to-all"}
    assert not kinds_in(cli.json("partition", mlp, "--plan", path)) & {"all-reduce"}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_alone(make, testdata, kind):
    report, _ = make(
        "--mesh", MESH, "--forbid", kind, module=testdata / "gpt_tiny.hlo.pb.zst"
    )
    assert kind not in kinds_in(report)


def test_forbidden_along_an_axis(make, testdata):
    report, _ = make(
        "--mesh", MESH, "--strategy", "megatron", "--forbid", "all-reduce@model",
        module=testdata / "gpt_tiny.hlo.pb.zst",
    )  # fmt: skip
    along = {o["axes"] for o in report["collectives"] if o["kind"] == "all-reduce"}
    assert along and not any("model" in axes for axes in along)


@pytest.mark.parametrize(
    ("flags", "reasons"),
    [
        (["--forbid", "gossip"], ["'gossip'", "all-reduce"]),
        (["--forbid", "all-reduce@"], ["'all-reduce@' names no axis"]),
        (["--forbid", "all-reduce@data"], ["all-reduce@data", "--mesh"]),
        (["--forbid", "all-reduce@rows", "--mesh", MESH], ["no axis rows"]),
        (
            ["--forbid", ",".join(KINDS), "--strategy", "dp"],
            ["no plan with strategy dp", "forbidden: all-reduce, all-gather"],
        ),
        (["--batch-axis", "rows", "--mesh", MESH], ["--batch-axis rows", MESH]),
        (["--batch-axis", "a=b"], ["'a=b' is no name"]),
        (
            ["--batch-axis", "data", "--mesh", "data=3"],
            ["batch/x, 16, does not divide into 3 parts"],
        ),
    ],
)
def test_mistakes_are_named(cli, mlp, flags, reasons):
    line = cli.refuses("plan", mlp, "--cluster", "cpu:8", "--assumed", *flags)
    for reason in reasons:
        assert reason in line


def test_the_batchs_axis(cli, mlp, make):
    report, path = make("--batch-axis", "model", "--mesh", MESH)
    assert parameter(report, path, "batch/x")[0] == ["model"]
    assert report["steering"]["batch_axis"] == "model"
    assert cli.json("check", mlp, "--plan", path)["ok"]
    report, path = make("--batch-axis", "rows")
    assert next(iter(report["mesh"])) == "rows"
    assert parameter(report, path, "batch/y")[0] == ["rows"]
    assert all(a["mesh"].startswith("rows=") for a in report["alternatives"])


def test_the_batchs_axis_and_a_pin(cli, mlp, pin):
    path = pin(parameters={"batch/x": "[model, -]"})
    line = cli.refuses(
        "plan", mlp, "--cluster", "cpu:8", "--pin", path, "--batch-axis", "data"
    )
    assert "batch/x is pinned to [model, -]" in line and "--batch-axis data" in line


def first_dot(cli, mlp, path):
    """The name of a dot of the step, from its HLO text."""
    text = cli("partition", mlp, "--mesh", "d=1", "--text").stdout
    line = next(row for row in text.splitlines() if " dot(" in row)
    return line.split()[0].lstrip("%")


@pytest.mark.parametrize("micro_batches", [1, 4])
def test_pins_on_instructions(cli, mlp, make, pin, tmp_path, micro_batches):
    dot = first_dot(cli, mlp, tmp_path)
    for text in ("[-, model]", "[data, -]"):
        path = pin(instructions={dot: text})
        report, plan = make("--pin", path, "--micro-batches", micro_batches)
        bound = [p for p in report["steering"]["pins"] if p["what"] == "instruction"]
        assert [p["sharding"] for p in bound] == [text]
        assert bound[0]["name"].startswith(dot)
        # It is known from the plan alone, and is the one way that is allowed.
        choice = cli.json("explain", plan, bound[0]["name"], "--module", mlp)
        assert choice["pin"] == text
        chosen = choice["options"][0]
        assert chosen["chosen"] and chosen["option"].endswith("-> " + text)
        assert cli.json("check", mlp, "--plan", plan)["ok"]


def test_alternatives_have_names(make):
    report, _ = make()
    for one in report["alternatives"]:
        names = [axis.split("=")[0] for axis in one["mesh"].split(",")]
        assert set(names) <= {"data", "model", "model2"}
        assert len(set(names)) == len(names)
