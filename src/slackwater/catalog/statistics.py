"""What is known of the data: how many rows arrive, change and go at each run, and how columns are spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a source brings at one run. An update counts once here and is two rows of a delta."""

    inserts: float
    updates: float = 0.0
    deletes: float = 0.0

    @property
    def changes(self) -> float:
        """Rows of the delta."""
        return self.inserts + 2 * self.updates + self.deletes

    @property
    def growth(self) -> float:
        """By how many rows the table grows."""
        return self.inserts - self.deletes


@dataclass(frozen=True)
class TableStatistics:
    """A table's arrivals, one a run, and its columns' distinct values and share of nulls."""

    arrivals: tuple[Arrival, ...]
    distinct: Mapping[str, float] = field(default_factory=dict)
    null_share: Mapping[str, float] = field(default_factory=dict)
    row_bytes: float = 100.0

    def rows(self, run: int) -> float:
        """Rows present after a run."""
        return max(0.0, sum(arrival.growth for arrival in self.arrivals[:run]))

    def change(self, run: int) -> Arrival:
        return self.arrivals[run - 1] if 1 <= run <= len(self.arrivals) else Arrival(0.0)

    @property
    def retracts(self) -> bool:
        return any(a.updates or a.deletes for a in self.arrivals)


Statistics = Mapping[str, TableStatistics]
