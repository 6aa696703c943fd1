"""The interface of sinks, which receive records of steps."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from meshwright.errors import MeshwrightError

Record = Mapping[str, float | int | None]


class Sink:
    """A base class; all calls are from one thread. After `close`, it may be written to
    again."""

    def write(self, record: Record) -> None:
        raise NotImplementedError

    def flush(self) -> None:
        """Called when no further record is waiting."""

    def close(self) -> None:
        """Called when training ends."""


class FileSink(Sink):
    """A sink that writes to a file; None: it is not open."""

    _file = None

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


class FunctionSink(Sink):
    def __init__(self, function: Callable[[Record], object]):
        self._function = function

    def __repr__(self) -> str:
        return getattr(self._function, "__qualname__", repr(self._function))

    def write(self, record: Record) -> None:
        self._function(record)


def as_sinks(given: Iterable) -> list[Sink]:
    if isinstance(given, Sink) or callable(given):
        given = [given]
    return [one if isinstance(one, Sink) else _wrapped(one) for one in given]


def _wrapped(one) -> Sink:
    if not callable(one) or isinstance(one, type):
        raise MeshwrightError(
            f"sinks has {one!r}, which is neither a meshwright.metrics.Sink nor a "
            "function of a record"
        )
    return FunctionSink(one)


def open_for_appending(path: Path):
    """Opens a text file; creates its folder if it is missing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a")
    except OSError as error:
        raise MeshwrightError(f"{error.filename}: {error.strerror}") from error
