"""Commands of the `meshwright` program on a step and its plan."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from meshwright.executable import run_program
from meshwright.lowered_module import LoweredModule


def explain(module: LoweredModule, plan: Mapping, name: str | None) -> str:
    """What `meshwright explain` prints."""
    with tempfile.TemporaryDirectory(prefix="meshwright-") as folder:
        step, file = Path(folder, "step.hlo.pb"), Path(folder, "plan.json")
        step.write_bytes(module.hlo)
        file.write_text(json.dumps(plan))
        words = [str(file), *([name] if name else []), "--module", str(step)]
        return run_program("explain", *words)
