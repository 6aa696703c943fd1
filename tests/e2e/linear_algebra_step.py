"""Lowers factorisations of eight matrices for a platform.

python linear_algebra_step.py OUT.hlo.pb cpu|cuda
"""

import sys
import warnings

import jax
import jax.numpy as jnp

import meshwright


def factorise(matrices):
    square = matrices @ matrices.swapaxes(-1, -2)
    lower = jnp.linalg.cholesky(square)
    solved = jax.scipy.linalg.solve_triangular(lower, matrices, lower=True)
    return (
        jnp.linalg.qr(matrices),
        jnp.linalg.eigh(square),
        jnp.linalg.svd(matrices),
        jax.lax.linalg.lu(matrices),
        (lower, solved),
    )


warnings.simplefilter("ignore")  # It has no state.
matrices = jax.ShapeDtypeStruct((8, 6, 6), jnp.float32)
meshwright.lower(factorise, matrices, platform=sys.argv[2]).save(sys.argv[1])
