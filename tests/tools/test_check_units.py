"""tools/check_units.py finds names that two files of a folder cannot both have."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "check_units.py"


def hidden(text: str) -> str:
    return (
        "namespace meshwright {\nnamespace {\n\n"
        f"{text}\n"
        "}  // namespace\n}  // namespace meshwright\n"
    )


def check(root: Path, files: dict[str, str]) -> subprocess.CompletedProcess:
    for name, text in files.items():
        path = root / "meshwright" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    argv = [sys.executable, SCRIPT, "--root", root]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "one, other",
    [
        ("int Count(int a) {\n  return a;\n}\n", "int Count(const Shape& a) {\n}\n"),
        ("using Json = nlohmann::json;\n", "using Json = nlohmann::json;\n"),
        ("using ::testing::Not;\n", "using ::testing::Not;\n"),
        ("struct Row {\n  int Size();\n};\n", "int Size() {\n}\n"),
    ],
)
def test_what_may_meet(tmp_path, one, other):
    answer = check(tmp_path, {"hlo/a.cc": hidden(one), "hlo/b.cc": hidden(other)})
    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize(
    "one, other, name",
    [
        ("int Count(int a) {\n}\n", "long Count(int other = 2) {\n}\n", "Count"),
        ("struct Row {\n};\n", "struct Row {\n};\n", "Row"),
        ("class Row {\n};\n", "bool Row() {\n}\n", "Row"),
        (
            "constexpr int kMost = 3;\n",
            "int F() {\n  const int kMost = 3;\n}\n",
            "kMost",
        ),
        ("using Json = A;\n", "using Json = B;\n", "Json"),
        ("constexpr int kMost = 3;\n", "constexpr int kMost = 3;\n", "kMost"),
        ('const char kText[] =\n    R"(x)";\n', "constexpr auto kText = 1;\n", "kText"),
        (
            "template <typename T>\nvoid Sum(const std::vector<T>& a,\n    int b) {\n}\n",
            "template <typename T>\nvoid Sum(const std::vector<T>& x, int y) {\n}\n",
            "Sum",
        ),
    ],
)
def test_what_clashes(tmp_path, one, other, name):
    files = {"hlo/a.cc": hidden(one), "hlo/b.cc": hidden(other)}
    answer = check(tmp_path, files)
    assert answer.returncode == 1
    assert answer.stdout.startswith(
        f"meshwright/hlo/b.cc: {name} is also in meshwright/hlo/a.cc\n"
    )


def test_tests_and_other_folders_are_other_units(tmp_path):
    row = hidden("struct Row {\n};\n")
    answer = check(tmp_path, {"hlo/a.cc": row, "hlo/a_test.cc": row, "mesh/a.cc": row})
    assert answer.returncode == 0, answer.stdout


def test_names_of_headers_that_the_folder_sees(tmp_path):
    header = (
        "namespace meshwright {\n\nstruct Row {\n};\n\n}  // namespace meshwright\n"
    )
    files = {
        "hlo/row.h": header,
        "hlo/table.h": '#include "meshwright/hlo/row.h"\n',
        "hlo/a.cc": '#include "meshwright/hlo/table.h"\n',
        "hlo/b.cc": hidden("void Row(int a) {\n}\n"),
    }
    answer = check(tmp_path, files)
    assert "meshwright/hlo/b.cc: Row is also in meshwright/hlo/row.h" in answer.stdout
    del files["hlo/a.cc"]
    (tmp_path / "meshwright/hlo/a.cc").unlink()
    assert check(tmp_path, files).returncode == 0
