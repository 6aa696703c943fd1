"""`meshwright.kernel`: rules that fit, bodies for local shapes, and mistakes."""

import jax
import jax.numpy as jnp
import pytest

import meshwright
from meshwright import MeshwrightError, MeshwrightWarning
from meshwright.hlo_module import HloModule
from meshwright.kernel_module import KernelModule
from meshwright.kernel_rule import fit
from meshwright.kernel_variants import ways_of
from meshwright.wire import Message, string_map

pytestmark = pytest.mark.skipif(
    not hasattr(jax.lax, "composite"), reason="this jax has no composites"
)

X, SCALE = jnp.ones((8, 4)), jnp.ones(4)
RULE = "b n, n -> b n {need_replication: n}"


def norm(x, scale, *, shift=0.0):
    return x * scale + shift


def lower(kernel, *operands, **options):
    def step(state, operands):
        leaves = jax.tree.leaves(kernel(*operands))
        return state, sum(jnp.sum(leaf) for leaf in leaves)

    return meshwright.lower(step, jnp.ones(2), operands, **options)


def kernels_in(module):
    """Attributes of its kernels, and the names of all its computations."""
    message = Message.parse(module.hlo)
    computations = [Message.parse(value) for value in message.all(3)]
    calls = [
        string_map(Message.parse(value).child(68))
        for computation in computations
        for value in computation.all(2)
    ]
    names = [computation.text(1) for computation in computations]
    return [one for one in calls if "mw.kernel" in one], names


def test_it_is_the_function():
    kernel = meshwright.kernel(norm, rule=RULE)
    assert kernel.__name__ == "norm"
    expected = norm(X, SCALE, shift=2.0)
    assert (kernel(X, SCALE, shift=2.0) == expected).all()
    assert (jax.jit(lambda x: kernel(x, SCALE, shift=2.0))(X) == expected).all()

    @meshwright.kernel(rule="b n -> b, b n {need_replication: n}")
    def tree(x):
        return {"sums": x.sum(1), "twice": x * 2}

    assert tree(X)["sums"].shape == (8,)


def test_modules_hold_bodies_for_local_shapes():
    module = lower(meshwright.kernel(norm, rule=RULE), X, SCALE)
    (call,), names = kernels_in(module)
    assert call["mw.kernel"] == "norm"
    assert call["mw.rule"] == RULE
    variants = call["mw.variants"].split(",")
    assert variants == ["norm.variant.1", "norm.variant.2", "norm.variant.3"]
    assert set(variants) <= set(names)
    assert len(names) == len(set(names))
    assert HloModule(module.hlo).outputs[1].dimensions == ()
    assert not any(key.startswith("composite.") for key in call)


def test_equal_calls_share_bodies():
    kernel = meshwright.kernel(norm, rule=RULE)

    def thrice(x, scale):
        x = kernel(kernel(x, scale), scale, shift=1.0)
        # Made anew whenever it is traced, but the same program.
        return meshwright.kernel(lambda x, s: norm(x, s), rule=RULE)(x, scale)

    calls, names = kernels_in(lower(thrice, X, SCALE))
    used = [set(call["mw.variants"].split(",")) for call in calls]
    assert len(calls) == 3
    assert len(set.union(*used)) == len([n for n in names if ".variant." in n]) == 9
    calls, _ = kernels_in(lower(lambda x, s: kernel(kernel(x, s), s), X, SCALE))
    assert calls[0] == calls[1]


def test_kernels_are_found_wherever_they_are():
    kernel = meshwright.kernel(norm, rule=RULE)

    def nested(x, scale):
        x = jax.jit(kernel)(x, scale)
        x, _ = jax.lax.scan(lambda x, _: (kernel(x, scale), None), x, None, length=2)
        x = jax.checkpoint(kernel)(x, scale)
        return jax.lax.cond(x[0, 0] > 0, lambda x: kernel(x, scale), jnp.sin, x)

    calls, _ = kernels_in(lower(nested, X, SCALE))
    assert len(calls) == 4
    assert len({call["mw.variants"] for call in calls}) == 1


def test_files_do_not_depend_on_what_was_lowered_before():
    kernel = meshwright.kernel(norm, rule=RULE)
    first, second = (lower(kernel, X, SCALE).hlo for _ in range(2))
    assert first == second


def test_xla_reads_the_module():
    from jax._src.lib import xla_client

    to_stablehlo = getattr(xla_client._xla.mlir, "hlo_to_stablehlo", None)
    if to_stablehlo is None:
        pytest.skip("this jaxlib cannot")

    @meshwright.kernel(rule="b n -> b {need_replication: n}")
    def loop(x):
        return jax.lax.fori_loop(0, len(x), lambda i, y: y + x[i], x[0]).sum() + x.sum(
            1
        )

    module = lower(loop, X)
    assert to_stablehlo(module.hlo)
    computations = [Message.parse(value) for value in Message.parse(module.hlo).all(3)]
    names = {computation.first(5): computation.text(1) for computation in computations}
    callees = [
        (computation.text(1), names[callee])
        for computation in computations
        for value in computation.all(2)
        for callee in Message.parse(value).integers(38)
    ]
    inside = [(a, b) for a, b in callees if ".variant." in a]
    assert inside
    assert all(a.split(".")[-1] == b.split(".")[-1] for a, b in inside)


