"""The promise that rows arrive in the same run as the rows they refer to, and its check as SQL."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.catalog.statistics import Arrival
from slackwater.compile.promise_checks import HASH, CheckVolume, Facts, Rows
from slackwater.compile.views import TIMES, quoted_name


@dataclass(frozen=True)
class ArrivesWith:
    """Every row refers to a row of another source that arrives in the same run. `key` is the key of that source."""

    column: str
    source: str
    key: str
    beside: str = ""
    """The view of the other source's new rows."""
    meets_by: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        return f"with {self.source} ({self.column})"

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def shown(self) -> tuple[str, ...]:
        return (self.column,)

    def offenders(self, rows: Rows) -> str:
        own, other = quoted_name(self.column), quoted_name(self.key)
        keys = f"SELECT {other} AS {HASH} FROM {self.beside}"
        return (
            f"SELECT r.{own}, count(*) AS {TIMES} FROM {rows.new} AS r\n"
            f"LEFT ANTI JOIN ({keys}) AS n ON n.{HASH} = r.{own} GROUP BY r.{own}"
        )

    def fault(self, times: int) -> str:
        rows = f"{times} row{'s' if times != 1 else ''}"
        return f"{rows} without a row of `{self.source}` in the same run"

    def proven_by(self, facts: Facts) -> bool:
        return False

    def volume(self, arrival: Arrival, earlier: float) -> CheckVolume:
        return CheckVolume(read=2 * arrival.changes, broadcast=arrival.changes, probed=arrival.changes)
