"""Commands of the `meshwright` program on a step and its plan."""

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from meshwright.errors import MeshwrightError
from meshwright.executable import find_program
from meshwright.lowered_module import LoweredModule


def run_program(
    command: str, module: LoweredModule, plan: Mapping, name: str | None
) -> str:
    """What it prints."""
    with tempfile.TemporaryDirectory(prefix="meshwright-") as folder:
        step, file = Path(folder, "step.hlo.pb"), Path(folder, "plan.json")
        step.write_bytes(module.hlo)
        file.write_text(json.dumps(plan))
        words = [find_program(), command, str(file), *([name] if name else [])]
        words += ["--module", str(step)]
        done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        line = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise MeshwrightError(line[0] if line else f"{command} failed")
    return done.stdout
