"""JAX functions that between them use every kind of HLO a training step has.

CASES maps a name to (function, arguments); arguments may be shapes alone.
"""

import functools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

F32 = jnp.float32


def shaped(*dims, dtype=F32):
    return jax.ShapeDtypeStruct(dims, dtype)


def conv(spec=("NCHW", "OIHW", "NCHW"), **options):
    return functools.partial(
        lax.conv_general_dilated, dimension_numbers=spec, **options
    )


def conv_gradient(x, kernel):
    convolve = conv(
        ("NHWC", "HWIO", "NHWC"), window_strides=(2, 2), padding=((1, 1), (0, 2))
    )
    return jax.grad(lambda *a: convolve(*a).sum(), argnums=(0, 1))(x, kernel)


def gather(mode, sorted_indices=False):
    return lambda x, i: x.at[i].get(mode=mode, indices_are_sorted=sorted_indices)


def scatter(method, mode=None, unique=False):
    return lambda x, i, v: getattr(x.at[i], method)(v, mode=mode, unique_indices=unique)


def batched_gather(x, i):
    return jax.vmap(lambda row, index: row[index])(x, i)


def batched_scatter(x, i, v):
    return jax.vmap(lambda row, index, value: row.at[index].add(value))(x, i, v)


def while_loop(x):
    return lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 2), (0, x))


def scan_gradient(x, w):
    def loss(w):
        _, out = lax.scan(lambda c, _: (jnp.tanh(c @ w), c.sum()), x, None, 4)
        return out.sum()

    return jax.grad(loss)(w)


def remat(x):
    return jax.grad(jax.checkpoint(lambda y: jnp.sin(jnp.sin(y)).sum()))(x)


def random_numbers(seed):
    key = jax.random.key(seed, impl="rbg")
    return jax.random.normal(key, (4,)), jax.random.bernoulli(key, 0.3, (4,))


def quantized(x, w):
    return lax.dot_general(
        x, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32
    )


def dot(precision=None, dtype=None, batch=0):
    dims = tuple(range(batch))
    numbers = (((batch + 1,), (batch,)), (dims, dims))
    return lambda a, b: lax.dot_general(
        a, b, numbers, precision=precision, preferred_element_type=dtype
    )


def constant(value):
    """A program that is nothing but the constant."""
    value = np.asarray(value)
    return lambda: jnp.asarray(value)


def all_patterns(dtype, bits):
    """Every bit pattern of a small type, infinities and NaNs included."""
    storage = np.uint8 if bits <= 8 else np.uint16
    return constant(np.arange(2**bits, dtype=storage).view(dtype).reshape(16, -1))


def extremes(dtype):
    info = ml_dtypes.finfo(dtype)
    one = np.asarray(1, dtype)
    values = [
        0.0,
        -0.0,
        1,
        -1,
        0.1,
        1 / 3,
        1e20,
        123456789012345680000.0,
        np.pi,
        info.max,
        info.min,
        info.tiny,
        info.smallest_subnormal,
        np.inf,
        -np.inf,
        np.nan,
        -np.nan,
        np.nextafter(one, 2 * one),
    ]
    return constant(np.array(values, dtype))


def odd_nans():
    bits = [0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFC12345, 0x7FFFFFFF]
    return constant(np.array(bits, np.uint32).view(np.float32))


def random_floats(dtype, storage):
    bits = np.random.RandomState(0).randint(
        0, np.iinfo(storage).max, 3000, dtype=storage
    )
    values = bits.view(dtype)
    return constant(np.where(np.isfinite(values), values, 1))


