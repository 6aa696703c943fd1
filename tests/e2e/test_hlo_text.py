"""XLA's text of a module is as good as its bytes: same report, same plan, same run."""

import gzip
import json

import pytest

jax = pytest.importorskip("jax")
hlo = pytest.importorskip("jaxlib._hlo", reason="jaxlib is too old")

from meshwright import zoo

MODELS = ["gpt-scan", "moe", "vit", "wide-resnet"]
FORMS = {
    "default": {},
    "full": {"print_large_constants": True},
    "shapes": {"print_large_constants": True, "print_operand_shape": True},
    "bare": {
        "print_large_constants": True,
        "print_percent": False,
        "print_program_shape": False,
    },
}


def text_of(data, **options):
    """What XLA prints of a serialized module."""
    chosen = hlo.HloPrintOptions()
    for name, value in options.items():
        setattr(chosen, name, value)
    return hlo.HloModule.from_serialized_hlo_module_proto(data).to_string(chosen)


@pytest.fixture(scope="module", params=MODELS)
def model(request, tmp_path_factory):
    """The path of a tiny model's step, and its bytes."""
    path = tmp_path_factory.mktemp("model") / "step.hlo.pb"
    data = zoo.build(request.param, "tiny").lower().hlo
    path.write_bytes(data)
    return path, data


@pytest.fixture
def plan(cli, tmp_path):
    """The plan of a module, and what --json says.

    Without the time it took, and without fingerprints: they are of the bytes.
    """

    def make(module):
        path = tmp_path / "plan.json"
        report = cli.json(
            "plan", module, "--cluster", "h200:2", "--assumed", "-o", path
        )
        del report["seconds"]
        written = json.loads(path.read_text())
        for one in (report, written):
            del one["fingerprint"]
            one.pop("step_fingerprint", None)
        return report, written

    return make


def test_reports_and_plans_of_text_are_those_of_bytes(cli, plan, model, tmp_path):
    path, data = model
    report = cli.json("inspect", path)
    for form, options in FORMS.items():
        written = tmp_path / f"{form}.txt"
        written.write_text(text_of(data, **options))
        if "..." in written.read_text():
            assert "leaves this constant out" in cli.refuses("inspect", written)
            continue
        assert cli.json("inspect", written) == report, form
    assert plan(tmp_path / "full.txt") == plan(path)


def test_our_own_text_and_compressed_text(cli, model, tmp_path):
    path, data = model
    report = cli.json("inspect", path)
    printed = cli("inspect", path, "--text")
    own = tmp_path / "own.hlo"
    own.write_text(printed.stdout)
    assert cli("inspect", own, "--text").stdout == printed.stdout
    packed = tmp_path / "module.hlo.gz"
    text = text_of(data, print_large_constants=True)
    packed.write_bytes(gzip.compress(text.encode()))
    assert cli.json("inspect", packed) == report


def without_names(report):
    """Names of parameters come from metadata, which not every text has."""
    return report | {"parameters": [p | {"name": ""} for p in report["parameters"]]}


def mlp_loss(weights, x):
    for matrix in weights:
        x = jax.numpy.tanh(x @ matrix)
    return (x**2).mean()


def test_text_as_jax_gives_it(cli, tmp_path):
    """Lowered and compiled programs, as users get hold of them."""
    array = jax.ShapeDtypeStruct((8, 8), jax.numpy.float32)
    lowered = jax.jit(jax.grad(mlp_loss)).lower([array] * 3, array)
    (compiled,) = lowered.compile().runtime_executable().hlo_modules()
    programs = {
        "lowered": (lowered.as_text(dialect="hlo"), lowered.compiler_ir("hlo")),
        "ir": (
            lowered.compiler_ir("hlo").as_hlo_text(print_large_constants=True),
            lowered.compiler_ir("hlo"),
        ),
        "compiled": (lowered.compile().as_text(), compiled),
    }
    for name, (text, module) in programs.items():
        written, bytes_of = tmp_path / f"{name}.txt", tmp_path / f"{name}.hlo.pb"
        written.write_text(text)
        bytes_of.write_bytes(module.as_serialized_hlo_module_proto())
        ours, theirs = (cli.json("inspect", path) for path in (written, bytes_of))
        assert without_names(ours) == without_names(theirs), name


def test_text_runs_on_devices(cli, mlp, tmp_path):
    written = tmp_path / "mlp.txt"
    written.write_text(text_of(mlp.read_bytes(), print_large_constants=True))
    losses = [cli.json("run", path, "--steps", "3")["loss"] for path in (mlp, written)]
    assert losses[0] == losses[1]
