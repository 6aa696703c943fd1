"""What `parallelize` can be told of a plan, as the flags of `meshwright plan`."""

import json
from collections.abc import Mapping
from pathlib import Path

from meshwright.errors import MeshwrightError

# Of `parallelize` -> of the service. What is None is left to the plan.
_NAMES = {
    "strategy": "strategy",
    "mesh": "mesh",
    "micro_batches": "micro-batches",
    "stages": "stages",
    "schedule": "schedule",
    "recompute": "recompute",
    "memory": "memory",
    "forbid": "forbid",
    "batch_axis": "batch-axis",
    "pins": "pin",
    "assumed": "assumed",
    "require_rules": "require-rules",
    "time_limit": "time-limit",
    "steps": "steps",
    "seed": "seed",
}
_STEPS = 1000  # That a run has at least: more planning than they repay is not done.


def plan_options(given: Mapping[str, object]) -> dict[str, object]:
    """As the service takes them. Raises MeshwrightError for one that there is not."""
    options = {"steps": _STEPS}
    for name, value in given.items():
        if name not in _NAMES:
            raise MeshwrightError(
                f"parallelize has no option {name!r}; of a plan there are "
                f"{', '.join(_NAMES)}"
            )
        if value is None:
            continue
        if name == "pins" and not isinstance(value, Mapping):
            value = _read_pins(value)
        options[_NAMES[name]] = dict(value) if isinstance(value, Mapping) else value
    return options


def _read_pins(path: str | Path) -> dict:
    try:
        return json.loads(Path(path).read_text())
    except OSError as error:
        raise MeshwrightError(f"pins={path}: {error.strerror}") from error
    except ValueError as error:
        raise MeshwrightError(f"pins={path}: this is not JSON") from error
