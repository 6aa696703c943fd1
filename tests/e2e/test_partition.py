"""`meshwright partition` and `check`: good plans and shardings that do not fit."""

import json

import pytest


@pytest.fixture
def gpt(testdata):
    return testdata / "gpt_tiny.hlo.pb.zst"


@pytest.fixture
def sharding(tmp_path):
    def write(parameters, mesh=None, **more):
        path = tmp_path / "sharding.json"
        mesh = mesh or {"data": 4, "model": 2}
        path.write_text(json.dumps({"mesh": mesh, "parameters": parameters, **more}))
        return path

    return write


def test_partition_reports_and_writes(cli, gpt, sharding, tmp_path):
    out = tmp_path / "program.hlo.pb"
    plan = sharding({"batch/*": "[data, -]"})
    report = cli.json("partition", gpt, "--sharding", plan, "--output", out)
    assert report["devices"] == 8
    assert report["fallbacks"] == []
    total = sum(c["wire_bytes"] * c["count"] for c in report["collectives"])
    assert total == pytest.approx(report["wire_bytes"])
    assert {c["axes"] for c in report["collectives"]} == {"data"}
    assert cli.json("inspect", out)["opcodes"]["all-reduce"] >= 1


# A bf16 scatter-add, which GPUs add up in f32.
SCATTER = """
HloModule scatter

add {
  a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT c = bf16[] add(a, b)
}

ENTRY main {
  x = bf16[8,4]{1,0} parameter(0)
  i = s32[8,1]{1,0} parameter(1)
  zero = bf16[] constant(0)
  zeros = bf16[512,4]{1,0} broadcast(zero), dimensions={}
  ROOT s = bf16[512,4]{1,0} scatter(zeros, i, x), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
}
"""


@pytest.mark.parametrize(("platform", "halves"), [("cuda", "f32"), ("cpu", "bf16")])
def test_programs_as_a_compiler_gets_them(cli, tmp_path, platform, halves):
    module, out = tmp_path / "scatter.hlo", tmp_path / "program.hlo.pb"
    module.write_text(SCATTER)
    cli("partition", module, "--mesh", "data=2", "-o", out, "--platform", platform)
    text = cli("inspect", out, "--text").stdout
    assert f"= {halves}[512,4]{{1,0}} scatter(" in text


def test_check_equals_one_device(cli, gpt, sharding):
    plan = sharding(
        {"batch/*": "[data, -]", "*/up/w": "[-, model]", "*/down/w": "[model, -]"}
    )
    report = cli.json("check", gpt, "--sharding", plan, "--steps", "2")
    assert report["ok"]
    assert report["max_rel_error"] < 1e-5
    assert {c["kind"] for c in report["collectives"]} >= {"all-reduce"}


def test_a_vocabulary_that_does_not_divide(cli, gpt, sharding):
    plan = sharding({"*/tokens": "[d, -]"}, mesh={"d": 3})
    assert cli.json("check", gpt, "--sharding", plan, "--steps", "2")["ok"]


@pytest.mark.parametrize("dims", [("?, -", "data, -"), ("-, ?", "-, data")])
def test_state_left_open_keeps_its_sharding(cli, gpt, sharding, dims):
    weight = "blocks/0/mlp/up/w"
    plan = sharding(
        {
            "batch/*": "[data, -]",
            f"state/params/{weight}": f"[{dims[0]}]",
            f"state/opt/0/mu/{weight}": f"[{dims[1]}]",
        }
    )
    assert cli.json("check", gpt, "--sharding", plan, "--steps", "2")["ok"]
    names = [one["name"] for one in cli.json("inspect", gpt)["parameters"]]
    split = cli.json("partition", gpt, "--sharding", plan)["shardings"]
    at = names.index(f"state/params/{weight}")
    assert split["parameters"][at] == split["outputs"][at]


@pytest.mark.parametrize(
    ("parameters", "reasons"),
    [
        ({"batch/tokens": "[rows, -]"}, ["batch/tokens", "rows", "data"]),
        ({"batch/tokens": "[data, data]"}, ["batch/tokens", "twice"]),
        ({"batch/tokens": "[data]"}, ["batch/tokens", "2"]),
        ({"batch/tokns": "[data, -]"}, ["batch/tokns", "batch/tokens"]),
    ],
)
def test_shardings_that_do_not_fit(cli, gpt, sharding, parameters, reasons):
    line = cli.refuses("check", gpt, "--sharding", sharding(parameters))
    for reason in reasons:
        assert reason in line


def test_too_many_devices_for_a_dimension(cli, gpt, sharding):
    plan = sharding({"batch/tokens": "[d, -]"}, mesh={"d": 9})
    line = cli.refuses("partition", gpt, "--sharding", plan)
    assert "batch/tokens" in line
    assert "divide" in line


def test_an_output_is_called_by_its_name(cli, gpt, sharding):
    name = "state/params/blocks/0/mlp/up/w"
    plan = sharding({}, mesh={"d": 60}, outputs={name: "[d, -]"})
    line = cli.refuses("partition", gpt, "--sharding", plan)
    assert f"output {name}: dimension 0" in line


def test_pins_hold_for_elements_of_tuples(cli, testdata, sharding):
    """reduce.11 gives the largest element, reduce.12, and where it is, reduce.13."""
    moe = testdata / "moe_tiny.hlo.pb.zst"

    def pinned(**instructions):
        names = {name.replace("_", "."): how for name, how in instructions.items()}
        return sharding({}, mesh={"d": 2}, instructions=names)

    free = cli.json("partition", moe, "--sharding", pinned())
    assert free["collectives"] == []
    split = cli.json("partition", moe, "--sharding", pinned(reduce_13="[d, -]"))
    assert split["collectives"] != []
    line = cli.refuses(
        "partition", moe, "--sharding", pinned(reduce_12="[d, -]", reduce_13="[-, d]")
    )
    assert "reduce.13: reduce cannot give [-, d]; the nearest is [d, -]" in line


def test_no_mesh(cli, gpt):
    assert "--sharding" in cli.refuses("partition", gpt)
