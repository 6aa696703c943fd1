"""Runs Python scripts in processes that have imported JAX already.

    run(HERE / "mlp_step.py", path)
    run("-m", "meshwright.zoo", "lower", "gpt", "tiny", "-o", path)

Importing JAX takes longer than lowering a small step. One process does so, and
makes a copy of itself for every script (fork), which is at its beginning then: no
device was asked for before, nothing was traced, and the script's environment is set.
"""

import atexit
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
from pathlib import Path


class Scripts:
    """The process that has imported JAX, started when the first script is to run."""

    def __init__(self):
        self._lock = threading.Lock()
        self._server = None

    def run(self, *words, check=True):
        """As subprocess.run([sys.executable, *words]) with its output captured."""
        argv = [str(word) for word in words]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            task = {"argv": argv, "env": dict(os.environ), "folder": os.getcwd()}
            task["streams"] = [
                f"/proc/{os.getpid()}/fd/{one.fileno()}" for one in (out, err)
            ]
            code = self._answer(json.dumps(task))
            texts = [_text(one) for one in (out, err)]
        assert not check or code == 0, f"{' '.join(argv)}: exit {code}\n{texts[1]}"
        return subprocess.CompletedProcess(argv, code, *texts)

    def _answer(self, line):
        with self._lock:
            if self._server is None:
                self._server = subprocess.Popen(
                    [sys.executable, __file__],
                    env=os.environ | {"JAX_PLATFORMS": "cpu"},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
                atexit.register(self._server.stdin.close)
            self._server.stdin.write(line + "\n")
            self._server.stdin.flush()
            return int(self._server.stdout.readline())


def _text(stream):
    stream.seek(0)
    return stream.read().decode()


run = Scripts().run


def serve():
    """Answers with exit codes; returns in the copies, with what they are to run."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            return json.loads(line)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


def become(task):
    """Runs the script as `python SCRIPT ...` or `python -m MODULE ...` would."""
    for stream, path in zip((1, 2), task["streams"], strict=True):
        os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND), stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(task["env"])
    os.chdir(task["folder"])
    first, *rest = task["argv"]
    if first == "-m":
        sys.argv = rest
        sys.path[0] = task["folder"]
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *rest]
        sys.path[0] = str(Path(first).resolve().parent)
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    import meshwright.lowering  # noqa: F401
    import optax  # noqa: F401

    task = serve()
    if task is not None:
        become(task)
