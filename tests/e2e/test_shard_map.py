"""Steps with shard_map regions: planned, checked and run as JAX runs them."""

from pathlib import Path

import numpy as np
import pytest
import scripts
from safetensors.numpy import load_file

SCRIPT = Path(__file__).resolve().parent / "shard_map_step.py"


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """`steps(kind, form)` is the folder of a lowered step, made once."""
    made = {}

    def folder(kind, form="shardy"):
        if (kind, form) not in made:
            path = tmp_path_factory.mktemp(f"{kind}-{form}")
            scripts.run(SCRIPT, kind, form, path)
            made[kind, form] = path
        return made[kind, form]

    return folder


def train(cli, folder, *how):
    """Compares three steps with those of JAX."""
    state = folder / "state.safetensors"
    done = cli.json(
        "run", folder / "step.hlo.pb", "--inputs", folder / "inputs.npz",
        "--steps", 3, "--save", state, "--platform", "cpu", *how,
    )  # fmt: skip
    wanted = np.load(folder / "after.npz")
    got = {name.removeprefix("state/"): v for name, v in load_file(state).items()}
    assert set(got) == {"in", "up", "down"}
    for name, value in got.items():
        np.testing.assert_allclose(value, wanted[name], rtol=2e-5, atol=2e-6)
    assert done["loss"][-1] == pytest.approx(float(wanted["loss"]), rel=1e-5)


def plan(cli, folder, *how):
    path = folder / "plan.json"
    report = cli.json(
        "plan", folder / "step.hlo.pb", "--cluster", "cpu:8", "--assumed", "-o", path,
        *how,
    )  # fmt: skip
    return path, report


@pytest.mark.parametrize("form", ["shardy", "gspmd"])
@pytest.mark.parametrize("kind", ["mlp", "ring", "layers"])
def test_plans_train_as_jax_does(cli, steps, kind, form):
    folder = steps(kind, form)
    path, report = plan(cli, folder)
    assert report["predicted"]["step_seconds"] > 0
    train(cli, folder, "--plan", path)
    assert cli.json("check", folder / "step.hlo.pb", "--plan", path)["ok"]


# Axes by name in another order, by size, parts of axes, and axes besides.
@pytest.mark.parametrize(
    "mesh", ["model=4,data=2", "x=4,y=2", "x=2,y=2,z=2", "d=8", "d=2,data=2,model=4"]
)
def test_meshes_that_have_the_axes(cli, steps, mesh):
    folder = steps("ring")
    train(cli, folder, "--mesh", mesh)
    if mesh.startswith("d="):
        return
    path, report = plan(cli, folder, "--mesh", mesh)
    assert list(report["mesh"]) == [axis.split("=")[0] for axis in mesh.split(",")]
    train(cli, folder, "--plan", path)


def test_the_regions_mesh_is_what_partition_takes(cli, steps):
    """Without a mesh; operands and results are split as the specs say."""
    folder = steps("mlp")
    train(cli, folder, "--mesh", "data=2,model=4")
    report = cli.json("partition", folder / "step.hlo.pb")
    assert report["mesh"] == {"data": 2, "model": 4}
    sums = [c for c in report["collectives"] if "shard_map" in c["tensor"]]
    assert {c["axes"] for c in sums} == {"data", "model"}


@pytest.mark.parametrize("form", ["shardy", "gspmd"])
def test_a_part_of_the_axes_may_be_manual(cli, steps, form):
    folder = steps("partial", form)
    for mesh in ("data=2,model=4", "model=4"):
        train(cli, folder, "--mesh", mesh)


@pytest.mark.parametrize("form", ["shardy", "gspmd"])
@pytest.mark.parametrize(
    ("kind", "meshes"),
    [
        ("numbered", ("data=2,model=4", "model=4", "model=4,data=2")),
        ("numbered_rows", ("data=2,model=4", "data=2")),
    ],
)
def test_devices_of_partly_manual_regions_are_numbered(cli, steps, kind, meshes, form):
    """axis_index, along the axes that are manual."""
    folder = steps(kind, form)
    for mesh in meshes:
        train(cli, folder, "--mesh", mesh)
    path, _ = plan(cli, folder)
    train(cli, folder, "--plan", path)
    assert cli.json("check", folder / "step.hlo.pb", "--plan", path)["ok"]


