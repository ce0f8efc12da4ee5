"""A bar chart as SVG, mostly of ratios: a group of bars for each name, and a line where the ratio is one.

Bars that would leave the page are cut and end in a point; the number beside a bar is always the true one, and a dash
where there is none. Colours follow the reader's choice of a light or a dark page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, TOP = 760, 96, 56, 76
BAR, GAP = 9, 8
WIDEST = 2.0
"""Ratios beyond this are cut: a bar twice as long as batch says enough."""
TICKS = 10

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .title { font-weight: 600; font-size: 15px; } .number { font-size: 10px; } .axis { fill: #6e7781; }
  .grid { stroke: #d0d7de; } .one { stroke: #24292f; stroke-dasharray: 4 3; }
  .s0 { fill: #0969da; } .s1 { fill: #9ecbff; } .s2 { fill: #d0d7de; } .s3 { fill: #a5b4a9; } .s4 { fill: #d4a72c; }
  .worse { fill: #cf222e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .axis { fill: #8d96a0; } .grid { stroke: #30363d; } .one { stroke: #e6edf3; }
    .s0 { fill: #4493f8; } .s1 { fill: #1f4b85; } .s2 { fill: #484f58; } .s3 { fill: #5d6b61; } .s4 { fill: #9a7b20; }
    .worse { fill: #f85149; }
  }
"""


@dataclass(frozen=True, slots=True)
class Chart:
    """`rows` are names with one ratio for each of the `series`; of the first, those above one stand out if that is bad.

    `one` is what the ratios are to; None where the numbers are no ratios. Bars longer than `widest` are cut.
    """

    title: str
    series: tuple[str, ...]
    rows: Sequence[tuple[str, Sequence[float | None]]]
    one: str | None = "batch"
    widest: float = WIDEST
    bad_above_one: bool = True

    @property
    def _reach(self) -> float:
        """What the axis must show."""
        largest = max((value for _, values in self.rows for value in values if value is not None), default=1.0)
        return min(self.widest, largest if self.one is None else max(1.2, largest))

    @property
    def _step(self) -> float:
        """The distance of lines across the page: 1, 2 or 5 times a power of ten, at most ten of them."""
        least = max(self._reach, 1e-9) / TICKS
        power = 10.0 ** math.floor(math.log10(least))
        return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))

    @property
    def most(self) -> float:
        """Where the axis ends."""
        return math.ceil(self._reach / self._step - 1e-9) * self._step

    @property
    def left(self) -> int:
        """Where bars begin: names stand before them."""
        return max(LEFT, 24 + 7 * max((len(name) for name, _ in self.rows), default=0))

    def as_svg(self) -> str:
        step = len(self.series) * BAR + GAP
        height = TOP + len(self.rows) * step + 24
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>{escape(self.title)}</title>",
            f"<style>{STYLE}</style>",
            f'<text class="title" x="{self.left}" y="22">{escape(self.title)}</text>',
            *self._legend(),
            *self._axis(height),
        ]
        for number, (name, values) in enumerate(self.rows):
            lines += self._row(TOP + number * step, name, values)
        return "\n".join([*lines, "</svg>"]) + "\n"

    def _x(self, value: float) -> float:
        return self.left + min(value, self.most) / self.most * (WIDTH - self.left - RIGHT)

    def _legend(self) -> Iterator[str]:
        x = self.left
        for number, name in enumerate(self.series):
            yield f'<rect class="s{number}" x="{x}" y="36" width="10" height="10"/>'
            yield f'<text x="{x + 15}" y="45">{escape(name)}</text>'
            x += 32 + 7 * len(name)

    def _axis(self, height: int) -> Iterator[str]:
        lines = {tick * self._step: "" for tick in range(round(self.most / self._step) + 1)}
        if self.one is not None:
            lines = {value: "" for value in lines if abs(value - 1) > self._step / 2} | {1.0: self.one}
        for value, name in lines.items():
            x, kind = self._x(value), "one" if name else "grid"
            yield f'<line class="{kind}" x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - 20}"/>'
            label = escape(name) or (f"{value:.1f}" if self._step >= 0.1 else f"{value:.2g}")
            yield f'<text class="axis" x="{x:.1f}" y="{TOP - 12}" text-anchor="middle">{label}</text>'

    def _row(self, y: int, name: str, values: Sequence[float | None]) -> Iterator[str]:
        middle = y + len(self.series) * BAR / 2 + 4
        yield f'<text x="{self.left - 8}" y="{middle:.1f}" text-anchor="end">{escape(name)}</text>'
        left = self.left
        for number, value in enumerate(values):
            top, end = y + number * BAR, self._x(value or 0.0)
            if value is None:
                yield f'<text class="number" x="{end + 4:.1f}" y="{top + 8}">–</text>'
                continue
            kind = "worse" if number == 0 and value > 1 and self.bad_above_one else f"s{number}"
            if value > self.most:
                shape = f"{left},{top} {end - 6:.1f},{top} {end:.1f},{top + 4} {end - 6:.1f},{top + 8} {left},{top + 8}"
                yield f'<polygon class="{kind}" points="{shape}"/>'
            else:
                yield f'<rect class="{kind}" x="{left}" y="{top}" width="{max(0.5, end - left):.1f}" height="8"/>'
            yield f'<text class="number" x="{end + 4:.1f}" y="{top + 8}">{value:.2f}</text>'
