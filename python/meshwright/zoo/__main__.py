"""Command line of the zoo.

python -m meshwright.zoo list
python -m meshwright.zoo lower gpt 1.3b -o gpt_1.3b.hlo.pb.zst --batch 64
python -m meshwright.zoo reference gpt -o reference/gpt
python -m meshwright.zoo testdata testdata
"""

import argparse
import os
import sys
import time
from pathlib import Path

from meshwright.errors import MeshwrightError

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from meshwright.zoo import MODELS, build, sizes_of
from meshwright.zoo.reference import write_reference
from meshwright.zoo.testdata import write_demo_state, write_testdata


def main(argv: list[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    try:
        options.command(options)
    except (MeshwrightError, OSError) as error:
        print(f"zoo: {error}", file=sys.stderr)
        return 2
    return 0


def _list(options) -> None:
    for model in MODELS:
        print(f"{model:12} {' '.join(sizes_of(model))}")


def _lower(options) -> None:
    start = time.perf_counter()
    step = build(options.model, options.size, **_overrides(options))
    module = step.lower(options.platform)
    name = f"{options.model}_{options.size}".replace("-", "_")
    path = options.output or Path(f"{name}.hlo.pb.zst")
    module.save(path)
    print(
        f"{path}: {step.parameter_count:,} parameters, "
        f"{len(module.parameters)} inputs, {len(module.hlo):,} bytes of HLO, "
        f"{time.perf_counter() - start:.1f} s"
    )


def _reference(options) -> None:
    losses = write_reference(
        options.model,
        options.size,
        options.output,
        options.steps,
        **_overrides(options),
    )
    print(f"{options.output}: losses {' '.join(f'{loss:.6f}' for loss in losses)}")


def _testdata(options) -> None:
    for path in write_testdata(options.directory, options.models, options.suffix):
        print(f"{path}: {path.stat().st_size:,} bytes")
    if not options.models:
        print(write_demo_state(options.directory))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m meshwright.zoo", description="Training steps of known models."
    )
    commands = parser.add_subparsers(required=True)

    listing = commands.add_parser("list", help="the models and their sizes")
    listing.set_defaults(command=_list)

    lower = commands.add_parser("lower", help="write the HLO module of a model")
    lower.set_defaults(command=_lower)
    lower.add_argument("model")
    lower.add_argument("size")
    lower.add_argument("-o", "--output", type=Path)
    lower.add_argument("--platform", default="cpu", help="cpu (default), cuda, tpu")
    _add_overrides(lower)

    reference = commands.add_parser("reference", help="inputs and losses under JAX")
    reference.set_defaults(command=_reference)
    reference.add_argument("model")
    reference.add_argument("size", nargs="?", default="tiny")
    reference.add_argument("-o", "--output", type=Path, required=True)
    reference.add_argument("--steps", type=int, default=5)
    _add_overrides(reference)

    testdata = commands.add_parser("testdata", help="regenerate the testdata folder")
    testdata.set_defaults(command=_testdata)
    testdata.add_argument("directory", type=Path)
    testdata.add_argument("models", nargs="*", help="default: all, and the demo state")
    testdata.add_argument("--suffix", default="", help="added to the file names")
    return parser


def _add_overrides(parser: argparse.ArgumentParser) -> None:
    for name in ("batch", "seq", "layers"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--dtype", choices=("f32", "bf16"))
    parser.add_argument(
        "--attention", choices=("xla", "cudnn", "ring"), help="of llama"
    )
    parser.add_argument("--routing", choices=("gshard", "ragged"), help="of moe")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any other setting of the model, e.g. --set remat=1",
    )


def _overrides(options) -> dict[str, object]:
    overrides = {
        name: getattr(options, name)
        for name in ("batch", "seq", "layers", "dtype", "attention", "routing")
        if getattr(options, name) is not None
    }
    for text in options.set:
        name, _, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            raise MeshwrightError(f"--set {text}: expected NAME=NUMBER") from None
        overrides[name] = int(number) if number.is_integer() else number
    return overrides


if __name__ == "__main__":
    sys.exit(main())
