"""Lowers the cases of cases/*.py into testdata/cases/ (with jax 0.10.2).

Writes cases.json and the modules, one for all cases that share it. What is in that
folder is replaced.
"""

import json
import os
import sys
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "cases"), str(HERE.parents[1] / "python")]

import dots  # noqa: F401
import indexing  # noqa: F401
import jax
import movement  # noqa: F401
import reductions  # noqa: F401
import steps  # noqa: F401
import windows  # noqa: F401
from case import CASES

import meshwright


def main() -> None:
    # Where a line came from is nothing to keep.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*")
    jax.config.update("jax_traceback_in_locations_limit", 0)
    folder = HERE / "testdata" / "cases"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    modules: dict[bytes, str] = {}
    cases = []
    for case in sorted(CASES, key=lambda case: case.name):
        lowered = meshwright.lower(case.function, *case.shapes, state=())
        name = modules.setdefault(lowered.hlo, case.name)
        if name == case.name:
            lowered.save(folder / f"{name}.hlo.pb.zst")
        entry = {"name": case.name, "module": name, "mesh": case.mesh}
        entry |= {"parameters": case.parameters, "outputs": case.outputs}
        entry |= {"wanted": case.wanted}
        if case.known:
            entry["known"] = case.known
        if case.large:
            entry["large"] = True
        cases.append(json.dumps(entry))
    text = "[\n" + ",\n".join(cases) + "\n]\n"
    (folder / "cases.json").write_text(text)


main()
