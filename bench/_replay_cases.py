"""Which plans are replayed: modules x clusters x options.

The quick part needs no Python of a framework: its modules lie in testdata/. The other
modules are lowered from the zoo, from shapes alone.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from _cluster_cases import cluster_of

ROOT = Path(__file__).resolve().parents[1]

TINY = ["bert", "gpt", "gpt_scan", "llama", "moe", "unet", "vit", "wide_resnet"]

_SETTINGS = [
    "h200:8",
    "h200:2x8 --strategy zero3",
    "h200:2x8 --strategy megatron --mesh data=4,model=4",
    "h200:4 --mesh data=2,model=2 --recompute full",
    "h200:4x8 --stages 2 --micro-batches 4",
    "h200:3x2 --forbid all-gather",
    "slow_links",
    "slow_links --stages 4 --micro-batches 8 --schedule 1f1b",
    "virtual",
    "virtual --strategy dp --micro-batches 2",
    "virtual --mesh data=2,model=2,x=2 --recompute selective",
    "h200:64x8",
]
_QUICK_SETTINGS = [_SETTINGS[i] for i in (1, 3, 4, 8)]
# A loop over layers, and a mixture of experts without one: these have all settings.
_ALL_SETTINGS = ["llama", "moe"]

# Those of bench/predicted_plans.py.
PUBLISHED = [
    "gpt:2.6b@h200:8",
    "llama:7b@h200:8",
    "moe:10b@h200:8",
    "bert:large@h200:8",
    "vit:huge@h200:8",
    "unet:large@h200:8",
    "wide-resnet:2b@h200:8",
    "gpt:39b@h200:8x8",
    "llama:70b@h200:8x8",
    "moe:70b@h200:8x8",
    "gpt:175b@h200:64x8",
]
# A few of them, which are soon planned: records that take an hour are not kept up.
_PUBLISHED = ["bert:large@h200:8", "vit:huge@h200:8"]


@dataclass(frozen=True)
class Case:
    """`gpt@h200:8 --stages 2`, or with a size `gpt:39b@h200:8x8`."""

    model: str
    setting: str

    @property
    def name(self) -> str:
        return f"{self.model}@{self.setting}"

    def module(self, folder: Path) -> Path:
        return module_of(self.model, folder)

    def flags(self, folder: Path) -> list[str]:
        cluster, *options = self.setting.split()
        return ["--cluster", cluster_of(cluster, folder), *options]


def quick() -> list[Case]:
    return [Case(model, setting) for model in TINY for setting in _QUICK_SETTINGS]


def every() -> list[Case]:
    others = [setting for setting in _SETTINGS if setting not in _QUICK_SETTINGS]
    tiny = [Case(model, setting) for model in _ALL_SETTINGS for setting in others]
    return quick() + tiny + [Case(*name.split("@")) for name in _PUBLISHED]


def module_of(model: str, folder: Path) -> Path:
    """A module's file, a name of `TINY`, or a name of the zoo with a size."""
    if model.endswith((".pb", ".zst", ".gz")):
        return Path(model)
    if ":" not in model:
        return ROOT / "testdata" / f"{model}_tiny.hlo.pb.zst"
    return lower(model, folder)


def lower(model: str, folder: Path) -> Path:
    """The step of `gpt:39b`, from shapes alone."""
    path = folder / f"{model.replace(':', '_')}.hlo.pb"
    if not path.exists():
        command = [ROOT / "mw", "python", "-m", "meshwright.zoo", "lower"]
        command += [*model.split(":"), "-o", path]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path
