"""Steps around kernels that are lowered anew for every local shape."""

import json
import re
from pathlib import Path

import pytest
import scripts
from meshwright.kernel_rule import fit

from meshwright import MeshwrightError

SCRIPT = Path(__file__).resolve().parent / "shaped_kernel_step.py"
DATA = {"batch": "[data, -]"}
TENSOR = {"state/up": "[-, -, model]"}
HEADS = {"state/q": "[-, x, -]", "state/k": "[-, x, -]"}


@pytest.fixture(scope="module")
def lowered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    made = {}

    def lower(*words):
        if words not in made:
            path = folder / f"{len(made)}.hlo.pb"
            scripts.run(SCRIPT, path, *words)
            made[words] = path
        return made[words]

    return lower


@pytest.fixture
def layout(tmp_path):
    def write(mesh, parameters):
        path = tmp_path / "layout.json"
        path.write_text(json.dumps({"mesh": mesh, "parameters": parameters}))
        return path

    return write


@pytest.mark.parametrize(
    ("words", "mesh", "parameters"),
    [
        ((), {"data": 4}, DATA),
        (("--rows", "48"), {"data": 6}, DATA),
        (("--loop",), {"model": 2}, TENSOR),
        (("--loop",), {"data": 2, "model": 4}, DATA | TENSOR),
    ],
)
def test_sharded_is_as_on_one_device(cli, lowered, layout, mesh, parameters, words):
    module, sharding = lowered(*words), layout(mesh, parameters)
    report = cli.json("partition", module, "--sharding", sharding)
    assert report["fallbacks"] == []
    if parameters is DATA:
        assert {one["kind"] for one in report["collectives"]} == {"all-reduce"}
    report = cli.json("check", module, "--sharding", sharding, "--steps", "2")
    assert report["ok"] and report["max_rel_error"] > 0


def test_devices_run_the_bodies_of_their_shapes(cli, lowered, layout):
    split = ("partition", lowered(), "--sharding", layout({"data": 8}, DATA))
    text = cli(*split, "--text").stdout
    calls = [line.split() for line in text.splitlines() if "norm_forward.var" in line]
    assert "norm_forward.variant" in text
    assert "f32[8,32]" in text and "f32[64,32]" not in text
    assert "custom-call" not in text and calls
    gathers = [one for one in cli.json(*split)["collectives"]]
    assert {one["kind"] for one in gathers} == {"all-reduce"}


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ((), ("--micro-batches", "2")),
        ((), ("--recompute", "full")),
        (("--loop",), ("--strategy", "dp")),
        (("--loop",), ("--stages", "2", "--micro-batches", "2")),
    ],
)
def test_plans_are_as_on_one_device(cli, lowered, tmp_path, words, flags):
    module, plan = lowered(*words), tmp_path / "plan.json"
    flags = ("--cluster", "h200:4", "--assumed", "-o", plan, *flags)
    cli.json("plan", module, *flags)
    report = cli.json("check", module, "--plan", plan)
    assert report["ok"] and report["max_rel_error"] > 0


def test_the_search_knows_what_bodies_take(cli, lowered):
    """Loops over blocks, which are fewer on parts of the rows. What the host does for
    any step, and for its collectives, does not become less."""
    seconds = []
    for devices in (1, 4):
        flags = ("--cluster", f"h200:{devices}", "--assumed", "--strategy", "dp")
        predicted = cli.json("plan", lowered(), *flags)["predicted"]
        seconds.append(predicted["step_seconds"])
        assert predicted["search_seconds"] == pytest.approx(seconds[-1], rel=0.3)
    assert seconds[1] < 0.65 * seconds[0]


def test_without_a_body_there_is_no_such_split(cli, lowered, layout):
    """Rows come in blocks of four: sixteen parts of them, not thirty-two."""
    for parts, fallbacks in ((16, 0), (32, 1)):
        split = ("--sharding", layout({"data": parts}, DATA), "--text")
        text = cli("partition", lowered(), *split).stdout
        assert ("f32[64,32]" in text) == bool(fallbacks)


def test_fewer_variants_fewer_splits(cli, lowered, layout):
    split = ("--sharding", layout({"data": 8}, DATA), "--text")
    assert "f32[64,32]" in cli("partition", lowered("--variants", "2"), *split).stdout


def test_a_wrong_rule_is_found_by_check(cli, lowered, layout):
    """A mean over rows whose parts are said to be independent."""
    split = ("--sharding", layout({"data": 4}, DATA))
    done = cli("check", lowered("--centred"), *split)
    assert done.returncode == 1
    assert "NOT EQUAL" in done.stdout + done.stderr


