"""tools/check_layers.py accepts what the layers allow and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"
LAYERS = """\
base 0
hlo 1
engine 1
plan 3
limit *pjrt_c_api*.h engine
limit proto/*.pb.h hlo engine
"""


def check(root: Path, files: dict[str, str]) -> subprocess.CompletedProcess:
    (root / "tools").mkdir()
    (root / "tools" / "layers.txt").write_text(LAYERS)
    (root / "meshwright").mkdir()
    for name, text in files.items():
        path = root / "meshwright" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    argv = [sys.executable, SCRIPT, "--root", root]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_lower_levels_and_the_own_folder_are_allowed(tmp_path):
    answer = check(
        tmp_path,
        {
            "base/status.h": "#include <string>\n",
            "hlo/shape.h": '#include "meshwright/base/status.h"\n',
            "hlo/shape.cc": '#include "meshwright/hlo/shape.h"\n'
            '#include "proto/hlo.pb.h"\n',
            "engine/client.cc": '#include "pjrt_c_api.h"\n',
        },
    )
    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize(
    "files, said",
    [
        pytest.param(
            {
                "plan/plan.h": "",
                "hlo/shape.h": '\n#include "meshwright/plan/plan.h"\n',
            },
            "meshwright/hlo/shape.h:2: hlo (level 1) includes plan (level 3)",
            id="upward",
        ),
        pytest.param(
            {
                "engine/client.h": "",
                "hlo/shape.h": '#include "meshwright/engine/client.h"\n',
            },
            "meshwright/hlo/shape.h:1: hlo (level 1) includes engine (level 1)",
            id="sideways",
        ),
        pytest.param(
            {"magic/wand.h": ""},
            "meshwright/magic/wand.h:1: folder 'magic' has no level",
            id="folder-without-level",
        ),
        pytest.param(
            {"plan/plan.h": '#include "meshwright/magic/wand.h"\n'},
            "meshwright/plan/plan.h:1: includes meshwright/magic/wand.h, whose folder",
            id="include-of-folder-without-level",
        ),
        pytest.param(
            {"plan/plan.h": '#  include "xla/pjrt/c/pjrt_c_api.h"\n'},
            "meshwright/plan/plan.h:1: plan includes xla/pjrt/c/pjrt_c_api.h",
            id="pjrt-outside-engine",
        ),
        pytest.param(
            {"plan/plan.h": '#include "proto/hlo.pb.h"\n'},
            "meshwright/plan/plan.h:1: plan includes proto/hlo.pb.h",
            id="generated-header-outside-its-folders",
        ),
        pytest.param(
            {"hlo/shape.h": "", "hlo/shape.cc": '#include "shape.h"\n'},
            "meshwright/hlo/shape.cc:1: includes shape.h; write the path",
            id="path-not-from-the-root",
        ),
        pytest.param(
            {"hlo/shape.cc": '#include "meshwright/hlo/shape.h"\n'},
            "includes meshwright/hlo/shape.h, which does not exist",
            id="missing-file",
        ),
    ],
)
def test_says_where_and_what_is_wrong(tmp_path, files, said):
    answer = check(tmp_path, files)
    assert answer.returncode == 1
    assert said in answer.stdout
    assert "layers: 1 problem\n" in answer.stdout


WALK = """\
1. `hlo/` reads a module,
   which `plan/` decides about.
2. `engine/` runs it.

| folder |
| `nowhere/` |
"""


def check_walk(root: Path, walk: str) -> subprocess.CompletedProcess:
    (root / "docs").mkdir()
    (root / "docs" / "architecture.md").write_text(walk)
    files = {
        "hlo/shape.h": "",
        "plan/plan.h": '#include "meshwright/hlo/shape.h"\n',
        "plan/plan_test.cc": '#include "meshwright/engine/client.h"\n',
        "engine/client.h": "",
    }
    return check(root, files)


def test_a_walk_in_one_direction_is_fine_and_tests_may_look_ahead(tmp_path):
    answer = check_walk(tmp_path, WALK)
    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize(
    "old, new, said",
    [
        pytest.param(
            "1. `hlo/` reads a module,\n   which `plan/`",
            "1. `plan/` is made of what\n   `hlo/`",
            "the walk has plan before hlo, which it includes (plan.h)",
            id="back",
        ),
        pytest.param("`engine/`", "it", "the walk leaves out engine", id="left-out"),
        pytest.param(
            "runs it", "and `nowhere/`", "nowhere, which is no folder", id="unknown"
        ),
    ],
)
def test_a_walk_goes_in_one_direction_through_all_folders(tmp_path, old, new, said):
    answer = check_walk(tmp_path, WALK.replace(old, new))
    assert answer.returncode == 1
    assert said in answer.stdout
    assert "layers: 1 problem\n" in answer.stdout
