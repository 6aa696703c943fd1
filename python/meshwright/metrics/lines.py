"""A line of text for every n-th step:

step 40: loss 2.3142, 36,545 tokens/s, accuracy 0.51, MFU 18.2 %, 28.1 ms a step
"""

import contextlib
import sys

from meshwright.errors import MeshwrightError
from meshwright.metrics.sink import Record, Sink


class Lines(Sink):
    """Prints to stdout or another text stream. Loss and scalars are those of the last
    step, the other figures are means since the previous line."""

    def __init__(self, every: int = 10, file=None):
        if not isinstance(every, int) or every < 1:
            raise MeshwrightError(f"log_every={every!r}: a number of steps is needed")
        self._every, self._file = every, file
        self._since: list[Record] = []

    def __repr__(self) -> str:
        return f"Lines(every={self._every})"

    def write(self, record: Record) -> None:
        self._since.append(record)
        if record["step"] % self._every == 0:
            self._print()

    def close(self) -> None:
        if self._since:
            self._print()

    def _print(self) -> None:
        since, self._since = self._since, []
        line = f"step {since[-1]['step']}: {', '.join(figures(since))}"
        stream = self._file or sys.stdout
        with above_bars(stream):
            # In one call, since other threads print as well.
            stream.write(f"{line}\n")
            stream.flush()


def above_bars(stream):
    """While something is written, moves progress bars (tqdm) out of the way."""
    tqdm = getattr(sys.modules.get("tqdm"), "tqdm", None)
    if tqdm is None or stream not in (sys.stdout, sys.stderr):
        return contextlib.nullcontext()
    return tqdm.external_write_mode(file=stream)


# Printed separately, or not at all.
_OTHERS = {
    *("step", "time", "loss", "seconds", "interval_seconds", "mfu", "tflops"),
    *("tokens_per_second", "samples_per_second", "bubble", "memory_bytes"),
    *("communication_seconds", "communication_bytes"),
}


def figures(records: list[Record]) -> list[str]:
    """The metrics of the steps between two lines, as text."""
    last = records[-1]
    texts = [
        f"{name} {value:.5g}"
        for name, value in last.items()
        if name not in _OTHERS and value is not None
    ]
    mfu = _mean(records, "mfu")
    if mfu is not None:
        texts.append(f"MFU {100 * mfu:.3g} %")
    seconds = [r["seconds"] for r in records]
    texts.append(f"{1000 * sum(seconds) / len(seconds):.3g} ms a step")
    return [*main_figures(records), *texts]


def main_figures(records: list[Record]) -> list[str]:
    """Loss and throughput."""
    loss = records[-1].get("loss")
    texts = [] if loss is None else [f"loss {loss:.5g}"]
    for what in ("tokens", "samples"):
        rate = _mean(records, f"{what}_per_second")
        if rate is not None:
            texts.append(f"{rate:,.0f} {what}/s")
    return texts


def _mean(records: list[Record], name: str) -> float | None:
    """The mean of a rate: weighted by time, over the steps that have it."""
    have = [r for r in records if r.get(name) is not None]
    seconds = sum(r["seconds"] for r in have)
    if not seconds:
        return None
    return sum(r[name] * r["seconds"] for r in have) / seconds