def test_functions_of_libraries_are_those_of_one_device(cli, tmp_path):
    """Not left to XLA, as where JAX lowers for the devices of the region's mesh."""
    module = tmp_path / "step.hlo.pb"
    scripts.run(SCRIPT, "library", "shardy", module)
    assert cli.json("check", module, "--mesh", "data=2,model=4", "--steps", "1")["ok"]


def test_more_devices_hold_copies(cli, steps):
    """On 16 devices the region's mesh gets an axis for the rest."""
    folder = steps("mlp")
    report = cli.json(
        "plan", folder / "step.hlo.pb", "--cluster", "cpu:16", "--assumed"
    )
    assert np.prod(list(report["mesh"].values())) == 16


def test_inspect_lists_them(cli, steps):
    report = cli("inspect", steps("mlp") / "step.hlo.pb").stdout
    assert "no rule splits it" not in report
    assert report.count("island       jit(step)") == 2
    assert ": data=2,model=4\n" in report


def test_where_the_axes_are_missing_the_region_is_named(cli, steps):
    module = steps("mlp") / "step.hlo.pb"
    line = cli.refuses("plan", module, "--cluster", "cpu:4", "--assumed")
    assert "shard_map region jit(step)/jvp()/shard_map needs 8 devices" in line
    line = cli.refuses("partition", module, "--mesh", "data=2,model=2")
    assert "shard_map needs axes data=2,model=4, which the mesh data=2," in line
    assert "give --mesh data=2,model=4" in line
    line = cli.refuses("run", module)
    assert "does not run on one device; give --mesh data=2,model=4" in line


# Each part of the batch goes through the regions by itself.
@pytest.mark.parametrize(
    ("kind", "form", "count"),
    [
        ("mlp", "shardy", 4), ("mlp", "gspmd", 2), ("layers", "shardy", 2),
        ("fsdp", "shardy", 2), ("fsdp", "gspmd", 4), ("partial", "shardy", 4),
        ("inside", "shardy", 2), ("two", "shardy", 4),
    ],
)  # fmt: skip
def test_micro_batches_go_through_regions(cli, steps, kind, form, count):
    folder = steps(kind, form)
    path, report = plan(cli, folder, "--micro-batches", count)
    assert report["micro_batches"] == count
    train(cli, folder, "--plan", path)
    assert cli.json("check", folder / "step.hlo.pb", "--plan", path)["ok"]


@pytest.mark.parametrize(
    ("kind", "operation", "why"),
    [
        ("ring", "psum", "communicates along data, over which the batch is split"),
        ("seeded", "mul", "depends on which device along data has which rows"),
        ("positions", "mul", "depends on which row of a device it works on"),
    ],
)
def test_regions_that_see_the_whole_batch_are_named(cli, steps, kind, operation, why):
    module = steps(kind) / "step.hlo.pb"
    for flag in ("--micro-batches", "--stages"):
        line = cli.refuses("plan", module, "--cluster", "cpu:16", "--assumed", flag, 2)
        assert "shard_map region jit(step)/" in line
        assert "is written for the whole batch" in line
        assert operation in line
        assert why in line


@pytest.mark.parametrize("kind", ["two", "layers", "fsdp"])
def test_stages_with_regions(cli, steps, kind):
    folder = steps(kind)
    path = folder / "staged.json"
    module = folder / "step.hlo.pb"
    report = cli.json(
        "plan", module, "--cluster", "cpu:16", "--assumed", "--stages", 2, "-o", path
    )
    assert report["stages"] == 2
    assert report["mesh"] == {"data": 2, "model": 4}
    train(cli, folder, "--plan", path)
    assert cli.json("check", module, "--plan", path)["ok"]


def test_stages_need_the_regions_axes(cli, steps):
    module = steps("two") / "step.hlo.pb"
    line = cli.refuses("plan", module, "--cluster", "cpu:8", "--assumed", "--stages", 2)
    assert "shard_map region jit(step)/" in line
    assert "needs axes data=2,model=4, which a stage of 4 of the 8 devices" in line


def test_recomputed_regions(cli, steps):
    folder = steps("layers")
    path, _ = plan(cli, folder, "--recompute", "full")
    train(cli, folder, "--plan", path)
