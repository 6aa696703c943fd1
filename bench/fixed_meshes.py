"""Meshes of three and four axes that the user fixes: planning time over auto's, and gaps.

    ./mw bench fixed_meshes                      # every tiny model
    ./mw bench fixed_meshes gpt:2.6b llama:7b
    ./mw bench fixed_meshes FOLDER/*.hlo.pb      # of ./mw bench development_set FOLDER

A model is a name of the zoo, with or without a size, or a module's file. A row is a module
and a mesh: what planning takes on it in seconds of the processor, of all threads, on as many
H200, beside what auto takes, which chooses its mesh; the gap that is proven on the mesh;
and the predicted step over auto's. Planned with assumed rates; nothing is run.
Bar: 1.5 times auto's planning time.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _machine import describe
from _replay_cases import ROOT, TINY
from estimates import module_of

BAR = 1.5
# By cluster.
MESHES = {
    "h200:8": ["data=2,model=2,x=2"],
    "h200:2x8": ["data=4,model=2,x=2", "data=2,model=2,x=2,y=2"],
}
TOOL = ROOT / "build/release/meshwright/cli/meshwright"


def plan(tool: Path, module: Path, cluster: str, limit: float, *flags) -> dict:
    """What --json says, and `processor_seconds`; the last line of a refusal."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [tool, "plan", module, "--cluster", cluster, "--assumed", "--json"]
        + ["--time-limit", str(limit), *flags],
        check=False,
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode != 0:
        return {"refused": done.stderr.strip()[-100:], "processor_seconds": seconds}
    return {**json.loads(done.stdout), "processor_seconds": seconds}


def row(name: str, mesh: str, auto: dict, fixed: dict) -> tuple[str, float | None]:
    """The line, and fixed over auto."""
    for report in (auto, fixed):
        if "refused" in report:
            return f"| {name} | {mesh} | {report['refused']} | | | | |", None
    ratio = fixed["processor_seconds"] / auto["processor_seconds"]
    steps = fixed["predicted"]["step_seconds"] / auto["predicted"]["step_seconds"]
    cells = [name, mesh, f"{auto['processor_seconds']:.2f}"]
    cells += [f"{fixed['processor_seconds']:.2f}", f"{ratio:.2f}"]
    cells += [f"{100 * fixed['bound']['gap']:.1f} %", f"{steps:.3f}"]
    return "| " + " | ".join(cells) + " |", ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=TINY)
    parser.add_argument("--time-limit", type=float, default=600, help="of a plan")
    parser.add_argument("--modules", type=Path, help="a folder to keep them in")
    parser.add_argument("--tool", default=TOOL, help="another build's meshwright")
    options = parser.parse_args()
    print(describe())
    print("| module | mesh | auto, s | fixed, s | / auto | gap | step / auto's |")
    print("|---|---|---|---|---|---|---|")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            module = module_of(model, options.modules or Path(folder))
            for cluster, meshes in MESHES.items():
                asked = (options.tool, module, cluster, options.time_limit)
                auto = plan(*asked)
                for mesh in meshes:
                    fixed = plan(*asked, "--mesh", mesh)
                    name = Path(model).name.split(".")[0]
                    line, ratio = row(name, mesh, auto, fixed)
                    print(line, flush=True)
                    ratios += [ratio] if ratio is not None else []
    if not ratios:
        sys.exit("nothing was planned")
    worst = max(ratios)
    print(
        f"{len(ratios)} meshes: median {statistics.median(ratios):.2f}, most {worst:.2f}; "
        f"bar {BAR}: {'kept' if worst <= BAR else 'missed'}"
    )
    sys.exit(worst > BAR)


if __name__ == "__main__":
    main()