def test_the_number_of_variants_is_limited():
    kernel = meshwright.kernel(norm, rule="b n, n -> b n")
    (call,), _ = kernels_in(lower(kernel, X, SCALE, kernel_variants=3))
    assert len(call["mw.variants"].split(",")) == 2
    rule = fit("b (g r) -> b (g r) {g=3}", [(8, 6)], [(8, 6)])
    ways = ways_of(rule, 100)
    assert len(ways) == 16 and ways[0] == {"b": 1, "g": 1, "r": 1}
    # Powers of two first; then all that six devices need.
    assert [way["g"] for way in ways] == [1] * 8 + [3] * 8
    assert ways[8] == {"b": 1, "g": 3, "r": 1}
    assert rule.local({"b": 8, "r": 2}) == ([(1, 3)], [(1, 3)])
    some = [(way["b"] * way["r"], way["g"]) for way in ways_of(rule, 5)]
    assert some == [(1, 1), (2, 1), (2, 1), (4, 1), (4, 1), (1, 3), (2, 3)]


def test_ways_of_usual_numbers_of_devices():
    def ways(size):
        rule = fit("b -> b", [(size,)], [(size,)])
        return [way["b"] for way in ways_of(rule, 100)]

    assert ways(12) == [1, 2, 4, 3, 6, 12]
    assert ways(45) == [1, 3, 5]
    assert ways(7) == [1, 7]
    assert ways(1) == ways(0) == [1]


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ((0, None), "v0 b n, n -> v0 b n"),
        ((None, 0), "b n, v0 n -> v0 b n"),
        ((1, 1), "v0 b n, v0 n -> v0 b n"),
    ],
)
def test_kernels_under_vmap_have_one_more_factor(axes, expected):
    kernel = meshwright.kernel(norm, rule="b n, n -> b n {need_replication: n}")
    operands = [
        x if axis is None else jnp.stack([x, 2 * x, x + 1], axis)
        for x, axis in zip((X, SCALE), axes, strict=True)
    ]
    mapped = jax.vmap(kernel, in_axes=axes)
    assert jnp.array_equal(mapped(*operands), jax.vmap(norm, in_axes=axes)(*operands))
    (call,), _ = kernels_in(lower(mapped, *operands))
    assert call["mw.rule"] == expected + " {need_replication: n}"


def test_kernels_under_two_vmaps_and_in_a_gradient():
    forward = meshwright.kernel(lambda x: jnp.sin(x), rule="b -> b", name="sine")
    backward = meshwright.kernel(
        lambda x, g: jnp.cos(x) * g, rule="b, b -> b", name="cosine"
    )
    sine = jax.custom_vjp(forward)
    sine.defvjp(lambda x: (forward(x), x), lambda x, g: (backward(x, g),))
    x = jnp.arange(24.0).reshape(2, 3, 4)

    def loss(fn, x):
        return jnp.sum(jax.vmap(jax.vmap(fn))(x) ** 2)

    gradient = jax.grad(lambda x: loss(sine, x))
    wanted = jax.grad(lambda x: loss(jnp.sin, x))(x)
    assert jnp.allclose(gradient(x), wanted)
    calls, _ = kernels_in(lower(gradient, x))
    assert {call["mw.rule"] for call in calls} == {
        "v1 v0 b -> v1 v0 b",
        "v1 v0 b, v1 v0 b -> v1 v0 b",
    }


def test_the_rest_stands_anywhere_and_in_braces():
    rule = fit(
        "... n, n -> n ..., n, a {reduction max: ...; need_replication: n}",
        [(8, 4, 6), (6,)],
        [(6, 8, 4), (6,), (1,)],
    )
    assert rule.splittable == ["...0", "...1"]
    assert rule.local({"...0": 2})[1] == [(6, 4, 4), (6,), (1,)]
    with pytest.raises(MeshwrightError, match="operand 0: '...' stands for dim"):
        fit("... ... -> ...", [(8, 4)], [(8,)])


def test_shapes_that_a_kernel_refuses_are_left_out():
    def at_least(rows):
        def body(x):
            if x.shape[0] < rows:
                raise ValueError("too few rows")
            return x

        return meshwright.kernel(body, rule="b n -> b n {need_replication: n}")

    (call,), _ = kernels_in(lower(at_least(4), X))
    assert call["mw.variants"] == "body.variant.1"
    said = (
        "kernel body cannot be split: with b in 2 parts it raises ValueError: too few"
    )
    with pytest.warns(MeshwrightWarning, match=said):
        (call,), _ = kernels_in(lower(at_least(8), X))
    assert call["mw.variants"] == ""


