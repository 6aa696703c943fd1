"""The process that runs the devices of this machine for a script.

It is a coordinator without workers (`meshwright serve --own-devices`), started when
it is needed and gone when the script is: what crashes a compiler does not crash the
script or the notebook, and Ctrl-C reaches the script alone.
"""

import atexit
import collections
import contextlib
import os
import secrets
import subprocess
import threading
import time
from collections.abc import Sequence

from meshwright.client.channel import Service
from meshwright.client.shared_memory import SharedMemory
from meshwright.client.step_socket import StepSocket
from meshwright.errors import MeshwrightError
from meshwright.executable import find_program

_START_SECONDS = 60
_END_SECONDS = 5


class Engine:
    """Starts at once; `service` waits until it answers."""

    def __init__(self, ffi: Sequence[str] = (), cache: str | None = None):
        """`cache`: a folder of compiled programs, "none", or None for the default."""
        self._pid = os.getpid()
        self._last = collections.deque(maxlen=8)  # Lines of its stderr.
        self._address: str | None = None
        self._listens = threading.Event()
        self._service: Service | None = None
        self._shares_memory = False
        token = secrets.token_hex(16)
        words = ["serve", "--own-devices", "--until-eof", "--listen", "127.0.0.1:0"]
        for library in ffi:
            words += ["--ffi", library]
        if cache is not None:
            words += ["--cache", cache]
        self._memory = SharedMemory.create()
        inherited = []
        if self._memory is not None:
            inherited.append(self._memory.fd)
            words += ["--shared-memory", str(self._memory.fd)]
        with contextlib.ExitStack() as stack:
            self._steps, theirs = StepSocket.pair(self._closed) or (None, None)
            if theirs is not None:
                stack.enter_context(theirs)  # The engine's alone, once it runs.
                inherited.append(theirs.fileno())
                words += ["--step-socket", str(theirs.fileno())]
            self._process = subprocess.Popen(
                [find_program(), *words],
                pass_fds=inherited,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "MESHWRIGHT_TOKEN": token},
                start_new_session=True,
            )
        self._token = token
        threading.Thread(target=self._read_output, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()
        atexit.register(self.close)

    @property
    def service(self) -> Service:
        if self._service is None:
            end = time.monotonic() + _START_SECONDS
            while not self._listens.wait(0.1):
                if self._process.poll() is not None or time.monotonic() > end:
                    raise MeshwrightError(f"the engine did not start: {self.why()}")
            if self._address is None:
                raise MeshwrightError(f"the engine did not start: {self.why()}")
            self._service = Service(
                self._address,
                self._token,
                why_gone=self._gone,
                memory=self._memory if self._shares_memory else None,
                steps=self._steps,
            )
        return self._service

    def _gone(self) -> str:
        return (
            f"the engine ended ({self.why()}); what was in it is lost: make the step "
            "anew and restore a checkpoint"
        )

    def _closed(self) -> str:
        """Why there is no answer through the step socket."""
        gone = self._gone()
        if self._process.poll() is not None:
            return gone
        said = f": {self._last[-1]}" if self._last else ""
        return f"the engine closed its step socket{said}"

    def why(self) -> str:
        """What it said last."""
        try:
            code = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return "it does not answer"
        last = self._last[-1] if self._last else "it said nothing"
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"{how}; {last}"

    @property
    def is_usable(self) -> bool:
        """Whether it is this process's, and runs."""
        return self._pid == os.getpid() and self._process.poll() is None

    def close(self) -> None:
        atexit.unregister(self.close)
        if self._memory is not None:
            self._memory.close()
        if self._steps is not None:
            self._steps.close()
        if self._service is not None:
            self._service.close()
            self._service = None
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _read_output(self) -> None:
        with self._process.stdout as lines:
            for line in lines:
                words = line.decode(errors="replace").split()
                if words[:2] == ["serving", "on"]:
                    self._address = words[2].rstrip(";")
                    self._shares_memory = b"; shared memory" in line
                    self._listens.set()
        self._listens.set()

    def _read_errors(self) -> None:
        with self._process.stderr as lines:
            for line in lines:
                text = line.decode(errors="replace").strip()
                if text:
                    self._last.append(text)
