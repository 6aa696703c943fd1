"""Functions with JAX's `custom_partitioning(sharding_rule=...)`, as kernels."""

import re

import jax
import jax.numpy as jnp
import pytest
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec

import meshwright
from meshwright import MeshwrightError, MeshwrightWarning
from meshwright.wire import Message, string_map

rules = pytest.importorskip(
    "jax._src.custom_partitioning_sharding_rule", reason="this jax has no such rules"
)
pytestmark = pytest.mark.skipif(
    not hasattr(jax.lax, "composite"), reason="this jax has no composites"
)

X = jnp.ones((8, 4))


def normed(x):
    return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def by_rows(mesh, operands, result):
    rows = operands[0].sharding.spec[0]
    sharding = NamedSharding(mesh, PartitionSpec(rows, None))
    return mesh, normed, sharding, (sharding,)


def annotated(fn=normed, partition=by_rows, rule="b n -> b n", **options):
    function = custom_partitioning(fn)
    function.def_partition(partition=partition, sharding_rule=rule, **options)
    return function


def kernels_of(fn, *operands):
    def step(state, operands):
        return state, sum(jnp.sum(x) for x in jax.tree.leaves(fn(*operands)))

    module = meshwright.lower(step, jnp.ones(2), operands)
    found = []
    for computation in Message.parse(module.hlo).all(3):
        for value in Message.parse(computation).all(2):
            attributes = string_map(Message.parse(value).child(68))
            if "mw.kernel" in attributes:
                found.append(attributes)
    return found


def test_its_rule_is_kept():
    (call,) = kernels_of(annotated(), X)
    assert call["mw.kernel"] == "normed"
    assert call["mw.rule"] == "b n -> b n"
    # 2, 4 and 8 parts of rows; its partition function does not split what it sums.
    assert len(call["mw.variants"].split(",")) == 3


def test_inside_of_other_functions():
    function = annotated()
    for outer in (
        jax.jit(function),
        jax.checkpoint(function),
        lambda x: jax.lax.scan(lambda x, _: (function(x), None), x, length=2)[0],
        lambda x: jax.lax.cond(x[0, 0] > 0, function, lambda x: x, x),
    ):
        (call,) = kernels_of(outer, X)
        assert call["mw.rule"] == "b n -> b n"


def test_what_results_lack_is_whole():
    def partition(mesh, operands, result):
        rows = operands[0].sharding.spec[0]
        sharding = NamedSharding(mesh, PartitionSpec(rows, None))
        one = NamedSharding(mesh, PartitionSpec(rows))
        return mesh, lambda x: (x, x.sum(1)), (sharding, one), (sharding,)

    fn = annotated(lambda x: (x, x.sum(1)), partition, "b n -> b n, b")
    (call,) = kernels_of(fn, X)
    assert call["mw.rule"] == "b n -> b n, b {need_replication: n}"
    assert len(call["mw.variants"].split(",")) == 3


def test_compound_and_batch_factors():
    def partition(mesh, operands, result):
        return mesh, lambda x: x, operands[0].sharding, (operands[0].sharding,)

    fn = annotated(lambda x: x, partition, "... (h d) -> ... (h d)", h=2, d=2)
    (call,) = kernels_of(fn, jnp.ones((2, 1, 4)))
    dims = "batch0_0 batch0_1 (h d)"
    assert call["mw.rule"] == f"{dims} -> {dims} {{need_replication: d; h=2; d=2}}"
    assert len(call["mw.variants"].split(",")) == 3  # Of the batch and the heads.


def test_programs_that_communicate_are_not_used():
    def partition(mesh, operands, result):
        x = operands[0].sharding

        def local(x):
            return jax.lax.psum(x.sum(0), "b")

        return mesh, local, NamedSharding(mesh, PartitionSpec(None)), (x,)

    fn = annotated(
        lambda x: x.sum(0),
        partition,
        "b n -> n",
        reduction_factors=("b",),
        need_replication_factors=("n",),
    )
    with pytest.warns(MeshwrightWarning, match="cannot be split"):
        (call,) = kernels_of(fn, X)
    assert call["mw.rule"] == "b n -> n {reduction: b; need_replication: n}"
    assert call["mw.variants"] == ""


def rule_object(*tensors):
    return rules.SdyShardingRule(tensors[:1], tensors[1:])


@pytest.mark.parametrize(
    "made",
    [
        "b n -> b n",
        ("b n -> b n", {"need_replication_factors": ("n",)}),
        rule_object(rules.ArrayMapping("b", "n"), rules.ArrayMapping("b", "n")),
    ],
    ids=["text", "text_and_kinds", "object"],
)
def test_rules_may_be_functions(made):
    calls = []

    def rule(mesh, operands, results):
        calls.append([[list(t.shape), str(t.element_type)] for t in operands + results])
        assert not mesh.shape
        return made

    (call,) = kernels_of(annotated(rule=rule), X)
    assert calls == [[[[8, 4], "f32"]] * 2]
    replicated = " {need_replication: n}" if isinstance(made, tuple) else ""
    assert call["mw.rule"] == f"b n -> b n{replicated}"
    assert len(call["mw.variants"].split(",")) == 3


def test_rule_functions_get_static_arguments():
    def partition(axis, mesh, operands, result):
        return by_rows(mesh, operands, result)

    function = custom_partitioning(lambda x, axis: normed(x), static_argnums=(1,))
    function.def_partition(
        partition=partition,
        sharding_rule=lambda axis, mesh, operands, results: f"b {axis} -> b {axis}",
    )
    (call,) = kernels_of(lambda x: function(x, "columns"), X)
    assert call["mw.rule"] == "b columns -> b columns"


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (lambda mesh, *_: mesh.shape["data"], "KeyError: 'data'"),
        (lambda *_: 3, "TypeError: its result is 3, no rule"),
    ],
)
def test_rule_functions_that_fail_leave_the_function_to_jax(rule, why):
    line = f"normed is not split by its sharding rule, a function that raises {why}"
    with pytest.warns(MeshwrightWarning, match=re.escape(line)):
        assert kernels_of(annotated(rule=rule), X) == []


def test_what_rule_functions_say_must_fit():
    with pytest.raises(
        MeshwrightError, match="of normed: its sharding rule .*3 tensors"
    ):
        kernels_of(annotated(rule=lambda *_: "b n, n -> b n"), X)


def test_programs_that_are_their_own_closed_form(monkeypatch):
    """Since JAX 0.11 there is one class for both."""
    from jax.extend import core

    from meshwright.partitioned_functions import as_kernels

    program = jax.make_jaxpr(jax.jit(lambda x: x + 1))(X).jaxpr
    monkeypatch.setattr(core, "ClosedJaxpr", core.Jaxpr)
    assert as_kernels(program) is program
