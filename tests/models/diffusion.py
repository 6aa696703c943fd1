"""A denoising diffusion net in plain JAX, and its training step.

The state holds a typed PRNG key; every image of a batch has a key of its own.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

SIZE, CHANNELS, BATCH = 8, 16, 16
optimizer = optax.adam(2e-3)


def _convolve(x, w):
    return jax.lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def init():
    keys = iter(jax.random.split(jax.random.key(0), 8))

    def kernel(*shape):
        return jax.random.normal(next(keys), shape) * (2 / np.prod(shape[:-1])) ** 0.5

    return {
        "into": kernel(3, 3, 1, CHANNELS),
        "time": {"w": kernel(8, CHANNELS), "b": jnp.zeros(CHANNELS)},
        "blocks": [
            {"first": kernel(3, 3, CHANNELS, CHANNELS),
             "second": kernel(3, 3, CHANNELS, CHANNELS)}
            for _ in range(2)
        ],
        "out": kernel(3, 3, CHANNELS, 1),
    }  # fmt: skip


def denoise(params, x, time):
    angles = time[:, None] * 2.0 ** jnp.arange(4)
    features = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)
    shift = features @ params["time"]["w"] + params["time"]["b"]
    x = _convolve(x, params["into"]) + shift[:, None, None]
    for block in params["blocks"]:
        hidden = jax.nn.silu(_convolve(jax.nn.silu(x), block["first"]))
        x = x + _convolve(hidden, block["second"])
    return _convolve(jax.nn.silu(x), params["out"])


def make():
    """The arguments of a step before its batch."""
    params = init()
    optimizer_state = optimizer.init(params)
    key = jax.random.key(7, impl="threefry2x32")
    return ({"params": params, "optimizer": optimizer_state, "key": key},)


def batch(seed: int):
    random = np.random.default_rng(seed)
    x, y = np.meshgrid(*[np.linspace(-1, 1, SIZE)] * 2)
    centres = random.uniform(-0.5, 0.5, (BATCH, 2, 1, 1))
    images = np.exp(-4 * ((x - centres[:, 0]) ** 2 + (y - centres[:, 1]) ** 2))
    keys = jax.random.split(jax.random.key(seed), BATCH)
    return {"images": images[..., None].astype("f4"), "keys": keys}


def step(state, batch):
    key, own = jax.random.split(state["key"])
    noise = jax.vmap(lambda k: jax.random.normal(k, (SIZE, SIZE, 1)))(batch["keys"])
    time = jax.random.uniform(own, (BATCH,))

    def loss_of(params):
        angle = (time * jnp.pi / 2)[:, None, None, None]
        mixed = jnp.cos(angle) * batch["images"] + jnp.sin(angle) * noise
        return jnp.mean((denoise(params, mixed, time) - noise) ** 2)

    loss, gradients = jax.value_and_grad(loss_of)(state["params"])
    updates, optimizer_state = optimizer.update(gradients, state["optimizer"])
    params = optax.apply_updates(state["params"], updates)
    norm = optax.global_norm(gradients)
    state = {"params": params, "optimizer": optimizer_state, "key": key}
    return state, {"gradient_norm": norm, "loss": loss}


jitted = jax.jit(step, donate_argnums=0)
