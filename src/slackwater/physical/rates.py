"""Rates and prices of a Spark-like machine: the CPU time of a row or a byte, and the cost of a unit of each resource.

The unit is the microsecond. The rates were fitted to measurements of Spark 4.3 (docs/cost.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.physical.operators import Resources


@dataclass(frozen=True, slots=True)
class Prices:
    """Cost in microseconds of: a CPU microsecond, a byte of files, of shuffles, of memory, a fixed microsecond."""

    cpu: float = 1.0
    io: float = 0.0005
    network: float = 0.005
    memory: float = 0.0002
    fixed: float = 1.0

    def work(self, used: Resources) -> float:
        """The cost of what grows with rows."""
        return self.cpu * used.cpu + self.io * used.io + self.network * used.network + self.memory * used.memory

    def waiting(self, used: Resources) -> float:
        """The fixed cost."""
        return self.fixed * used.fixed


@dataclass(frozen=True, slots=True)
class Rates:
    """Microseconds of CPU per row, or per byte, of each kind of work."""

    read: float = 0.02
    read_byte: float = 0.0006
    parse: float = 0.6
    """Added for each record of a text file."""
    write: float = 0.1
    write_byte: float = 0.006
    part: float = 0.4
    """Added for each written row of a state partitioned by key."""
    test: float = 0.015
    search: float = 0.5
    find: float = 0.1
    compute: float = 0.008
    product: float = 0.08
    """A multiplication or division of two decimals."""
    probe: float = 0.015
    emit: float = 0.04
    broadcast: float = 1.0
    shuffle: float = 0.2
    build: float = 0.2
    pair: float = 0.005
    group: float = 0.02
    group_key_byte: float = 0.004
    group_call: float = 0.015
    group_wide: float = 0.04
    """Added for each decimal of more than 18 digits, as sums of decimals often are."""
    merge: float = 0.45
    sort: float = 0.8
    window_call: float = 0.06
    top: float = 0.08
    union: float = 0.005
    compressed: float = 0.4
    """Bytes of files per byte of rows."""
    partials: float = 4.0
    """How many tasks may each have a partial row of a group."""
