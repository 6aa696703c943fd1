"""A line of JSON per step, as `meshwright run --metrics` writes."""

import json
import math
from pathlib import Path

from meshwright.metrics.sink import Record, Sink, open_for_appending


class JsonLines(Sink):
    """Appends to what is there. NaN and infinity, which JSON has not, are null."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._file = open_for_appending(self.path)

    def __repr__(self) -> str:
        return f"JsonLines({str(self.path)!r})"

    def write(self, record: Record) -> None:
        if self._file is None:
            self._file = open_for_appending(self.path)
        values = {name: _or_null(value) for name, value in record.items()}
        self._file.write(json.dumps(values) + "\n")

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


def _or_null(value):
    is_number = not isinstance(value, float) or math.isfinite(value)
    return value if is_number else None
