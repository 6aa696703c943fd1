"""cuDNN's attention in its variants, for kernel_shards.py.

Each case gives a function, its inputs, and the splits by name. On bf16 (or 8-bit floats)
the function calls cuDNN, on f32 it is the same in plain operations.
"""

import numpy as np

BATCH, LENGTH, HEADS, SIZE = 8, 512, 8, 64
SHAPE = (BATCH, LENGTH, HEADS, SIZE)
ALONG = {
    "batch": "[x, -, -, -]",
    "heads": "[-, -, x, -]",
    "sequence": "[-, x, -, -]",
}


def normal(jax, jnp, shapes, dtype=None):
    keys = jax.random.split(jax.random.key(0), len(shapes))
    return [
        jax.random.normal(key, shape, jnp.bfloat16).astype(dtype or jnp.bfloat16)
        for key, shape in zip(keys, shapes, strict=True)
    ]


def splits(*names: str) -> dict:
    return {name: dict.fromkeys("qkvg", ALONG[name]) for name in names}


def _kernel(jnp, q) -> str:
    return "cudnn" if q.dtype == jnp.bfloat16 else "xla"


def _with_gradients(jax, attend, arguments, g):
    out, back = jax.vjp(attend, *arguments)
    return out, *back(g)


def attention(jax, jnp):
    def fn(q, k, v, g):
        def attend(q, k, v):
            return jax.nn.dot_product_attention(
                q, k, v, is_causal=True, implementation=_kernel(jnp, q)
            )

        return _with_gradients(jax, attend, (q, k, v), g)

    shapes = [(8, 1024, 16, 128), (8, 1024, 8, 128), (8, 1024, 8, 128)]
    inputs = normal(jax, jnp, [*shapes, shapes[0]])
    return fn, inputs, splits("batch", "heads", "sequence")


def bias(jax, jnp):
    """One bias for all sequences, with its gradient."""

    def fn(q, k, v, g, bias):
        def attend(q, k, v, bias):
            return jax.nn.dot_product_attention(
                q, k, v, bias, implementation=_kernel(jnp, q)
            )

        return _with_gradients(jax, attend, (q, k, v, bias), g)

    inputs = normal(jax, jnp, [SHAPE] * 4 + [(1, HEADS, LENGTH, LENGTH)])
    found = splits("batch", "heads", "sequence")
    found["heads"]["bias"] = "[-, x, -, -]"
    found["sequence"]["bias"] = "[-, -, x, -]"
    return fn, inputs, found


