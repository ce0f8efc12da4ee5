"""A bill: what a statement costs, item by item. Prices are learned by item, so estimates are itemized too.

The same shape holds factors: by how much an item costs more or less on some cluster than the built-in rates say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Item(StrEnum):
    """What work is charged as."""

    COMPUTE = "compute"
    """Filters, projections, probing and building of hash tables, groups, sorting."""
    READ = "read"
    """Files of sources and states."""
    WRITE = "write"
    """Files of states and answers."""
    SHUFFLE = "shuffle"
    """Rows repartitioned by the hash of some columns."""
    BROADCAST = "broadcast"
    """Rows broadcast to every executor."""
    FIXED = "fixed"
    """Costs that do not depend on row counts: of a statement, a source, an exchange."""


WORK = tuple(item for item in Item if item is not Item.FIXED)
"""The items that grow with rows: the work of executors."""


@dataclass(frozen=True, slots=True)
class Bill:
    """A number for each item: microseconds of a statement, or factors."""

    compute: float = 0.0
    read: float = 0.0
    write: float = 0.0
    shuffle: float = 0.0
    broadcast: float = 0.0
    fixed: float = 0.0

    @classmethod
    def of(cls, numbers: Mapping[Item, float]) -> Bill:
        return cls(*(numbers.get(item, 0.0) for item in Item))

    def __getitem__(self, item: Item) -> float:
        amount: float = getattr(self, item.value)
        return amount

    def __iter__(self) -> Iterator[float]:
        return iter((self.compute, self.read, self.write, self.shuffle, self.broadcast, self.fixed))

    def __add__(self, other: Bill) -> Bill:
        return Bill(*(one + two for one, two in zip(self, other, strict=True)))

    def times(self, factors: Bill) -> Bill:
        """Each item by its own factor."""
        return Bill(*(one * two for one, two in zip(self, factors, strict=True)))

    @property
    def total(self) -> float:
        return sum(self)

    @property
    def work(self) -> float:
        """The work of executors, without fixed costs."""
        return self.total - self.fixed


NOTHING = Bill()

EVEN = Bill(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
"""The factors of the built-in rates."""
