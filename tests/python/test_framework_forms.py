"""The forms in which nnx and equinox steps come: methods, partials, metrics, keywords."""

import functools

import equinox as eqx
import jax
import numpy as np
import optax
import pytest
from flax import nnx
from made_up_plan import write_plan

import meshwright

X = np.random.default_rng(0).normal(size=(4, 8)).astype("f4")
NEWER = hasattr(nnx, "List")


class Net(nnx.Module):
    def __init__(self, seed=0):
        rngs = nnx.Rngs(seed)
        self.linear = nnx.Linear(8, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)

    def __call__(self, x):
        return self.norm(self.linear(x))

    def loss(self, x):
        return (self(x) ** 2).mean()

    @nnx.jit
    def jitted_loss(self, x):
        return self.loss(x)


def train_step(net, optimizer, metrics, rngs, batch, *, scale=1.0):
    noise = jax.random.normal(rngs.noise(), (4, 8))

    def loss_of(net):
        return (net(batch) + noise).mean() * scale

    loss, gradients = nnx.value_and_grad(loss_of)(net)
    optimizer.update(*([net] if NEWER else []), gradients)
    metrics.update(loss=loss)
    return {"loss": loss}


def arguments():
    net = Net()
    wrt = {"wrt": nnx.Param} if NEWER else {}
    optimizer = nnx.Optimizer(net, optax.sgd(0.1, momentum=0.9), **wrt)
    metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
    return net, optimizer, metrics, nnx.Rngs(noise=3)


def names(module, role):
    return [p.name for p in module.parameters if p.role == role]


def arguments_of(module, role):
    return list(dict.fromkeys(name.split("/")[0] for name in names(module, role)))


OBJECTS = ["net", "optimizer", "metrics", "rngs"]


@pytest.mark.parametrize("wrap", [lambda f: f, nnx.jit], ids=["plain", "jitted"])
def test_metrics_statistics_and_rngs_are_state(wrap):
    module = meshwright.lower(wrap(train_step), *arguments(), X)
    assert arguments_of(module, "state") == OBJECTS
    assert {"net/norm/mean", "net/norm/var"} <= set(names(module, "state"))
    assert names(module, "data") == ["batch"]
    assert module.outputs[module.loss].name == "out/loss"


def test_keywords():
    *objects, rngs = arguments()
    given = {"batch": X, "rngs": rngs, "scale": 2.0}
    module = meshwright.lower(train_step, *objects, kwargs=given)
    assert names(module, "data") == ["batch", "scale"]
    assert "rngs/noise/count" in names(module, "state") or not NEWER


def test_a_partial_keeps_what_it_holds():
    step = functools.partial(nnx.jit(train_step), scale=3.0)
    module = meshwright.lower(step, *arguments(), X)
    assert names(module, "data") == ["batch"]


def test_a_partial_that_holds_a_model_is_a_function_of_it():
    net, *rest = arguments()
    step = functools.partial(train_step, net)
    module = meshwright.lower(step, *rest, X)
    assert arguments_of(module, "state") == OBJECTS


@pytest.mark.parametrize("method", ["loss", "jitted_loss"])
def test_methods_are_functions_of_their_model(method, tmp_path):
    net, want = Net(), Net()
    module = meshwright.lower(getattr(net, method), X)
    assert arguments_of(module, "state") == ["self"]
    assert names(module, "data") == ["x"]
    write_plan(module, tmp_path / "plan.json", {"data": 1, "model": 1})
    plan = meshwright.load_plan(tmp_path / "plan.json")
    planned = plan.jit(getattr(net, method), X)
    for _ in range(2):
        np.testing.assert_allclose(planned(X), want.loss(X), rtol=1e-5)
    # The running statistics went on, in place.
    np.testing.assert_allclose(net.norm.mean + 0, want.norm.mean + 0, rtol=1e-5)
    assert abs(np.asarray(net.norm.mean + 0)).max() > 0


def test_objects_inside_of_trees():
    step = nnx.jit(lambda nets, x: sum(net.loss(x) for net in nets["all"]))
    module = meshwright.lower(step, {"all": [Net(0), Net(1)]}, X)
    assert "nets/all/1/linear/kernel" in names(module, "state")
    assert names(module, "data") == ["x"]


def test_equinox_state_and_static_arguments():
    """What `eqx.nn.State` holds is state; an optimizer is an argument without arrays."""

    class Normed(eqx.Module):
        linear: eqx.nn.Linear
        norm: eqx.nn.BatchNorm

        def __init__(self, key):
            self.linear = eqx.nn.Linear(8, 8, key=key)
            mode = {"mode": "batch"} if NEWER else {}
            self.norm = eqx.nn.BatchNorm(8, "batch", **mode)

        def __call__(self, x, state):
            return self.norm(self.linear(x), state)

    def step(model, state, opt_state, x, optimizer, scale):
        def loss_of(model):
            run = jax.vmap(
                model, axis_name="batch", in_axes=(0, None), out_axes=(0, None)
            )
            y, new = run(x, state)
            return (y**2).mean() * scale, new

        (loss, new), g = eqx.filter_value_and_grad(loss_of, has_aux=True)(model)
        updates, opt_state = optimizer.update(g, opt_state)
        return eqx.apply_updates(model, updates), new, opt_state, loss

    optimizer = optax.adam(1e-3)
    model, state = eqx.nn.make_with_state(Normed)(jax.random.key(0))
    opt_state = optimizer.init(eqx.filter(model, eqx.is_array))
    for donate in ("none", "all", "all-except-first"):
        fn = eqx.filter_jit(step, donate=donate)
        module = meshwright.lower(fn, model, state, opt_state, X, optimizer, 2.0)
        assert arguments_of(module, "state") == ["model", "state", "opt_state"]
        assert names(module, "data") == ["x"]
        assert module.outputs[module.loss].name == "out/3"
