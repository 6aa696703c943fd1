"""Puts the `meshwright` program into the package; pyproject.toml has all the rest.

The program is that of the checkout around this folder, brought up to date as
`./mw build meshwright` does. An editable installation has none: it uses the
checkout's. The package holds nothing of CPython's, so one wheel is for all versions.
"""

import shutil
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

CHECKOUT = Path(__file__).resolve().parents[1]
TOOLS = CHECKOUT / "tools"
if not (TOOLS / "mw").is_dir():
    sys.exit("meshwright is built from a whole checkout: pip install CHECKOUT/python")
sys.path.insert(0, str(TOOLS))

from mw import build, portable  # noqa: E402
from mw.paths import StepFailed, UserError  # noqa: E402


class BuildWithProgram(build_py):
    def run(self):
        if self.editable_mode:
            super().run()
            return
        shutil.rmtree(self.build_lib, ignore_errors=True)  # Of an earlier tree.
        super().run()
        try:
            self._add_program(Path(self.build_lib) / "meshwright")
        except (StepFailed, UserError) as error:
            sys.exit(f"{getattr(error, 'excerpt', '')}\nmeshwright: {error}".lstrip())

    def _add_program(self, package: Path) -> None:
        build.ensure(["meshwright"])
        portable.fill(package)
        portable.check(package)


class ProgramWheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", portable.PLATFORM


class ProgramDistribution(Distribution):
    def has_ext_modules(self):
        return True  # For one platform.


setup(
    options={"build": {"build_base": str(CHECKOUT / "build" / "python")}},
    cmdclass={"build_py": BuildWithProgram, "bdist_wheel": ProgramWheel},
    distclass=ProgramDistribution,
)
