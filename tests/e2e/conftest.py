"""Runs the built CLI as a user would."""

import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest
import scripts

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BINARY = Path(
    os.environ.get("MESHWRIGHT_BIN", ROOT / "build/release/meshwright/cli/meshwright")
)


def pytest_configure(config):
    # Whoever runs this in the background may have had them ignored; what tests start
    # is to get them as at a terminal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    config.addinivalue_line("markers", "long: takes minutes; left out by default")


# Files that take longest. They are started first, so that no worker has one of them
# left when the others are done.
FIRST = (
    "test_combinations", "test_docs", "test_terminal", "test_recompute",
    "test_workers", "test_spmd_oracle", "test_plan", "test_commands",
    "test_shaped_kernels", "test_own_models", "test_jax_operations", "test_words",
    "test_data", "test_checkpoint", "test_kills", "test_pipeline",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    places = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(FIRST)))


def seconds_of(call):
    """The processor time of the programs that `call` runs, and what it returns."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = call()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime, result


class Cli:
    """`cli("run", path)` gives the finished process; `.json(...)` its object."""

    def __call__(self, *args, timeout=1800):
        return subprocess.run(
            [BINARY, *map(str, args)],
            check=False,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def json(self, *args):
        done = self(*args, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def refuses(self, *args):
        """The one line of a mistake: exit code 2, nothing on stdout."""
        done = self(*args)
        assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
        assert done.stdout == ""
        lines = done.stderr.splitlines()
        assert len(lines) == 1, done.stderr
        return lines[0]


@pytest.fixture(scope="session")
def cli():
    assert BINARY.exists(), f"{BINARY} is not built"
    return Cli()


@pytest.fixture(scope="session")
def mlp(tmp_path_factory):
    """A training step of two layers."""
    path = tmp_path_factory.mktemp("mlp") / "mlp.hlo.pb"
    scripts.run(HERE / "mlp_step.py", path)
    return path


@pytest.fixture(scope="session")
def testdata():
    return ROOT / "testdata"
