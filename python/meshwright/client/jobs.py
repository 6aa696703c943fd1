"""The jobs that the steps of a process have loaded, beside each other.

A step function has a job for each form of its calls, and several functions, one that
trains and one that evaluates, say, have theirs on the same devices. Each stays
compiled, and states move between them where the devices are.
"""

import contextlib
import threading
import weakref
from collections.abc import Mapping

from meshwright.client.apart import apart
from meshwright.client.loans import NoAnswer
from meshwright.errors import MeshwrightError


class Jobs:
    """Those of one service."""

    def __init__(self, service):
        self._service = weakref.proxy(service)
        self._loading = threading.RLock()
        self._last = _Load()
        self._last.set()
        self._loaded: list[weakref.ref] = []
        self._abandoned: list[int] = []

    def load(self, module: bytes, plan: Mapping) -> int:
        """The number of a new job, beside those that there are; alone if the devices do
        not hold it beside them, whose states go to the host."""
        with self._loading:
            self._stop_abandoned()
            others = self._others()
            if not others:
                return self._take(module, plan, None)
            try:
                return self._take(module, plan, others[-1].number)
            except NoAnswer:
                raise
            except MeshwrightError:
                for other in others:
                    with contextlib.suppress(MeshwrightError):  # Nothing is lost.
                        other.await_saved()
                    other.close()
            return self._take(module, plan, None)

    def add(self, loaded) -> None:
        """It is stopped when nobody knows it any more."""
        self._loaded.append(weakref.ref(loaded))
        end = weakref.finalize(loaded, self._abandoned.append, loaded.number)
        end.atexit = False

    def _take(self, module: bytes, plan: Mapping, beside: int | None) -> int:
        last = self._last = _Load()
        self._run(last, module, plan, beside)
        number, last.number = last.number, None
        return number

    @apart
    def _run(self, load: "_Load", *args) -> None:
        try:
            load.number = self._service.load(*args)
        finally:
            load.set()

    def _others(self) -> list:
        found = [one for one in (ref() for ref in self._loaded) if one is not None]
        found = [one for one in found if one.is_loaded]
        self._loaded = [weakref.ref(one) for one in found]
        return found

    def _stop_abandoned(self) -> None:
        self._last.wait()
        if self._last.number is not None:
            self._abandoned.append(self._last.number)
            self._last.number = None
        while self._abandoned:
            with contextlib.suppress(MeshwrightError):  # It was stopped, say.
                self._service.stop(self._abandoned.pop())


class _Load(threading.Event):
    """Set when it is over. Its number is there until the caller has it: if Ctrl-C came
    in between, the job is nobody's."""

    number: int | None = None
