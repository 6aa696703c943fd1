"""Sharding rules of kernels by custom-call target, as `--rules FILE` takes them.

They go with the module (`mw.rules`) to whoever plans it, who parses them. `check_rules`
has the `meshwright` program do so at once.
"""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from meshwright.errors import MeshwrightError
from meshwright.executable import run_program
from meshwright.lowered_module import LoweredModule

Rules = Mapping[str, str] | str | Path | None


def rules_text(rules: Rules) -> str:
    """What `mw.rules` is for a file or a mapping; "" for neither.

    >>> rules_text({"norm": "b n, n -> b n {need_replication: n}"})
    '{"norm": "b n, n -> b n {need_replication: n}"}'
    """
    if rules is None:
        return ""
    source = _source(rules)
    if isinstance(rules, str | Path):
        try:
            rules = json.loads(Path(rules).read_text())
        except OSError as error:
            raise MeshwrightError(f"{source}: {error.strerror}") from error
        except ValueError:
            rules = None
    if not isinstance(rules, Mapping):
        raise MeshwrightError(
            f"{source}: is no JSON object of rules by custom-call target"
        )
    for target, rule in rules.items():
        if not isinstance(target, str) or not isinstance(rule, str):
            raise MeshwrightError(f"{source}: the rule of {target} is no string")
    return json.dumps(dict(rules))


def check_rules(module: LoweredModule, rules: Rules, require: bool) -> None:
    """Raises MeshwrightError, as commands with `--rules` do, for a rule that does not
    fit, and if `require`d for an operation that no rule splits."""
    with tempfile.TemporaryDirectory(prefix="meshwright-") as folder:
        step = Path(folder, "step.hlo.pb")
        step.write_bytes(module.hlo)
        try:
            flags = ["--require-rules"] if require else []
            run_program("inspect", str(step), "--json", *flags)
        except MeshwrightError as error:
            line = str(error).removeprefix(f"meshwright inspect: {step}: ")
            raise MeshwrightError(f"{_source(rules)}: {line}") from None


def _source(rules: Rules) -> str:
    return str(rules) if isinstance(rules, str | Path) else "rules"
