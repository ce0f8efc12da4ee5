"""The trade-off curve as SVG: work that is left for the last run against work in all, both in parts of batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slackwater.bench.chart import STYLE
from slackwater.pace.plan_curve import Tradeoff

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 420, 64, 24, 56, 56
LINES = 5


@dataclass(frozen=True, slots=True)
class TradeoffChart:
    """Points of total and final work, in parts of batch."""

    points: Sequence[tuple[float, float]]

    @classmethod
    def of(cls, curve: Tradeoff) -> TradeoffChart:
        return cls([(point.total / curve.batch, point.final / curve.batch) for point, _ in curve.points])

    def as_svg(self) -> str:
        widest = max(1.0, *(total for total, _ in self.points)) * 1.1
        highest = max(1.0, *(final for _, final in self.points)) * 1.1

        def x(total: float) -> float:
            return LEFT + (WIDTH - LEFT - RIGHT) * total / widest

        def y(final: float) -> float:
            return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * final / highest

        below = f'x="{WIDTH - RIGHT}" y="{HEIGHT - 12}" text-anchor="end"'
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            f"<style>{STYLE} .curve {{ fill: none; stroke: #0969da; stroke-width: 2; }}</style>",
            f'<text class="title" x="{LEFT}" y="24">What a shorter last run costs</text>',
            f'<text class="axis" x="{LEFT}" y="42">left for the last run, in parts of batch</text>',
            f'<text class="axis" {below}>all runs, in parts of batch</text>',
        ]
        for number in range(LINES + 1):
            total, final = widest * number / LINES, highest * number / LINES
            parts += [
                f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(final):.1f}" y2="{y(final):.1f}"/>',
                f'<text class="number" x="{LEFT - 8}" y="{y(final) + 4:.1f}" text-anchor="end">{final:.2f}</text>',
                f'<text class="number" x="{x(total):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
                f"{total:.2f}</text>",
            ]
        path = " ".join(f"{x(total):.1f},{y(final):.1f}" for total, final in self.points)
        parts.append(f'<polyline class="curve" points="{path}"/>')
        for total, final in self.points:
            tooltip = f"<title>{final:.2f} left, {total:.2f} in all</title>"
            parts.append(f'<circle class="s0" cx="{x(total):.1f}" cy="{y(final):.1f}" r="4">{tooltip}</circle>')
        return "\n".join([*parts, "</svg>", ""])