READ_ALIKE = """
b n, n -> b n, b, w {need_replication: n}
b n, n -> b n, b, w {reduction: n}
b (g r), (g r) -> b (g r), b, w {g=4} {need_replication: g r}
... n, n -> ... n, ..., w {need_replication: n}
b n, n -> b n, b, w {reduction max: n;}
b n -> b n, b, w
b n, n m -> b n, b, w
b n, b -> b n, b, w
b n, n -> b n, b, w
b n, n -> b n, b, w {need_replication: m}
b n, n -> b n, b, w {need_replication: n; m=3}
b n, n -> b n, b, w {reduction least: n}
b n, n -> b n, b, w {replicated: n}
b n, n -> b n, b n, w
b b, n -> b n, b, w
b (g r), (g r) -> b (g r), b, w
b (g r), (g r) -> b (g r), b, w {g=5}
b n, n ... -> b n, b, w
b n, ... -> ..., b, w
b n, n -> b n, b, w {reduction: b}
b n, () -> b n, b, w {need_replication: n}
b n, n b n, b, w
b n, n -> b n, b, w {need_replication n}
b n, n -> b n, b, w {need_replication: n
b n, n -> b n, b, w {need_replication: n} x
b n, n -> b n, b, w {g=x}
b n, (n -> b n, b, w
b n, n -> b n, b, w {=}
b n, n -> b; n, b, w
""".strip().splitlines()


def test_rules_mean_the_same_in_python(cli, tmp_path):
    """The planner's words, but that they also name element types."""
    step, rules = tmp_path / "step.hlo.pb", tmp_path / "rules.json"
    scripts.run(SCRIPT.with_name("kernel_step.py"), step)
    for rule in READ_ALIKE:
        rules.write_text(json.dumps({"norm": rule}))
        done = cli("inspect", step, "--rules", rules)
        try:
            fit(rule, [(32, 128), (128,)], [(32, 128), (32,), (0,)])
            assert done.returncode == 0, (rule, done.stderr)
        except MeshwrightError as error:
            said = done.stderr.strip().partition("rule of norm: ")[2]
            assert said.replace("f32[", "[") == str(error), rule


def test_named_bodies_must_be_there(cli, lowered, tmp_path):
    data = lowered().read_bytes()
    assert b"norm_forward.variant.1," in data
    broken = tmp_path / "broken.hlo.pb"
    broken.write_bytes(
        data.replace(b"norm_forward.variant.1,", b"norm_forward.variant.X,")
    )
    line = cli.refuses("plan", broken, "--cluster", "cpu:4", "--assumed")
    assert "mw.variants names norm_forward.variant.X" in line


def test_functions_with_custom_partitioning(cli, tmp_path, layout):
    """JAX's own annotation: split by its rule, as on one device."""
    module = tmp_path / "annotated.hlo.pb"
    scripts.run(SCRIPT.with_name("annotated_step.py"), module)
    sharding = layout({"data": 4}, DATA)
    report = cli.json("partition", module, "--sharding", sharding)
    assert report["fallbacks"] == []
    assert {one["kind"] for one in report["collectives"]} == {"all-reduce"}
    text = cli("partition", module, "--sharding", sharding, "--text").stdout
    assert "normed.variant" in text
    assert cli.json("check", module, "--sharding", sharding, "--steps", "2")["ok"]


@pytest.mark.parametrize(
    ("split", "local"),
    [({"batch": "[x, -, -]"}, "[4,4,64,64]"), (HEADS, "[8,2,64,64]")],
    ids=["batch", "heads"],
)
def test_calls_of_libraries_keep_their_own_rules(cli, tmp_path, layout, split, local):
    """Of the table, which splits more than the partition functions around them."""
    module = tmp_path / "library.hlo.pb"
    assert scripts.run(SCRIPT.with_name("library_step.py"), module).stderr == ""
    sharding = layout({"x": 2}, split)
    report = cli.json("partition", module, "--sharding", sharding)
    assert report["fallbacks"] == []
    text = cli("partition", module, "--sharding", sharding, "--text").stdout
    for which in ("forward", "backward"):
        call = re.search(rf"bf16(\S+)\{{.*te_scaled_softmax_{which}_ffi", text)
        assert call and call[1] == local, text
    # Those of the kernels come first.
    rules = tmp_path / "rules.json"
    whole = "a b c d -> a b c d {need_replication: a b c d}"
    rules.write_text(json.dumps({"call": whole}))
    line = cli.refuses("inspect", module, "--rules", rules)
    assert "rule of call: it has 2 operands, the rule 1" in line
