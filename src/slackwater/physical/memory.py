"""What fits into a cluster's memory: the largest relation that may be broadcast, and what an exchange can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MIB: Final = 1 << 20

ROW_OVERHEAD: Final = 32.0
"""Bytes of a hash table for each row, beside the row."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The limits that follow from a cluster's memory (`spark/cluster_memory`); by default a small driver's.

    A broadcast that does not fit fails the statement, so estimates do not count there: a side is broadcast only if the
    upper bound of its rows fits (`rows/bounds`). What does not fit into the memory of a task is spilled, at a price.
    """

    broadcast_rows: float = 3_000_000.0
    broadcast_bytes: float = 96.0 * MIB
    unhinted_bytes: float = 10.0 * MIB
    """The largest side, by Spark's own guess, that it broadcasts without a hint; `autoBroadcastJoinThreshold`."""
    task_bytes: float = 256.0 * MIB
    """Rows that a task can sort, or hold in a hash table, before it spills."""
    partitions: float = 200.0
    """The partitions of an exchange."""
    copies: float = 0.0
    """How many executors a broadcast is sent to; none if the driver is the executor."""

    def may_broadcast(self, rows: float, width: float) -> bool:
        """Whether so many rows of so many bytes can be broadcast; a bound is asked for, not an estimate."""
        return rows <= self.broadcast_rows and rows * width <= self.broadcast_bytes

    def spilled(self, rows: float, width: float) -> float:
        """Bytes of an exchange that its tasks cannot hold, when they sort its rows or build hash tables of them."""
        return max(0.0, rows * (width + ROW_OVERHEAD) - self.partitions * self.task_bytes)


USUAL: Final = Memory()
"""The limits where no cluster is known."""
