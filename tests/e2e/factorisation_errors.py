"""Lowers what is left of matrices without the products of their factors.

python factorisation_errors.py OUT.hlo.pb cpu|cuda
"""

import sys

import jax
import jax.numpy as jnp

import meshwright


def dagger(x):
    return x.conj().swapaxes(-1, -2)


def rows(x, permutation):
    return jnp.take_along_axis(x, permutation[..., None], -2)


def of_lu(x):
    count = min(x.shape[-2:])
    packed, _, permutation = jax.lax.linalg.lu(x)
    lower = jnp.tril(packed[..., :count], -1) + jnp.eye(x.shape[-2], count)
    return lower @ jnp.triu(packed[..., :count, :]) - rows(x, permutation)


def of_qr(x):
    q, r = jnp.linalg.qr(x)
    return q @ r - x


def of_square(x):
    """And of a symmetric matrix made of it."""
    symmetric = x @ dagger(x) + jnp.eye(x.shape[-1])
    lower = jnp.linalg.cholesky(symmetric)
    values, vectors = jnp.linalg.eigh(symmetric)
    solve = jax.scipy.linalg.solve_triangular
    return [
        of_lu(x),
        lower @ dagger(lower) - symmetric,
        vectors @ (values[..., None] * dagger(vectors)) - symmetric,
        jnp.minimum(jnp.diff(values), 0),
        lower @ solve(lower, x, lower=True) - x,
        dagger(lower) @ solve(lower, x, lower=True, trans="C") - x,
        x @ jnp.linalg.inv(x) - jnp.eye(x.shape[-1]),
    ]


def step(state, _):
    matrices = jax.random.normal(jax.random.key(0), (3, 5, 5))
    tall = jax.random.normal(jax.random.key(1), (6, 4))
    turned = jax.lax.complex(matrices, matrices[::-1])
    left = [of_lu(tall), of_qr(tall.T), of_lu(turned), *of_square(matrices)]
    return state + 1, sum(jnp.max(jnp.abs(x)) for x in left)


arguments = (jax.ShapeDtypeStruct((), jnp.int32), jax.ShapeDtypeStruct((), jnp.int32))
meshwright.lower(step, *arguments, platform=sys.argv[2]).save(sys.argv[1])
