"""Promises about rows of two sources: that rows arrive in the same run as the rows they refer to, or after them."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.catalog.statistics import Arrival
from slackwater.compile.promise_checks import MOST_BROADCAST, CheckVolume, Facts, Rows
from slackwater.compile.views import TIMES, quoted_name
from slackwater.errors import counted


@dataclass(frozen=True)
class ArrivesWith:
    """Every row refers to a row of another source that arrives in the same run. `key` is the key of that source."""

    columns: tuple[str, ...]
    source: str
    key: tuple[str, ...]
    beside: str = ""
    """The view of the other source's new rows."""
    partners: float | None = None
    """How many there are, if that is known."""
    meets_by: tuple[str, ...] | None = None

    word = "with"
    join = "ANTI"

    @property
    def name(self) -> str:
        return f"{self.word} {self.source} ({', '.join(self.columns)})"

    @property
    def reads(self) -> tuple[str, ...]:
        return self.columns

    @property
    def shown(self) -> tuple[str, ...]:
        return self.columns

    def offenders(self, rows: Rows) -> str:
        own = ", ".join(f"r.{quoted_name(column)}" for column in self.columns)
        keys = ", ".join(f"{quoted_name(column)} AS k{place}" for place, column in enumerate(self.key))
        equal = " AND ".join(f"n.k{place} = r.{quoted_name(column)}" for place, column in enumerate(self.columns))
        return (
            f"SELECT {own}, count(*) AS {TIMES} FROM {rows.new} AS r\n"
            f"LEFT {self.join} JOIN (SELECT {keys} FROM {self.beside}) AS n ON {equal} GROUP BY {own}"
        )

    def fault(self, times: int) -> str:
        return f"{counted(times, 'row')} without a row of `{self.source}` in the same run"

    def proven_by(self, facts: Facts) -> bool:
        return False

    def volume(self, arrival: Arrival, earlier: float) -> CheckVolume:
        return self._joined(arrival.changes, arrival.changes if self.partners is None else self.partners)

    def _joined(self, rows: float, keys: float) -> CheckVolume:
        """Rows that are joined with keys; if there are many, both are shuffled."""
        if keys <= MOST_BROADCAST:
            return CheckVolume(read=rows + keys, broadcast=keys, probed=rows)
        return CheckVolume(read=rows + keys, shuffled=rows + keys, probed=rows)


@dataclass(frozen=True)
class ArrivesAfter(ArrivesWith):
    """No row refers to a row of another source that arrives later. Rows that refer to nothing are none of these.

    What is checked is what plans rely on: rows of earlier runs refer to no row that a run brings.
    """

    word = "after"
    join = "SEMI"

    def fault(self, times: int) -> str:
        return f"{counted(times, 'row')} before the row of `{self.source}`"

    def volume(self, arrival: Arrival, earlier: float) -> CheckVolume:
        """Of an arrival of the other source, or as many rows as that is thought to have."""
        if self.partners is not None:
            return self._joined(arrival.changes, self.partners)
        return self._joined(earlier, arrival.changes)
