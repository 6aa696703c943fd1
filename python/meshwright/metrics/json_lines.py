"""A line of JSON per step, in the format of `meshwright run --metrics`."""

import json
import math
from pathlib import Path

from meshwright.metrics.sink import FileSink, Record, open_for_appending


class JsonLines(FileSink):
    """Appends to an existing file. NaN and infinity, which JSON does not have, become
    null."""

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


def _or_null(value):
    is_number = not isinstance(value, float) or math.isfinite(value)
    return value if is_number else None
