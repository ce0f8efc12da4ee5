"""How ratios are spread over queries, as SVG: for every ratio the share of queries that stay at or below it.

A line for each series climbs by one step a query; where it crosses the ratio of one is the share of queries that are
not worse than batch. Ratios that would leave the page are gathered at its edge.        [Tempura, Figure 6(e) and (f)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from slackwater.bench.chart import STYLE

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 360, 64, 24, 64, 44
WIDEST = 1.5
RATIOS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)

_LINES = """
  .line { fill: none; stroke-width: 2; }
  .l0 { stroke: #0969da; } .l1 { stroke: #d4a72c; } .l2 { stroke: #8250df; } .l3 { stroke: #1a7f37; }
"""


@dataclass(frozen=True, slots=True)
class Distribution:
    """`series` are names with one ratio for every query."""

    title: str
    series: Sequence[tuple[str, Sequence[float]]]

    def as_svg(self) -> str:
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            f"<title>{escape(self.title)}</title>",
            f"<style>{STYLE}{_LINES}</style>",
            f'<text class="title" x="{LEFT}" y="22">{escape(self.title)}</text>',
            *self._axes(),
        ]
        at = LEFT
        for number, (name, ratios) in enumerate(self.series):
            lines += [
                f'<line class="line l{number}" x1="{at}" y1="41" x2="{at + 18}" y2="41"/>',
                f'<text x="{at + 24}" y="45">{escape(name)}</text>',
                f'<polyline class="line l{number}" points="{" ".join(_steps(ratios))}"/>',
            ]
            at += 48 + 7 * len(name)
        return "\n".join([*lines, "</svg>"]) + "\n"

    def _axes(self) -> Iterator[str]:
        for ratio in RATIOS:
            x, kind = _x(ratio), "one" if ratio == 1 else "grid"
            yield f'<line class="{kind}" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>'
            label = "batch" if ratio == 1 else f"{ratio:.2f}"
            yield f'<text class="axis" x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{label}</text>'
        for share in SHARES:
            y = _y(share)
            yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>'
            yield f'<text class="axis" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{100 * share:.0f} %</text>'


def _steps(ratios: Sequence[float]) -> Iterator[str]:
    """The corners of a line that climbs at every ratio."""
    below = 0.0
    yield f"{_x(0.0):.1f},{_y(below):.1f}"
    for number, ratio in enumerate(sorted(ratios), start=1):
        x = _x(ratio)
        yield f"{x:.1f},{_y(below):.1f}"
        below = number / len(ratios)
        yield f"{x:.1f},{_y(below):.1f}"
    yield f"{_x(WIDEST):.1f},{_y(below):.1f}"


def _x(ratio: float) -> float:
    return LEFT + min(ratio, WIDEST) / WIDEST * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
