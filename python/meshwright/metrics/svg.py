"""Plots curves over steps as SVG, one panel below the other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH, _PANEL = 720, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 20, 30, 26
_FOOT = 16


@dataclass(frozen=True)
class Curve:
    """NaN and infinity are gaps."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    from_zero: bool = False

    @property
    def has_values(self) -> bool:
        return any(map(math.isfinite, self.y))


def svg(curves: Sequence[Curve]) -> str:
    """An SVG document; all curves have values."""
    height = _PANEL * len(curves) + _FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for i, curve in enumerate(curves):
        parts.append(f'<g transform="translate(0 {_PANEL * i})">')
        parts += _panel(curve)
        parts.append("</g>")
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, height - 6, "middle", "step"))
    return "\n".join([*parts, "</svg>", ""])


def _panel(curve: Curve) -> list[str]:
    bottom, right = _PANEL - _BOTTOM, _WIDTH - _RIGHT
    x = _Scale(curve.x, _LEFT, right)
    y = _Scale([*curve.y, 0.0] if curve.from_zero else curve.y, bottom, _TOP)
    parts = [
        f'<text x="{_LEFT}" y="{_TOP - 10}" font-weight="bold">{curve.name}</text>'
    ]
    for tick in y.ticks(5):
        at = y(tick)
        parts.append(f'<path d="M{_LEFT} {at:.1f}H{right}" stroke="#ddd" fill="none"/>')
        parts.append(_text(_LEFT - 8, at + 4, "end", number_text(tick)))
    for tick in x.ticks(8):
        if tick == int(tick):
            parts.append(_text(x(tick), bottom + 18, "middle", number_text(tick)))
    parts.append(
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" stroke="#444" fill="none"/>'
    )
    for line in _lines(curve, x, y):
        parts.append(
            f'<path d="{line}" stroke="#1f6fb4" stroke-width="1.5" fill="none" '
            'stroke-linejoin="round" stroke-linecap="round"/>'
        )
    return parts


def _lines(curve: Curve, x: "_Scale", y: "_Scale") -> list[str]:
    """One path for each run of values without gaps."""
    lines: list[list[str]] = [[]]
    for step, value in zip(curve.x, curve.y, strict=True):
        if math.isfinite(value):
            lines[-1].append(f"{x(step):.1f} {y(value):.1f}")
        elif lines[-1]:
            lines.append([])
    # An isolated point is drawn as a line to itself.
    return [f"M{'L'.join(points)}L{points[-1]}" for points in lines if points]


class _Scale:
    """Maps values to positions."""

    def __init__(self, values: Sequence[float], low: float, high: float):
        found = [value for value in values if math.isfinite(value)]
        self._min, self._max = min(found), max(found)
        if self._min == self._max:
            margin = abs(self._min) / 2 or 1.0
            self._min, self._max = self._min - margin, self._max + margin
        self._low, self._high = low, high

    def __call__(self, value: float) -> float:
        part = (value - self._min) / (self._max - self._min)
        return self._low + part * (self._high - self._low)

    def ticks(self, count: int) -> list[float]:
        """Round numbers, about `count` of them."""
        rough = (self._max - self._min) / count
        power = 10 ** math.floor(math.log10(rough))
        step = power * next(m for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
        first, last = math.ceil(self._min / step), math.floor(self._max / step)
        return [i * step for i in range(first, last + 1)]


def number_text(value: float) -> str:
    """As it stands beside an axis."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _text(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
