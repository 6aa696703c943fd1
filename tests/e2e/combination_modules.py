"""The modules that combinations are drawn for, and what is known of them.

Tiny ones are lowered from scripts here or lie in testdata/; public ones are lowered
from libraries' models, once for each content of the scripts, into build/.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import scripts

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BINARY = Path(
    os.environ.get("MESHWRIGHT_BIN", ROOT / "build/release/meshwright/cli/meshwright")
)
OLD_PYTHON = ROOT / ".venv-jax-old" / "bin" / "python"

TINY = ("mlp", "rnn", "scan_plain", "scan_dropout")
TINY += ("tiny_attention", "tiny_convolutions", "tiny_embedding", "tiny_experts")
ZOO = ("gpt_tiny", "moe_tiny", "wide_resnet_tiny", "gpt_tiny_jax0435", "unet_tiny")
NEW = ("haiku_resnet", "haiku_lstm", "linen_transformer", "linen_lstm_adafactor")
NEW += ("nnx_transformer", "equinox_mixer", "equinox_gru_muon", "penzai_llama")
NEW += ("e3nn_message_passing", "diffrax_neural_ode")
OLD = ("transformers_llama", "transformers_gpt2", "transformers_bert")
OLD += ("transformers_vit", "transformers_resnet")
# Looked at only when all else is done.
HELD_OUT_NEW = ("haiku_vqvae", "flowjax_flow")
HELD_OUT_OLD = ("transformers_t5",)
PUBLIC = NEW + OLD
HELD_OUT = HELD_OUT_NEW + HELD_OUT_OLD
# Quick to plan and to compile: what is planned for them is often run, too.
SMALL = tuple(name for name in TINY if name != "scan_dropout")


@dataclass(frozen=True)
class Facts:
    """What a user would know of a module."""

    name: str
    path: Path
    parameters: tuple[tuple[str, tuple[int, ...], str], ...]  # Name, shape, role.
    outputs: tuple[tuple[str, tuple[int, ...]], ...]
    dots: tuple[tuple[str, int], ...]  # Name, dimensions.
    peak_bytes: int

    @property
    def batch(self) -> int:
        sizes = [
            shape[0] for _, shape, role in self.parameters if role == "data" and shape
        ]
        return max(sizes, default=1)


@lru_cache
def facts(name: str) -> Facts:
    path = module_path(name)
    answer = json.loads(_meshwright("inspect", path, "--json"))
    text = _meshwright("partition", path, "--mesh", "d=1", "--text")
    dots = re.findall(r"%?([\w.-]+) = \w+\[([\d,]+)\]\S* dot\(", text)
    return Facts(
        name=name,
        path=path,
        parameters=tuple(
            (one["name"], tuple(one["shape"]), one["role"])
            for one in answer["parameters"]
        ),
        outputs=tuple((one["name"], tuple(one["shape"])) for one in answer["outputs"]),
        dots=tuple((dot, len(sizes.split(","))) for dot, sizes in dots),
        peak_bytes=answer["memory"]["peak_bytes"],
    )


def module_path(name: str) -> Path:
    stored = ROOT / "testdata" / f"{name}.hlo.pb.zst"
    if stored.exists():
        return stored
    script, _, variant = _script_of(name)
    folder = ROOT / "build" / "combinations" / _fingerprint(script)
    path = folder / f"{name}.hlo.pb.zst"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _lower(name, script, variant, folder)
    return path


def _script_of(name: str) -> tuple[Path, Path, tuple[str, ...]]:
    if name in NEW + HELD_OUT_NEW:
        return HERE / "public_models.py", Path(sys.executable), ()
    if name in OLD + HELD_OUT_OLD:
        return HERE / "public_transformers.py", OLD_PYTHON, ()
    for group in ("scan", "tiny"):
        if name.startswith(group + "_"):
            variant = (name[len(group) + 1 :],)
            return HERE / f"{group}_steps.py", Path(sys.executable), variant
    return HERE / f"{name}_step.py", Path(sys.executable), ()


def _lower(name: str, script: Path, variant: tuple[str, ...], folder: Path) -> None:
    """With MW_LONG all public models of one JAX together: all are needed then, and
    importing what several have in common takes a while."""
    argv = [_script_of(name)[1], script]
    groups = [NEW, HELD_OUT_NEW, OLD, HELD_OUT_OLD]
    group = next((names for names in groups if name in names), None)
    if group:
        argv += [folder, *(group if "MW_LONG" in os.environ else [name])]
    else:
        argv += [*variant, folder / f"{name}.hlo.pb.zst"]
    if argv[0] == Path(sys.executable):
        scripts.run(*argv[1:])
        return
    # Older versions of JAX do not know all the flags that tests have.
    env = os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{script.name} {name}: {done.stderr[-2000:]}"


@lru_cache
def _fingerprint(script: Path) -> str:
    files = [script, HERE / "public_models.py"]
    files += [ROOT / "bench" / "_development" / "training.py"]
    files += sorted((ROOT / "python").glob("requirements*.txt"))
    files += sorted((ROOT / "python" / "meshwright").glob("*.py"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _meshwright(*words) -> str:
    argv = [str(word) for word in (BINARY, *words)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(argv)}: {done.stderr}"
    return done.stdout
