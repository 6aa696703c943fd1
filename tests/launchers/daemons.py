"""Programs that run beside a test and end with it."""

import socket
import subprocess
import time

END_WITH_PARENT = ("setpriv", "--pdeathsig", "TERM")


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens on, in order."""
    holders = [socket.socket() for _ in range(count)]
    for holder in holders:
        holder.bind(("127.0.0.1", 0))
    ports = sorted(holder.getsockname()[1] for holder in holders)
    for holder in holders:
        holder.close()
    return ports


def await_true(condition, what: str, seconds: float = 30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise TimeoutError(f"{what}: not within {seconds:g} s")


class Daemons:
    """Started in order, ended in reverse."""

    def __init__(self, folder, env=None):
        self._folder = folder
        self._env = env
        self._started: list[tuple[str, subprocess.Popen]] = []

    def start(self, name: str, *argv) -> subprocess.Popen:
        with open(self._folder / f"{name}.out", "w") as log:
            process = subprocess.Popen(
                [*END_WITH_PARENT, *(str(word) for word in argv)],
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
            )
        self._started.append((name, process))
        return process

    def check(self) -> None:
        """All of them still run."""
        for name, process in self._started:
            if process.poll() is not None:
                said = (self._folder / f"{name}.out").read_text(errors="replace")
                raise RuntimeError(f"{name} ended ({process.returncode}): {said}")

    def stop(self) -> None:
        for _, process in reversed(self._started):
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._started = []
