"""What is given away asks only for what RHEL 9 has; changes to ELF files."""

import subprocess
import sys
from pathlib import Path

import pytest
from mw import portable
from mw.elf import ElfFile, is_elf
from mw.paths import StepFailed

LOAD = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1], 2).answer())"  # RTLD_NOW


def compiled(path: Path, source: str, *args: object) -> Path:
    argv = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", path, *args]
    subprocess.run(argv, input=source, text=True, check=True)
    return path


def folder_with(tmp_path: Path, source: str, *args: object) -> Path:
    """As portable.fill() makes them, with a library in place of the program."""
    (tmp_path / "bin").mkdir()
    rpath = (f"-Wl,-rpath,{portable.RPATH}", "-Wl,--disable-new-dtags")
    compiled(tmp_path / "bin" / "meshwright", source, *rpath, *args)
    return tmp_path


def test_files_that_ask_for_little_are_fine(tmp_path):
    (tmp_path / "NOTICE").write_text("no library")
    portable.check(folder_with(tmp_path, "int answer(void) { return 42; }"))


def test_a_symbol_that_is_too_new_is_named(tmp_path):
    source = "unsigned arc4random(void); int answer(void) { return arc4random(); }"
    folder = folder_with(tmp_path, source)
    with pytest.raises(StepFailed, match=r"needs GLIBC_2\.36 .* for arc4random"):
        portable.check(folder)


def test_a_library_that_hosts_may_lack_is_named(tmp_path):
    folder = folder_with(tmp_path, "", "-Wl,--no-as-needed", "-lz")
    with pytest.raises(StepFailed, match=r"meshwright needs libz\.so\.1"):
        portable.check(folder)
    (folder / "lib").mkdir()
    (folder / "lib" / "libz.so.1").write_bytes(
        portable.library("libz.so.1").read_bytes()
    )
    portable.check(folder)


def test_a_program_that_would_not_find_its_libraries_is_refused(tmp_path):
    (tmp_path / "bin").mkdir()
    compiled(tmp_path / "bin" / "meshwright", "")
    with pytest.raises(StepFailed, match="no DT_RPATH"):
        portable.check(tmp_path)


@pytest.mark.parametrize(
    ("version", "old"),
    [
        ("GLIBC_2.2.5", True),
        ("GLIBC_2.34", True),
        ("GLIBC_2.35", False),
        ("GLIBCXX_3.4", True),
        ("GLIBCXX_3.4.29", True),
        ("GLIBCXX_3.4.30", False),
        ("GLIBC_ABI_DT_RELR", False),
        ("GLIBC_PRIVATE", False),
        ("OTHER_1.0", False),
    ],
)
def test_versions_are_compared_as_numbers(version, old):
    assert portable._is_old(version) == old


def test_gloo_as_it_is_given_away_needs_the_host_alone_and_loads(tmp_path):
    portable._bring_gloo(tmp_path)
    gloo = ElfFile(tmp_path / portable.GLOO)
    assert set(gloo.needed()) <= portable.HOST
    assert all(portable._is_old(version.name) for version in gloo.versions())
    wait = next(s for s in gloo.symbols() if "condition_variable4wait" in s.name)
    names = {version.index: version.name for version in gloo.versions()}
    assert names[wait.version] == "GLIBCXX_3.4.11"
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1], 2)"
    subprocess.run([sys.executable, "-c", code, tmp_path / portable.GLOO], check=True)


def test_a_library_whose_functions_are_never_called_can_be_dropped(tmp_path):
    versions = tmp_path / "versions"
    versions.write_text("OTHER_1 { global: other; };")
    other = compiled(
        tmp_path / "libother.so",
        "int other(void) { return 7; }",
        f"-Wl,--version-script={versions}",
        "-Wl,-soname,libother.so",
    )
    source = """
        int other(void);
        void* malloc(unsigned long);
        int answer(void) { return malloc(1) ? 42 : other(); }
    """
    user = compiled(tmp_path / "libuser.so", source, "-Wl,-z,now", other)
    argv = [sys.executable, "-c", LOAD, user]
    assert subprocess.run(argv, check=False).returncode != 0
    file = ElfFile(user)
    assert "libother.so" in file.needed()
    assert "OTHER_1" in [version.name for version in file.versions()]
    file.drop_library("libother.so", {"other"})
    file.write(user)
    assert "libother.so" not in file.needed()
    assert "OTHER_1" not in [version.name for version in ElfFile(user).versions()]
    answer = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert answer.stdout == "42\n"


def test_what_is_no_elf_file_is_told_apart(tmp_path):
    (tmp_path / "short").write_bytes(b"\x7fE")
    (tmp_path / "link").symlink_to(sys.executable)
    assert not is_elf(tmp_path / "short")
    assert not is_elf(tmp_path / "link")
    assert is_elf(Path(sys.executable).resolve())
    with pytest.raises(ValueError, match="no 64-bit ELF file"):
        ElfFile(tmp_path / "short")