def integers(dtype):
    info = ml_dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    return constant(
        np.array([low, 0, 1, high // 2, high]).astype(dtype)
        if high < 2**63
        else np.array([0, 1, high], dtype)
    )


@functools.partial(jax.jit, inline=False)
def named_call(x):
    return x * 2


def solve(a, b):
    return lax.linalg.triangular_solve(
        a, b, left_side=True, lower=True, transpose_a=True, unit_diagonal=True
    )


def callback(x):
    return jax.pure_callback(np.sin, shaped(4), x)


def ordered_callbacks(x):
    jax.debug.callback(lambda y: None, x, ordered=True)
    jax.debug.callback(lambda y: None, x + 1, ordered=True)
    return x


@functools.partial(jax.lax.composite, name="test.double")
def double(x):
    return x + x


def two_moments(x):
    """A reduction of two values at once."""

    def combine(a, b):
        return (a[0] + b[0], lax.max(a[1], b[1]))

    return lax.reduce((x, x), (F32(0), F32(-np.inf)), combine, (0,))


IMAGE, KERNEL = shaped(2, 4, 9, 8), shaped(6, 4, 3, 3)
INDICES = np.array([[0], [2]], np.int32)

CASES = {
    "conv_plain": (conv(window_strides=(1, 1), padding="SAME"), IMAGE, KERNEL),
    "conv_strided": (
        conv(
            window_strides=(2, 1),
            padding=((1, 2), (0, -1)),
            lhs_dilation=(1, 2),
            rhs_dilation=(2, 1),
        ),
        IMAGE,
        KERNEL,
    ),
    "conv_grouped": (
        conv(window_strides=(1, 1), padding="VALID", feature_group_count=2),
        IMAGE,
        shaped(6, 2, 3, 3),
    ),
    "conv_batch_grouped": (
        conv(window_strides=(1, 1), padding="VALID", batch_group_count=2),
        IMAGE,
        KERNEL,
    ),
    "conv_gradient": (conv_gradient, shaped(2, 9, 9, 4), shaped(3, 3, 4, 6)),
    "conv_1d": (
        conv(("NWC", "WIO", "NWC"), window_strides=(1,), padding="SAME"),
        shaped(2, 8, 3),
        shaped(3, 3, 5),
    ),
    "conv_3d": (
        conv(
            ("NDHWC", "DHWIO", "NDHWC"),
            window_strides=(1, 2, 1),
            padding="SAME",
            precision=lax.Precision.HIGHEST,
        ),
        shaped(1, 4, 4, 4, 2),
        shaped(2, 2, 2, 2, 3),
    ),
    "conv_no_spatial": (
        conv(
            lax.ConvDimensionNumbers((0, 1), (1, 0), (0, 1)),
            window_strides=(),
            padding=(),
        ),
        shaped(2, 3),
        shaped(3, 4),
    ),
    "dot_batched": (dot(batch=2), shaped(2, 3, 4, 5), shaped(2, 3, 5, 6)),
    "dot_highest": (dot(lax.Precision.HIGHEST), shaped(4, 5), shaped(5, 6)),
    "dot_mixed": (
        dot((lax.Precision.HIGH, lax.Precision.DEFAULT)),
        shaped(4, 5),
        shaped(5, 6),
    ),
    "dot_algorithm": (
        dot(lax.DotAlgorithmPreset.BF16_BF16_F32_X3, F32),
        shaped(4, 5),
        shaped(5, 6),
    ),
    "dot_vector": (jnp.dot, shaped(5), shaped(5)),
    "dot_outer": (jnp.outer, shaped(5), shaped(4)),
    "dot_int8": (quantized, shaped(4, 5, dtype=jnp.int8), shaped(5, 6, dtype=jnp.int8)),
    "gather_clip": (gather("clip"), shaped(8, 4), INDICES),
    "gather_fill": (gather("fill"), shaped(8, 4), INDICES),
    "gather_promise": (gather("promise_in_bounds", True), shaped(8, 4), INDICES),
    "gather_batched": (batched_gather, shaped(3, 8), np.zeros((3, 2), int)),
    "gather_along": (
        lambda x, i: jnp.take_along_axis(x, i, 1),
        shaped(3, 8),
        np.zeros((3, 2), int),
    ),
    "scatter_set": (scatter("set"), shaped(8, 4), INDICES, shaped(2, 1, 4)),
    "scatter_add": (scatter("add", "drop"), shaped(8, 4), INDICES, shaped(2, 1, 4)),
    "scatter_max": (
        scatter("max", "clip", True),
        shaped(8, 4),
        INDICES,
        shaped(2, 1, 4),
    ),
    "scatter_batched": (
        batched_scatter,
        shaped(3, 8),
        np.zeros((3, 2), int),
        shaped(3, 2),
    ),
    "embedding_gradient": (jax.grad(lambda w, i: w[i].sum()), shaped(9, 4), INDICES),
    "sort": (lambda x: lax.sort(x, dimension=0, is_stable=False), shaped(5, 3)),
    "sort_pairs": (
        lambda x, y: lax.sort((x, y), num_keys=1),
        shaped(5),
        shaped(5, dtype=jnp.int32),
    ),
    "argsort": (jnp.argsort, shaped(5)),
    "top_k": (lambda x: lax.top_k(x, 3), shaped(4, 9)),
    "reduce_window": (
        lambda x: lax.reduce_window(
            x,
            -jnp.inf,
            lax.max,
            (1, 3),
            (1, 2),
            ((0, 0), (1, 1)),
            window_dilation=(1, 2),
            base_dilation=(2, 1),
        ),
        shaped(4, 9),
    ),
    "max_pool_gradient": (
        jax.grad(
            lambda x: lax.reduce_window(
                x, -jnp.inf, lax.max, (1, 2), (1, 2), "VALID"
            ).sum()
        ),
        shaped(4, 8),
    ),
    "cumsum": (jnp.cumsum, shaped(9)),
    "argmax": (lambda x: jnp.argmax(x, 1), shaped(4, 9)),
    "reduce_many": (
        lambda x: (x.sum((0, 2)), x.max(), x.prod(1), x.any()),
        shaped(2, 3, 4),
    ),
    "while": (while_loop, shaped(3)),
    "cond": (
        lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x),
        shaped(dtype=bool),
        shaped(3),
    ),
    "switch": (
        lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tan], x),
        shaped(dtype=jnp.int32),
        shaped(3),
    ),
    "scan_gradient": (scan_gradient, shaped(2, 3), shaped(3, 3)),
    "remat": (remat, shaped(3)),
    "call": (lambda x: named_call(x) + named_call(x + 1), shaped(3)),
    "random": (random_numbers, shaped(dtype=jnp.uint32)),
    "threefry": (
        lambda s: jax.random.uniform(jax.random.key(s), (3,)),
        shaped(dtype=jnp.uint32),
    ),
    "fft": (
        lambda x: (jnp.fft.rfft2(x), jnp.fft.irfft(x + 0j), jnp.fft.ifft(x)),
        shaped(4, 8),
    ),
    "complex": (
        lambda x: (jnp.conj(x * (1 + 2j)), x.real, jnp.abs(x)),
        shaped(4, dtype=jnp.complex64),
    ),
    "cholesky": (jnp.linalg.cholesky, shaped(4, 4)),
    "cholesky_gradient": (
        jax.grad(lambda x: jnp.linalg.cholesky(x).sum()),
        shaped(4, 4),
    ),
    "triangular_solve": (solve, shaped(4, 4), shaped(4, 2)),
    "qr": (jnp.linalg.qr, shaped(4, 3)),
    "eigh": (jnp.linalg.eigh, shaped(4, 4)),
    "callback": (callback, shaped(4)),
    "ordered_callbacks": (ordered_callbacks, shaped(4)),
    "composite": (double, shaped(4)),
    "two_moments": (two_moments, shaped(4, 3)),
    "ragged_dot": (
        lax.ragged_dot,
        shaped(8, 4),
        shaped(2, 4, 5),
        shaped(2, dtype=jnp.int32),
    ),
    "approx_max_k": (lambda x: lax.approx_max_k(x, 3), shaped(4, 999)),
    "associative_scan": (lambda x: lax.associative_scan(jnp.multiply, x), shaped(7)),
    "rng_uniform": (lambda: lax.rng_uniform(F32(0), F32(1), (3,)),),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 5, 10), shaped(4)),
    "bitcast": (lambda x: lax.bitcast_convert_type(x, jnp.uint8), shaped(4)),
    "barrier": (lambda x: lax.optimization_barrier((x, x + 1)), shaped(4)),
    "pad": (lambda x: lax.pad(x, F32(0), ((1, -1, 0), (0, 2, 1))), shaped(4, 3)),
    "slices": (
        lambda x, i: (
            x[1:7:2, ::-1],
            lax.dynamic_slice(x, (i, i), (2, 3)),
            lax.dynamic_update_slice(x, x[:2], (i, i)),
        ),
        shaped(8, 3),
        shaped(dtype=jnp.int32),
    ),
    "shapes": (
        lambda x: (
            x.T.reshape(2, -1),
            jnp.concatenate([x, x], 1),
            lax.broadcasted_iota(jnp.int32, (3, 4), 1),
            jnp.broadcast_to(x, (5, 4, 3)),
        ),
        shaped(4, 3),
    ),
    "elementwise": (
        lambda x: [
            f(x)
            for f in (
                jnp.exp,
                jnp.expm1,
                jnp.log,
                jnp.log1p,
                jnp.sqrt,
                lax.rsqrt,
                jnp.cbrt,
                jnp.tanh,
                lax.erf,
                lax.logistic,
                jnp.floor,
                jnp.ceil,
                jnp.sign,
                jnp.isfinite,
                lax.round,
                jnp.rint,
                lax.erf_inv,
                jnp.tan,
            )
        ],
        shaped(4),
    ),
    "integer_ops": (
        lambda x: (
            lax.population_count(x),
            lax.clz(x),
            x << 2,
            x >> 1,
            x // 3,
            x % 5,
            ~x & 7,
            x ^ (x | 1),
            lax.shift_right_logical(x, x),
        ),
        shaped(4, dtype=jnp.int32),
    ),
    "compare": (
        lambda x, y: (x < y, x == y, x >= y, lax.eq(x, y), x != y),
        shaped(4, dtype=jnp.uint8),
        shaped(4, dtype=jnp.uint8),
    ),
    "clamp_select": (lambda x: jnp.where(x > 0, jnp.clip(x, 0.5, 2), x), shaped(4)),
    "polynomial": (
        jax.hessian(lambda x: (x**3 + jnp.arctan2(x, 2.0)).sum()),
        shaped(3),
    ),
    "half": (
        lambda x: (
            x.astype(jnp.float16) @ x.T.astype(jnp.float16),
            x.astype(jnp.bfloat16) + 1,
        ),
        shaped(3, 4),
    ),
    "no_results": (lambda x: (), shaped(3)),
    "empty_array": (
        lambda: (np.zeros((0,), np.float32), np.zeros((3, 0, 2), np.int32)),
    ),
    "constant_f32": (extremes(np.float32),),
    "constant_f64": (extremes(np.float64),),
    "constant_f32_random": (random_floats(np.float32, np.uint32),),
    "constant_f64_random": (random_floats(np.float64, np.uint64),),
    "constant_nan": (odd_nans(),),
    "constant_f16": (all_patterns(np.float16, 16),),
    "constant_bf16": (all_patterns(ml_dtypes.bfloat16, 16),),
    "constant_pred": (constant([[True, False], [False, True]]),),
    "constant_rank4": (constant(np.arange(24).reshape(2, 1, 3, 4)),),
    "constant_complex": (
        constant(np.array([1 + 2j, np.inf - 1j, complex(-0.0, 0.1)], np.complex64)),
    ),
    "constant_complex128": (constant(np.array([0.1 + 1e300j])),),
}

for name in (
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e4m3b11fnuz",
    "float8_e5m2fnuz",
    "float8_e4m3fnuz",
    "float8_e4m3",
    "float8_e3m4",
    "float8_e8m0fnu",
):
    CASES["constant_" + name] = (all_patterns(getattr(ml_dtypes, name), 8),)
for name in ("int4", "uint4", "int2", "uint2"):
    CASES["constant_" + name] = (integers(getattr(ml_dtypes, name)),)
for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
    CASES["constant_" + name] = (integers(getattr(np, name)),)
CASES["constant_float4_e2m1fn"] = (all_patterns(ml_dtypes.float4_e2m1fn, 4),)
