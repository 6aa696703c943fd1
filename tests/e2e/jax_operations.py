"""Functions of batches, as users write them in jax: each acts on every example alone."""

import functools

import jax
import jax.numpy as jnp
from jax import lax

ROWS = jnp.ones((8, 64), jnp.float32)
SQUARES = jnp.ones((8, 16, 16), jnp.float32)
NUMBERS = jnp.zeros((8, 4), jnp.int32)
IMAGES = jnp.ones((8, 16, 16, 3), jnp.float32)
KERNEL = jnp.ones((3, 3, 3, 8), jnp.float32)
HEADS = jnp.ones((8, 16, 2, 8), jnp.float32)


def _key():
    return jax.random.key(3)


def _shifted(x):
    return x + 20 * jnp.eye(16)


def _convolve(x, kernel):
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=numbers
    )


def _tridiagonal(m):
    return lax.linalg.tridiagonal_solve(m[0], m[1] + 9, m[2], m[3][:, None])


_each = jax.vmap
_rows = {
    "top_k": lambda x: lax.top_k(x, 4),
    "approx_max_k": lambda x: lax.approx_max_k(x, 4),
    "sort": lambda x: jnp.sort(x, -1),
    "argsort": lambda x: jnp.argsort(x, -1),
    "argmax": lambda x: jnp.argmax(x, -1),
    "cumsum": lambda x: jnp.cumsum(x, 1),
    "cumprod": lambda x: jnp.cumprod(x, 1),
    "cummax": lambda x: lax.cummax(x, 1),
    "cumlogsumexp": lambda x: lax.cumlogsumexp(x, 1),
    "associative_scan": lambda x: lax.associative_scan(jnp.add, x, axis=1),
    "logsumexp": lambda x: jax.nn.logsumexp(x, 1),
    "rfft": jnp.fft.rfft,
    "bernoulli": lambda x: jnp.where(jax.random.bernoulli(_key(), 0.5, x.shape), x, 0),
    "normal": lambda x: x + jax.random.normal(_key(), x.shape),
    "categorical": lambda x: jax.random.categorical(_key(), x),
    "permutation": lambda x: jax.random.permutation(_key(), x, axis=1),
    "segment_sum": lambda x: jax.ops.segment_sum(x.T, jnp.arange(64) // 4, 16).T,
    "searchsorted": _each(lambda r: jnp.searchsorted(r, jnp.arange(4.0))),
    "histogram": _each(lambda r: jnp.histogram(r, 8)[0]),
    "erf_inv": lambda x: lax.erf_inv(x * 0.5),
    "lgamma": lax.lgamma,
    "digamma": lax.digamma,
    "bessel": lax.bessel_i1e,
    "zeta": lambda x: jax.scipy.special.zeta(x + 2, x),
    "scan": lambda x: lax.scan(lambda s, r: (s + r, s), jnp.zeros(8), x.T)[1].T,
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda _, v: jnp.tanh(v), x),
    "switch": _each(lambda r: lax.switch(r[0].astype(int), [jnp.sin, jnp.cos], r)),
    "outer": lambda x: jnp.einsum("bi,bj->bij", x, x),
    "gradient": jax.grad(lambda x: jnp.clip(jnp.cumsum(x, 1), -1, 1).sum()),
    "unique": _each(lambda r: jnp.unique(r, size=8)),
    "roll": lambda x: jnp.roll(x, 3, 1),
    "flip": lambda x: x[:, ::-1],
    "reflect": lambda x: jnp.pad(x, ((0, 0), (2, 3)), mode="reflect"),
    "median": lambda x: jnp.median(x, 1),
    "quantile": lambda x: jnp.quantile(x, 0.3, axis=1),
    "interp": _each(lambda r: jnp.interp(r, jnp.arange(4.0), jnp.arange(4.0))),
    "nanmean": lambda x: jnp.nanmean(x, 1),
    "int4": lambda x: x.astype(jnp.int4).astype(jnp.float32),
    "convolve": _each(lambda r: jnp.convolve(r, jnp.ones(5), "same")),
}
_squares = {
    "cholesky": lambda c: jnp.linalg.cholesky(_shifted(c @ c.mT)),
    "solve": lambda c: jnp.linalg.solve(_shifted(c), c),
    "singular_values": functools.partial(jnp.linalg.svd, compute_uv=False),
    "qr": lambda c: jnp.linalg.qr(c)[1],
    "inverse": lambda c: jnp.linalg.inv(_shifted(c)),
    "determinant": jnp.linalg.det,
    "eigenvalues": lambda c: jnp.linalg.eigh(c + c.mT)[0],
    "exponential": _each(jax.scipy.linalg.expm),
    "triangle": jnp.triu,
    "lu": lambda c: jax.scipy.linalg.lu_factor(c)[0],
    "tridiagonal": _each(_tridiagonal),
}
_numbers = {
    "one_hot": lambda i: jax.nn.one_hot(i, 32),
    "embedding": lambda i: jnp.take(jnp.ones((32, 8)), i, axis=0),
    "bincount": _each(lambda r: jnp.bincount(r, length=8)),
}
_images = {
    "pool": lambda x: lax.reduce_window(
        x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
    ),
    "resize": lambda x: jax.image.resize(x, (8, 32, 32, 3), "bilinear"),
}
_several = {
    "convolution": (_convolve, (IMAGES, KERNEL)),
    "take_along_axis": (lambda x, i: jnp.take_along_axis(x, i, 1), (ROWS, NUMBERS)),
    "rows_of_a_batch": (lambda x, i: x[jnp.arange(8), i[:, 0]], (ROWS, NUMBERS)),
    "scatter": (lambda x, i: x.at[jnp.arange(8)[:, None], i].add(1.0), (ROWS, NUMBERS)),
    "attention": (lambda q: jax.nn.dot_product_attention(q, q, q), (HEADS,)),
}

# By name: a function of arrays whose first dimension is the batch's (but for weights), and
# arguments.
OPERATIONS = {
    **{name: (fn, (ROWS,)) for name, fn in _rows.items()},
    **{name: (fn, (SQUARES,)) for name, fn in _squares.items()},
    **{name: (fn, (NUMBERS,)) for name, fn in _numbers.items()},
    **{name: (fn, (IMAGES,)) for name, fn in _images.items()},
    **_several,
}
