"""The two sides of a step-time comparison, each of which steps on request.

ours = Ours(server, module, inputs=[state, batch], sharding=file)
seconds, loss = ours.step()
"""

import json
import subprocess
import sys
import time
from pathlib import Path


class Ours:
    """The step server, which compiles the module and steps on request."""

    def __init__(
        self,
        server: Path,
        module: Path,
        *,
        inputs: list[Path],
        platform: str = "cpu",
        sharding: Path | None = None,
        options: list[str] = (),
    ):
        command = [server, module, "--platform", platform]
        command += [f"--inputs={path}" for path in inputs]
        command += [f"--option={option}" for option in options]
        command += ["--sharding", sharding] if sharding else []
        self._process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self._process.stdout.readline() != "ready\n":
            sys.exit("step_server did not start")

    def step(self) -> tuple[float, float]:
        self._process.stdin.write("1\n")
        self._process.stdin.flush()
        ((seconds, loss),) = json.loads(self._process.stdout.readline())
        return seconds, loss

    def close(self):
        self._process.stdin.close()
        self._process.wait()


class Jax:
    """A jitted step that takes and donates its state."""

    def __init__(self, jitted, state, batch):
        import jax

        self._block = jax.block_until_ready
        self._fn, self._state, self._batch = jitted, state, batch

    def step(self) -> tuple[float, float]:
        start = time.perf_counter()
        self._state, loss = self._block(self._fn(self._state, self._batch))
        return time.perf_counter() - start, float(loss)
