"""Debian packages: finds missing ones and installs them."""

from __future__ import annotations

import collections
import os
import re
import shutil
import subprocess
from pathlib import Path

from mw import process
from mw.paths import BUILD, ROOT, UserError, fingerprint, stamp_matches, write_stamp
from mw.progress import Task, display

LIST = ROOT / "tools" / "packages.txt"
LAUNCHERS = ROOT / "tools" / "packages-launchers.txt"
DPKG_STATUS = Path("/var/lib/dpkg/status")
SKIP = "MW_SKIP_PACKAGES"


def wanted(listed: Path = LIST) -> list[str]:
    lines = (line.split("#")[0].strip() for line in listed.read_text().splitlines())
    return [line for line in lines if line]


def missing(names: list[str]) -> list[str]:
    """Those of `names` that are not installed according to dpkg."""
    answer = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev}\n", *names],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    rows = (line.split() for line in answer.stdout.splitlines())
    installed = {row[0] for row in rows if len(row) == 2 and row[1][1] == "i"}
    return [name for name in names if name not in installed]


def ensure(task: Task | None = None) -> None:
    """Installs missing packages; if not root, prints the command that does it."""
    if os.environ.get(SKIP):
        return
    names = wanted()
    if not (shutil.which("dpkg-query") and shutil.which("apt-get")):
        raise UserError(
            "this is no Debian-like system: install the equivalents of "
            f"tools/packages.txt yourself, then set {SKIP}=1"
        )
    stamp = BUILD / "stamp" / "packages"
    if stamp_matches(stamp, _state()):
        return
    absent = missing(names)
    if absent:
        if os.geteuid() != 0:
            raise UserError(
                "some Debian packages are missing; install them with:\n"
                f"sudo apt-get install -y --no-install-recommends {' '.join(absent)}"
            )
        _install(absent, task)
    write_stamp(stamp, _state())


def install_launchers(task: Task | None = None) -> None:
    """Installs the programs that tests of launchers run, if this process may."""
    if os.environ.get(SKIP) or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    absent = missing(wanted(LAUNCHERS))
    if absent:
        _install(absent, task)


def _state() -> str:
    changed = DPKG_STATUS.stat().st_mtime_ns if DPKG_STATUS.exists() else 0
    return fingerprint(LIST, changed)


def _install(names: list[str], task: Task | None) -> None:
    display.say(f"installing Debian packages: {' '.join(names)}")
    env = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    options = ["-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Use-Pty=0"]
    update = ["apt-get", "update", *options]
    process.run("apt-get update", update, "apt-update", env=env, task=task)
    install = ["apt-get", "install", "-y", "--no-install-recommends", *options, *names]
    text = AptText()
    process.run("apt-get install", install, "apt", text.read, env=env, task=task)


class AptText:
    """Converts apt-get's lines to progress: '[12/68] setting up cmake'."""

    _TOTAL = re.compile(r"\d+ upgraded, (\d+) newly installed")
    _STEPS = (
        ("fetching", re.compile(r"Get:\d+ \S+ \S+ \S+ (\S+)")),
        ("unpacking", re.compile(r"Unpacking (\S+)")),
        ("setting up", re.compile(r"Setting up (\S+)")),
    )

    def __init__(self) -> None:
        self._total = "?"
        self._done = collections.Counter()

    def read(self, line: str) -> str | None:
        total = self._TOTAL.match(line)
        if total:
            self._total = total.group(1)
        for verb, pattern in self._STEPS:
            match = pattern.match(line)
            if match:
                self._done[verb] += 1
                name = match.group(1).split(":")[0]
                return f"[{self._done[verb]}/{self._total}] {verb} {name}"
        return None
