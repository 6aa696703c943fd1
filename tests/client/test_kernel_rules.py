"""Sharding rules of kernels given in Python, as `--rules FILE` on the command line."""

import json
import subprocess

import jax
import jax.numpy as jnp
import pytest

import meshwright
from meshwright.executable import find_program

RULES = {
    "norm": "b n, n -> b n, b {need_replication: n}",
    "norm_grad": "b n, n, b n -> b n, n {reduction: b; need_replication: n}",
}
STATE = {"up": jnp.ones((64, 128)), "scale": jnp.ones(128)}
BATCH = jnp.ones((32, 64))


def call(target, results, *operands):
    shapes = tuple(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in results)
    return jax.ffi.ffi_call(target, shapes)(*operands)


@jax.custom_vjp
def norm(x, scale):
    return call("norm", (x.shape, x.shape[:1]), x, scale)[0]


norm.defvjp(
    lambda x, scale: (norm(x, scale), (x, scale)),
    lambda kept, dy: tuple(call("norm_grad", (dy.shape, kept[1].shape), *kept, dy)),
)


def train_step(state, batch):
    def loss(state):
        return jnp.mean(norm(batch @ state["up"], state["scale"]) ** 2)

    value, gradients = jax.value_and_grad(loss)(state)
    return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradients), value


@pytest.fixture(params=["mapping", "file"])
def given(request, tmp_path):
    """Rules as an argument, in both forms."""

    def form(rules):
        if request.param == "mapping":
            return rules
        path = tmp_path / "rules.json"
        path.write_text(json.dumps(rules))
        return path

    return form


def planned(parallelize, **options):
    step = parallelize(train_step, strategy="dp", assumed=True, **options)
    step.lower_only(STATE, BATCH)
    return step.plan.json


def refused(call):
    with pytest.raises(meshwright.MeshwrightError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def commanded(tmp_path, rules, *flags):
    """The line of `meshwright plan --rules`."""
    step, file = tmp_path / "plain.hlo.pb", tmp_path / "given.json"
    meshwright.lower(train_step, STATE, BATCH).save(step)
    file.write_text(json.dumps(rules))
    words = [find_program(), "plan", step, "--cluster", "cpu:4", "--assumed"]
    done = run(*words, "--rules", file, *flags)
    assert done.returncode == 2
    return done.stderr.strip().removeprefix("meshwright plan: ")


def run(*words):
    return subprocess.run(words, check=False, capture_output=True, text=True)


def test_rules_split_kernels(parallelize, given):
    without = planned(parallelize)
    assert {row["target"] for row in without["whole"]} == set(RULES)
    split = planned(parallelize, rules=given(RULES), require_rules=True)
    assert split["whole"] == []


def test_a_module_keeps_its_rules(given, tmp_path):
    module = meshwright.lower(
        train_step, STATE, BATCH, rules=given(RULES), require_rules=True
    )
    module.save(tmp_path / "step.hlo.pb")
    words = [find_program(), "plan", tmp_path / "step.hlo.pb", "--cluster", "cpu:4"]
    subprocess.run([*words, "--assumed", "--require-rules"], check=True)
    # Those of the command line come first.
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"norm": "b -> b"}))
    done = run(*words, "--rules", other)
    assert "rule of norm: it has 2 operands, the rule 1" in done.stderr


@pytest.mark.parametrize(
    "rule",
    [
        "b n -> b n, b",
        "b n, n m -> b n, b {need_replication: n}",
        "b n, b -> b n, b",
        "b n, n -> b n, b",
        "b n, n -> b n, b {need_replication: m}",
        "b n, n b n, b",
        "(a b) n, n -> (a b) n, (a b) {need_replication: n}",
    ],
)
def test_wrong_rules_are_told_as_on_the_command_line(
    parallelize, given, tmp_path, rule
):
    wanted = commanded(tmp_path, {"norm": rule}).removeprefix(
        f"{tmp_path / 'given.json'}: "
    )
    assert "rule of norm: " in wanted
    rules = given({"norm": rule})
    lowered = refused(lambda: meshwright.lower(train_step, STATE, BATCH, rules=rules))
    source = "rules" if isinstance(rules, dict) else rules
    assert lowered == f"{source}: {wanted}"
    line = refused(lambda: planned(parallelize, rules=rules))
    assert line.endswith(wanted)


def test_rules_can_be_required(parallelize, given, tmp_path):
    rules = {"norm": RULES["norm"]}
    wanted = commanded(tmp_path, rules, "--require-rules")
    wanted = wanted[wanted.index("--require-rules: no rule splits ") :]
    assert "(norm_grad); " in wanted
    for call in (
        lambda: meshwright.lower(
            train_step, STATE, BATCH, rules=given(rules), require_rules=True
        ),
        lambda: planned(parallelize, rules=given(rules), require_rules=True),
    ):
        assert refused(call).endswith(wanted)


@pytest.mark.parametrize("entry", ["lower", "parallelize"])
def test_what_is_no_set_of_rules(entry, tmp_path):
    def line(rules):
        if entry == "lower":
            return refused(
                lambda: meshwright.lower(train_step, STATE, BATCH, rules=rules)
            )
        return refused(lambda: meshwright.parallelize(train_step, rules=rules))

    file = tmp_path / "broken.json"
    none = "is no JSON object of rules by custom-call target"
    for text in ("[]", "{", ""):
        file.write_text(text)
        assert line(file) == f"{file}: {none}"
        assert commanded_text(tmp_path, file) == f"{file}: {none}"
    file.write_text('{"norm": 1}')
    assert line(file) == f"{file}: the rule of norm is no string"
    assert commanded_text(tmp_path, file) == line(file)
    assert line({"norm": None}) == "rules: the rule of norm is no string"
    assert line(["b -> b"]) == f"rules: {none}"
    missing = tmp_path / "missing.json"
    assert line(missing) == f"{missing}: No such file or directory"


def commanded_text(tmp_path, file):
    step = tmp_path / "step.hlo.pb"
    if not step.exists():
        meshwright.lower(train_step, STATE, BATCH).save(step)
    done = run(find_program(), "inspect", step, "--rules", file)
    return done.stderr.strip().removeprefix("meshwright inspect: ")
