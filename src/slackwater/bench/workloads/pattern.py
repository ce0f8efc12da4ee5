"""How a table's rows come in over a schedule: sizes, retractions, who waits for whom.

A pattern is plain data; `arrivals.split` applies it to a data set. Presets carry the names of Tempura's evaluation
(section 8.1 of the paper): delta-big, delta-small, delta-R and delta-RS.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from slackwater.bench.workloads.workload_schema import Role, Schema
from slackwater.errors import UserError, did_you_mean

# The paper does not say how many rows delta-R and delta-RS retract; this much of each is our choice.
RETRACTED: Final = 0.05


@dataclass(frozen=True, slots=True)
class ArrivalPattern:
    """How rows arrive over as many runs as there are `shares`.

    - `shares`: the part of each changing table that first arrives at each run. They are scaled to a sum of one.
    - `deletes`, `updates`: at each run after the first, this share of the rows then present is deleted, and this
      share of them replaced by a new version with another measure.
    - `changing`: the tables that change; by default those that are no dimension. The others stand still: all their
      rows are there before the first run.
    - `retracting`: the changing tables that see deletes and updates; by default all of them.
    - `correlated`: references between changing tables hold at every run. A row with an owner (a line's order, a
      return's sale) arrives with it, and goes with it; rows of one business unit (a ticket) come and go together; a
      row whose loss would leave a row of a table that does not retract without its referent is not deleted. Without
      it every row draws its own lot.
    - `lag`: the share of owned rows that come at a later run than their owner (only when correlated).
    - `skew`: 0 draws late and retracted rows evenly; s > 0 concentrates them on few values of each table's skew
      column, as Zipf's law with exponent s does.
    - `bursty`: 0 keeps the shares; b > 0 multiplies each, table by table, by a random burst. At 1, equal shares
      become a uniformly random division.
    - `seed`: another seed, another division; the same seed, the same, on every machine.
    """

    shares: tuple[float, ...] = (0.6, 0.2, 0.2)
    deletes: float = 0.0
    updates: float = 0.0
    changing: frozenset[str] | None = None
    retracting: frozenset[str] | None = None
    correlated: bool = True
    lag: float = 0.0
    skew: float = 0.0
    bursty: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.shares:
            raise UserError("an arrival pattern needs at least one run", hint="give shares such as 60/20/20")
        if not all(math.isfinite(share) and share >= 0 for share in self.shares) or not sum(self.shares) > 0:
            raise UserError(f"arrival shares {self.shares} are not shares", hint="give shares such as 60/20/20")
        for name, value in (("deletes", self.deletes), ("updates", self.updates), ("lag", self.lag)):
            if not 0 <= value <= 1:
                raise UserError(f"`{name}` of {value} is not a share", hint="give a number from 0 to 1")
        if self.deletes + self.updates > 1:
            raise UserError(f"deletes {self.deletes} and updates {self.updates} are more than all rows")
        for name, value in (("skew", self.skew), ("bursty", self.bursty)):
            if not (math.isfinite(value) and value >= 0):
                raise UserError(f"`{name}` of {value} makes no sense", hint="give 0 for none, 1 for much")
        total = sum(self.shares)
        object.__setattr__(self, "shares", tuple(share / total for share in self.shares))

    @classmethod
    def ratio(cls, r: float) -> ArrivalPattern:
        """Two runs, the first with `r` times the rows of the second: r = |D1|/|D2|."""
        if not (math.isfinite(r) and r > 0):
            raise UserError(f"a ratio of {r} divides nothing in two", hint="r = |D1|/|D2|, such as 1, 2 or 4")
        return cls(shares=(r, 1.0))

    @property
    def runs(self) -> int:
        return len(self.shares)

    @property
    def insert_only(self) -> bool:
        return self.deletes == 0 and self.updates == 0

    def changing_tables(self, schema: Schema) -> frozenset[str]:
        """The tables of `schema` that change under this pattern."""
        return schema.changing if self.changing is None else _existing(self.changing, schema)

    def retracting_tables(self, schema: Schema) -> frozenset[str]:
        """The changing tables of `schema` that see deletes or updates under this pattern."""
        if self.insert_only:
            return frozenset()
        changing = self.changing_tables(schema)
        if self.retracting is None:
            return changing
        still = _existing(self.retracting, schema) - changing
        if still:
            raise UserError(f"`{min(still)}` is to see retractions but does not change", hint="add it to `changing`")
        return self.retracting


def preset(name: str, schema: Schema) -> ArrivalPattern:
    """A named pattern; delta-R retracts from the sales tables of `schema`, delta-RS from its returns too."""
    presets = _presets(schema)
    if name not in presets:
        raise UserError(f"no arrival pattern `{name}`", hint=did_you_mean(name, presets))
    if name == "delta-RS" and not schema.in_role(Role.RETURNS):
        raise UserError("delta-RS retracts from returns, and this workload has no such table", hint="take delta-R")
    return presets[name]


def parse_pattern(text: str, schema: Schema) -> ArrivalPattern:
    """A pattern from the command line: shares ("60/20/20"), a ratio ("r=4") or a preset ("delta-big")."""
    text = text.strip()
    try:
        if text.startswith("r="):
            return ArrivalPattern.ratio(float(text.removeprefix("r=")))
        if "/" in text:
            return ArrivalPattern(shares=tuple(float(share.strip().removesuffix("%")) for share in text.split("/")))
    except ValueError:
        hint = "give shares such as 60/20/20, a ratio such as r=4, or a name such as delta-big"
        raise UserError(f"`{text}` is not an arrival pattern", hint=hint) from None
    return preset(text, schema)


def _presets(schema: Schema) -> Mapping[str, ArrivalPattern]:
    retractions = replace(ArrivalPattern.ratio(2), deletes=RETRACTED, updates=RETRACTED)
    return MappingProxyType(
        {
            "delta-big": ArrivalPattern.ratio(1),
            "delta-small": ArrivalPattern.ratio(4),
            "delta-R": replace(retractions, retracting=schema.in_role(Role.SALES)),
            "delta-RS": replace(retractions, retracting=schema.in_role(Role.SALES, Role.RETURNS)),
        }
    )


def _existing(names: Iterable[str], schema: Schema) -> frozenset[str]:
    """The names themselves, once each is known to be a table."""
    return frozenset(schema[name].name for name in names)
