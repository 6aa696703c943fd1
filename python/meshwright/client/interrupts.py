"""Ctrl-C while a script trains: the step that runs is finished first, so that its state
is whole, and the state is saved if that was asked for."""

import signal
import threading
from collections.abc import Callable


class Interrupts:
    """`with interrupts: ...` around a step; then `interrupts.came` tells of a Ctrl-C. A
    second one does not wait."""

    def __init__(self):
        self.came = False
        self._is_ours = self._is_in_step = False
        self._save: Callable[[], None] | None = None

    @property
    def is_waiting(self) -> bool:
        """In a step, and Ctrl-C is told of afterwards."""
        return self._is_ours and self._is_in_step

    def save_with(self, save: Callable[[], None]) -> None:
        """Called at a Ctrl-C between steps, from now on."""
        self._save = save
        self._take()

    def close(self) -> None:
        self._save = None
        self._give_back()

    def __enter__(self) -> "Interrupts":
        self.came = False
        self._take()
        self._is_in_step = True
        return self

    def __exit__(self, *_) -> None:
        self._is_in_step = False
        if self._save is None:
            self._give_back()

    def _take(self) -> None:
        # Other handlers than Python's own know what they do.
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            signal.signal(signal.SIGINT, self._handle)
            self._is_ours = True

    def _give_back(self) -> None:
        if self._is_ours and signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        self._is_ours = False

    def _handle(self, number, frame) -> None:
        if self._is_in_step and not self.came:
            self.came = True
            return
        if not self._is_in_step and self._save is not None:
            self._save()
        signal.default_int_handler(number, frame)
