"""Checkpoints that are made by themselves, while steps run."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from meshwright.errors import MeshwrightError, warn


@dataclass
class Saving:
    """When a checkpoint is due: after so many steps, or minutes, or at Ctrl-C."""

    directory: str
    steps: int | None = None
    minutes: float | None = None
    keep: int = 0
    on_interrupt: bool = True
    _last: float = field(default_factory=time.monotonic)

    def __post_init__(self):
        for name, value in (("steps", self.steps), ("minutes", self.minutes)):
            if value is not None and value <= 0:
                raise MeshwrightError(f"{name}={value} is not above 0")
        if self.keep < 0:
            raise MeshwrightError(f"keep={self.keep} is less than 0")
        if self.steps is None and self.minutes is None and not self.on_interrupt:
            raise MeshwrightError("say when to save: steps= or minutes=")
        self.directory = str(Path(self.directory).absolute())

    def most_steps(self, done: int, wanted: int) -> int:
        """How many of the steps that are wanted come before the next is due."""
        if self.steps is None:
            return wanted
        return min(wanted, self.steps - done % self.steps)

    def is_due(self, done: int) -> bool:
        if self.steps is not None and done % self.steps == 0:
            return True
        return (
            self.minutes is not None
            and time.monotonic() - self._last >= 60 * self.minutes
        )

    def save(
        self,
        save: Callable[..., None],
        await_saved: Callable[[], None],
        in_background: bool,
    ) -> None:
        """Training goes on if that fails, or if the one before has failed."""
        self._last = time.monotonic()
        _try(await_saved)
        _try(
            lambda: save(self.directory, keep=self.keep, wait=not in_background),
        )


def _try(call: Callable[[], None]) -> None:
    try:
        call()
    except MeshwrightError as error:
        warn(f"the state was not saved: {error}")