def grown(x):
    return jnp.concatenate([x, x[:2]]) if x.shape[0] < 8 else x


MISTAKES = {
    "operands": (lambda k: k(norm, "b n -> b n")(X, SCALE), "has 2 operands, the rule"),
    "dimensions": (
        lambda k: k(norm, "b n, n m -> b n")(X, SCALE),
        r"operand 1 \[4\] has 1 dimensions, the rule 2",
    ),
    "sizes": (
        lambda k: k(norm, "b n, b -> b n")(X, SCALE),
        r"operand 1 \[4\]: dimension 0 is 4, but b is 8",
    ),
    "factors": (
        lambda k: k(norm, RULE.replace(": n", ": m"))(X, SCALE),
        "kernel norm: its rule '.*': no tensor has a factor m",
    ),
    "no rule": (lambda k: k(norm, "b n, n")(X, SCALE), "expected '->'"),
    "not by the rule": (
        lambda k: lower(k(grown, "b n -> b n"), X),
        r"kernel grown: .* with b in 2 parts result 0 is \[6, 4\], by the rule \[4, 4\]",
    ),
    "other arrays": (
        lambda k: k(lambda x: x + SCALE, "b n -> b n")(X),
        "uses an array that is not among its operands",
    ),
    "keys": (
        lambda k: k(norm, RULE)(X, jax.random.key(0)),
        "operand 1 is a PRNG key; give it jax.random.key_data",
    ),
    "no array": (lambda k: k(norm, RULE)(X, "four"), "operand 1 is 'four', no array"),
    "gradients": (
        lambda k: jax.grad(lambda x: k(norm, RULE)(x, SCALE).sum())(X),
        "kernel norm: has no gradient; .* join them by jax.custom_vjp",
    ),
    "gradients in a step": (
        lambda k: lower(jax.grad(lambda x: k(norm, RULE)(x, SCALE).sum()), X),
        "^kernel norm: has no gradient",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_get_a_line(case):
    call, words = MISTAKES[case]
    with pytest.raises(MeshwrightError, match=words) as raised:
        call(lambda fn, rule: meshwright.kernel(fn, rule=rule))
    assert "\n" not in str(raised.value)


def test_modules_without_kernels_stay_as_they_are():
    module = lower(norm, X, SCALE)
    assert KernelModule(module.hlo).numbers() == []


def flops_of(kernel, *operands):
    (call,), _ = kernels_in(lower(kernel, *operands))
    return call.get("mw.flops")


def test_operations_are_recorded():
    assert flops_of(meshwright.kernel(norm, rule=RULE), X, SCALE) is None
    assert flops_of(meshwright.kernel(norm, rule=RULE, flops=64), X, SCALE) == "64.0"

    def count(x, scale, *, shift=0.0):
        assert scale.shape == (4,)
        return 2 * x.size

    kernel = meshwright.kernel(norm, rule=RULE, flops=count)
    assert flops_of(kernel, X, SCALE) == "64.0"
    mapped = jax.vmap(kernel, in_axes=(0, None))
    assert flops_of(mapped, jnp.ones((3, 8, 4)), SCALE) == "192.0"


def test_operations_that_pallas_estimates():
    pl = pytest.importorskip("jax.experimental.pallas")
    if not hasattr(pl, "CostEstimate"):
        pytest.skip("this jax has no cost estimates")

    def twice(x):
        return pl.pallas_call(
            lambda x_ref, y_ref: y_ref.__setitem__(..., 2 * x_ref[...]),
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            cost_estimate=pl.CostEstimate(
                flops=x.size, transcendentals=0, bytes_accessed=0
            ),
            interpret=True,
        )(x)

    rule = "b n -> b n"
    assert flops_of(meshwright.kernel(twice, rule=rule), X) == "32.0"
    assert flops_of(meshwright.kernel(twice, rule=rule, flops=7), X) == "7.0"

    def thrice(x):
        return jax.lax.scan(lambda x, _: (twice(x), None), x, length=3)[0]

    assert flops_of(meshwright.kernel(thrice, rule=rule), X) == "96.0"


@pytest.mark.parametrize("flops", ["many", -1, float("inf"), lambda x, s: None])
def test_operations_are_a_number(flops):
    kernel = meshwright.kernel(norm, rule=RULE, flops=flops)
    with pytest.raises(MeshwrightError, match="kernel norm: flops is .*, expected a"):
        kernel(X, SCALE)


def test_modules_say_where_variants_stop():
    kernel = meshwright.kernel(norm, rule=RULE)
    (call,), _ = kernels_in(lower(kernel, X, SCALE))
    assert "mw.variant_limit" not in call
    (call,), _ = kernels_in(lower(kernel, X, SCALE, kernel_variants=2))
    assert call["mw.variant_limit"] == "4,4"