def padding(jax, jnp):
    """Sequences that end early, of queries and of keys."""

    def fn(q, k, v, g, lengths, key_lengths):
        def attend(q, k, v):
            return jax.nn.dot_product_attention(
                *(q, k, v),
                query_seq_lengths=lengths,
                key_value_seq_lengths=key_lengths,
                implementation=_kernel(jnp, q),
            )

        return _with_gradients(jax, attend, (q, k, v), g)

    inputs = normal(jax, jnp, [SHAPE] * 4)
    draw = np.random.default_rng(1)
    for _ in range(2):
        lengths = draw.integers(LENGTH // 4, LENGTH, BATCH, endpoint=True)
        inputs.append(jnp.asarray(lengths, jnp.int32))
    found = splits("batch", "heads", "sequence")
    found["batch"] |= {"lengths": "[x]", "key_lengths": "[x]"}
    return fn, inputs, found


def _windowed(jax, jnp, *, bias=False, lengths=False):
    """Each query sees itself and 99 keys before."""

    def fn(q, k, v, g, more=None):
        def attend(q, k, v, *bias):
            limits = {}
            if lengths:
                names = ("query_seq_lengths", "key_value_seq_lengths")
                limits = dict.fromkeys(names, more)
            return jax.nn.dot_product_attention(
                *(q, k, v, *bias),
                is_causal=True,
                local_window_size=(99, 0),
                implementation=_kernel(jnp, q),
                **limits,
            )

        return _with_gradients(jax, attend, (q, k, v) + (more,) * bias, g)

    inputs = normal(jax, jnp, [SHAPE] * 4 + [(1, HEADS, LENGTH, LENGTH)] * bias)
    if lengths:
        drawn = np.random.default_rng(1).integers(LENGTH // 4, LENGTH, BATCH)
        inputs.append(jnp.asarray(drawn, jnp.int32))
    return fn, inputs


def window(jax, jnp):
    fn, inputs = _windowed(jax, jnp)
    return fn, inputs, splits("batch", "heads", "sequence")


def window_bias(jax, jnp):
    fn, inputs = _windowed(jax, jnp, bias=True)
    found = splits("sequence")
    found["sequence"]["more"] = "[-, -, x, -]"
    return fn, inputs, found


def window_padding(jax, jnp):
    fn, inputs = _windowed(jax, jnp, lengths=True)
    return fn, inputs, splits("sequence")


def packed(jax, jnp):
    """Up to three segments in each sequence, which see only themselves."""
    starts = np.array([[0, 170, 340, -1], [0, 150, -1, -1]] * (BATCH // 2), np.int32)
    ends = np.where(starts[:, 1:] < 0, LENGTH, starts[:, 1:])
    lengths = np.where(starts[:, :-1] < 0, -1, ends - starts[:, :-1]).astype(np.int32)
    place = np.arange(LENGTH)
    segment = (
        place[None, :, None] >= np.where(starts < 0, LENGTH, starts)[:, None]
    ).sum(-1)
    seen = jnp.asarray(segment[:, None, :, None] == segment[:, None, None, :])

    def fn(q, k, v, g, offsets, lengths):
        from jax._src.cudnn import fused_attention_stablehlo as cudnn

        def attend(q, k, v):
            scale = SIZE**-0.5
            if _kernel(jnp, q) == "xla":
                return jax.nn.dot_product_attention(q, k, v, mask=seen, scale=scale)
            return cudnn.dot_product_attention(
                *(q, k, v, None, None, lengths, lengths, offsets, offsets),
                scale=scale,
                mask_type=cudnn.MaskType.PADDING,
            )

        return _with_gradients(jax, attend, (q, k, v), g)

    inputs = normal(jax, jnp, [SHAPE] * 4)
    inputs += [jnp.asarray(starts), jnp.asarray(lengths)]
    return fn, inputs, splits("batch", "heads")


# Powers of two: what is scaled up and back down again is only rounded finer.
_SCALES = {"s": 128.0, "dP": 16.0, "dQ": 16.0, "dK": 16.0, "dV": 16.0}


def _f8_params(jnp, keys) -> dict:
    def of(key: str) -> float:
        kind, _, name = key.partition("_")
        scale = _SCALES.get(name, 1.0)
        return 1 / scale if kind == "descale" else scale

    return {key: jnp.full((1, 1, 1, 1), of(key), jnp.float32) for key in keys}


def _f8_attend(jax, jnp, causal: bool):
    """The output and its largest magnitude."""

    def attend(q, k, v):
        from jax._src.cudnn import fused_attention_stablehlo as cudnn

        if q.dtype == jnp.float32:
            out = jax.nn.dot_product_attention(q, k, v, is_causal=causal)
            return out, jnp.abs(out).max().reshape(1, 1, 1, 1)
        mask = cudnn.MaskType.CAUSAL if causal else cudnn.MaskType.NO_MASK
        out, _, largest = cudnn.dot_product_attention(
            *(q, k, v),
            fp8_params=_f8_params(jnp, cudnn.fp8_params_keys),
            use_fp8=True,
            mask_type=mask,
            scale=q.shape[-1] ** -0.5,
        )
        return out, largest

    return attend


def f8(jax, jnp):
    def fn(q, k, v):
        out, largest = _f8_attend(jax, jnp, causal=False)(q, k, v)
        return out.astype(jnp.float32), largest

    inputs = normal(jax, jnp, [SHAPE] * 3, jnp.float8_e4m3fn)
    found = splits("batch", "heads")
    return fn, inputs, {name: _without_g(spec) for name, spec in found.items()}


def f8_gradient(jax, jnp):
    """Backward; cuDNN has it for heads of 128 elements only."""

    def fn(q, k, v, g):
        (out, largest), back = jax.vjp(_f8_attend(jax, jnp, causal=True), q, k, v)
        grads = back((g, jnp.zeros_like(largest)))
        scale = 1.0 if q.dtype == jnp.float32 else 1 / _SCALES["dQ"]
        wide = [one.astype(jnp.float32) * scale for one in grads]
        return out.astype(jnp.float32), *wide

    shape = (BATCH, LENGTH, HEADS, 128)
    inputs = normal(jax, jnp, [shape] * 4, jnp.float8_e4m3fn)
    return fn, inputs, splits("batch", "heads")


def _without_g(spec: dict) -> dict:
    return {name: one for name, one in spec.items() if name != "g"}


CASES = {
    "attention": attention,
    "bias": bias,
    "padding": padding,
    "window": window,
    "window_bias": window_bias,
    "window_padding": window_padding,
    "packed": packed,
    "f8": f8,
    "f8_gradient": f8_gradient,
}
