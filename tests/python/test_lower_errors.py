"""Every mistake in a call of `lower` gets one clear line."""

import jax
import jax.numpy as jnp
import pytest

import meshwright
from meshwright import LoweredModule, MeshwrightError
from meshwright.hlo_module import HloModule
from meshwright.tensors import save_tensors

X = jax.ShapeDtypeStruct((3,), jnp.float32)


def branch(x):
    return x if x.sum() > 0 else -x


def step(state, x):
    return state + x, x.sum()


CASES = {
    "not a function": (lambda: meshwright.lower(3, X), "3 is not a function"),
    "not traceable": (
        lambda: meshwright.lower(branch, X),
        "cannot trace branch: TracerBoolConversionError",
    ),
    "wrong argument count": (
        lambda: meshwright.lower(step, X),
        "cannot trace step: TypeError: .*missing",
    ),
    "an argument that is no array": (
        lambda: meshwright.lower(step, X, "text"),
        "cannot trace step: TypeError",
    ),
    "state without a next value": (
        lambda: meshwright.lower(step, X, X, state=("state", "x")),
        "state argument 'x' has no matching output",
    ),
    "unknown state name": (
        lambda: meshwright.lower(step, X, X, state="params"),
        "state='params' is not an argument; there are state, x",
    ),
    "unknown state position": (
        lambda: meshwright.lower(step, X, X, state=2),
        "state=2 is not an argument",
    ),
    "unknown loss": (
        lambda: meshwright.lower(step, X, X, loss="loss"),
        "loss='loss' is not an output; there are 2: state, out/1",
    ),
    "the batch of no data": (
        lambda: meshwright.lower(step, X, X, batch={"state": 0}),
        "batch={'state': 0}: 'state' is no data; there is x",
    ),
    "a batch in no dimension": (
        lambda: meshwright.lower(step, X, X, batch={"x": 1}),
        "batch={'x': 1}: 'x' has 1 dimensions",
    ),
    "a batch that nothing has": (
        lambda: meshwright.lower(step, X, X, batch=1),
        "batch=1 gives no data a batch",
    ),
    "a batch that is no number": (
        lambda: meshwright.lower(step, X, X, batch="x"),
        "batch='x': 'x' is not the number of a dimension",
    ),
    "repeated names": (
        lambda: meshwright.lower(step, X, X, names=["a", "a"]),
        "parameter names are not unique: 'a'",
    ),
    "paths that meet": (
        lambda: meshwright.lower(lambda t: t, {"a/b": X, "a": {"b": X}}),
        "parameter names are not unique: 't/a/b'",
    ),
    "too few names": (
        lambda: meshwright.lower(step, X, X, names=["a"]),
        "1 names given for 2 arguments",
    ),
    "static arguments of a jitted function": (
        lambda: meshwright.lower(jax.jit(step), X, X, static_argnums=1),
        "give static_argnums to jax.jit",
    ),
    "unknown platform": (
        lambda: meshwright.lower(step, X, X, platform="abacus"),
        "platform='abacus' is not one of cpu, cuda",
    ),
}


@pytest.mark.parametrize(("call", "complaint"), CASES.values(), ids=CASES)
def test_mistakes_are_told_in_one_line(call, complaint):
    with pytest.raises(MeshwrightError, match=complaint) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_state_that_changes_shape_is_named():
    with pytest.raises(MeshwrightError, match="state argument 'state' has no matching"):
        meshwright.lower(lambda state: state[:2], X, state="state")


def test_state_that_changes_dtype_is_named():
    with pytest.raises(MeshwrightError, match="state argument 'state' has no matching"):
        meshwright.lower(lambda state: state.astype(jnp.bfloat16), X, state=0)


@pytest.mark.parametrize("data", [b"", b"\x08\x01", b"\xff\xff", b"HloModule m"])
def test_bytes_that_are_no_module_are_refused(data):
    with pytest.raises(MeshwrightError, match="not an HLO module"):
        HloModule(data)


def test_truncated_modules_are_refused():
    data = meshwright.lower(step, X, X).hlo
    for end in range(0, len(data), 7):
        try:
            HloModule(data[:end])
        except MeshwrightError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("missing.hlo.pb", None, "No such file"),
        ("bad.gz", b"\x1f\x8b\x08junk", "damaged compressed file"),
        ("bad.zst", b"\x28\xb5\x2f\xfdjunk", "damaged compressed file"),
    ],
)
def test_files_that_cannot_be_read_are_named(tmp_path, name, content, complaint):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(MeshwrightError, match=f"{name}: {complaint}"):
        LoweredModule.load(tmp_path / name)


def test_files_that_cannot_be_written_are_named(tmp_path):
    path = tmp_path / "none" / "step.hlo.pb.zst"
    with pytest.raises(MeshwrightError, match="none/step.hlo.pb.zst: No such file"):
        meshwright.lower(step, X, X).save(path)
    with pytest.raises(MeshwrightError, match="none/step.hlo.pb.zst: No such file"):
        save_tensors(path, x=jnp.ones(3))
