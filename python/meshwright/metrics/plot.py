"""Plots loss and throughput of a run when training ends."""

import importlib.util
import math
from pathlib import Path

from meshwright.errors import MeshwrightError
from meshwright.metrics.sink import Record, Sink, open_for_appending
from meshwright.metrics.svg import Curve, number_text, svg

_MAX_POINTS = 2000


class Plot(Sink):
    """`Plot("loss.svg")`, or `.png` if matplotlib is installed."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._steps: list[float] = []
        self._losses: list[float] = []
        self._rates: list[float] = []
        self._group: list[tuple[float, float, float]] = []
        self._group_size = 1
        self._rate_name = "steps/s"
        if self.path.suffix not in (".svg", ".png"):
            raise MeshwrightError(f"{path}: a plot is an .svg or a .png")
        if self.path.suffix == ".png" and not importlib.util.find_spec("matplotlib"):
            raise MeshwrightError(
                f"{path}: this needs matplotlib (pip install matplotlib); an .svg "
                "needs nothing"
            )
        existed = self.path.exists()
        open_for_appending(self.path).close()  # Checks that it can be written.
        if not existed:
            self.path.unlink()

    def __repr__(self) -> str:
        return f"Plot({str(self.path)!r})"

    def write(self, record: Record) -> None:
        rate = 1 / max(record["seconds"], 1e-9)
        for what in ("tokens", "samples"):
            if record.get(f"{what}_per_second") is not None:
                rate, self._rate_name = record[f"{what}_per_second"], f"{what}/s"
        loss = record.get("loss")
        self._group.append((record["step"], math.nan if loss is None else loss, rate))
        if len(self._group) == self._group_size:
            self._add_group()

    def close(self) -> None:
        if self._group:
            self._add_group()
        if not self._steps:
            return
        curves = [
            Curve("loss", self._steps, self._losses),
            Curve(self._rate_name, self._steps, self._rates, from_zero=True),
        ]
        curves = [curve for curve in curves if curve.has_values]
        if self.path.suffix == ".svg":
            self.path.write_text(svg(curves))
        else:
            _write_png(self.path, curves)

    def _add_group(self) -> None:
        group, self._group = self._group, []
        columns = zip(*group, strict=True)
        for values, column in zip(self._columns(), columns, strict=True):
            values.append(sum(column) / len(column))
        if len(self._steps) >= _MAX_POINTS:
            self._group_size *= 2
            for values in self._columns():
                values[:] = map(_mean, values[::2], values[1::2])

    def _columns(self) -> tuple[list[float], list[float], list[float]]:
        return self._steps, self._losses, self._rates


def _mean(a: float, b: float) -> float:
    return (a + b) / 2


def _alone(values: list[float]) -> list[int]:
    """Those between gaps."""
    known = [False, *map(math.isfinite, values), False]
    return [
        i for i in range(len(values)) if known[i + 1] and not (known[i] or known[i + 2])
    ]


def _write_png(path: Path, curves: list[Curve]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    figure = Figure(figsize=(7.2, 2.6 * len(curves)), layout="constrained")
    FigureCanvasAgg(figure)
    for i, curve in enumerate(curves):
        axes = figure.add_subplot(len(curves), 1, i + 1)
        (line,) = axes.plot(curve.x, curve.y)
        # A point of its own is no line.
        alone = _alone(curve.y)
        axes.plot(
            [curve.x[i] for i in alone],
            [curve.y[i] for i in alone],
            ".",
            color=line.get_color(),
        )
        axes.set_ylabel(curve.name)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda x, _: number_text(x)))
        axes.grid(alpha=0.3)
        if curve.from_zero:
            axes.set_ylim(bottom=0)
    axes.set_xlabel("step")
    figure.align_ylabels()
    figure.savefig(path, dpi=120)
