"""Random columns and changes of rows, as the generators of the gallery use them.

Everything is vectorized and depends on the random generator alone, so a day is the same wherever it is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slackwater.compile.views import CHANGE_TYPE

Tables: TypeAlias = Mapping[str, pa.Table]
Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Texts: TypeAlias = npt.NDArray[np.str_]
Random: TypeAlias = np.random.Generator

HOUR = 3600
DAY = 24 * HOUR
NEVER = -1
"""The run of a change that does not happen."""
FIRST_DAY = date(2026, 11, 1)


def random_of(job: str, day: int) -> Random:
    """The random numbers of a job's day; day 0 is for tables that do not change."""
    return np.random.default_rng([crc32(job.encode()), day])


def scaled(rows: float, scale: float, least: int = 1) -> int:
    return max(least, round(rows * scale))


def zipf(random: Random, rows: int, values: int, exponent: float = 1.0) -> Ints:
    """Numbers below `values`, a few of them far more frequent than the others; which ones looks arbitrary."""
    reached = np.cumsum(np.arange(1, values + 1, dtype=np.float64) ** -exponent)
    ranks = np.searchsorted(reached, random.random(rows) * reached[-1])
    places = np.random.default_rng(values).permutation(values)
    chosen: Ints = places[np.minimum(ranks, values - 1)].astype(np.int64)
    return chosen


def words(random: Random, rows: int, shares: Mapping[str, float]) -> Texts:
    """Words by their shares."""
    chances = np.array(list(shares.values()), dtype=np.float64)
    return np.array(list(shares))[random.choice(len(shares), rows, p=chances / chances.sum())]


def daytime(random: Random, rows: int, busy: Sequence[float]) -> Ints:
    """Seconds since midnight; `busy` are the relative amounts of equally long parts of the day."""
    part = DAY // len(busy)
    chances = np.array(busy, dtype=np.float64) / sum(busy)
    return random.choice(len(busy), rows, p=chances) * part + random.integers(0, part, rows)


def arrival_of(seconds: Ints | Floats, hours: Sequence[float]) -> Ints:
    """The run, from 0 on, that finds what lands so many seconds after midnight; the last one finds all the rest."""
    edges = np.array(hours[:-1], dtype=np.float64) * HOUR
    return np.searchsorted(edges, np.asarray(seconds), side="right").astype(np.int64)


def positions(lengths: Ints) -> Ints:
    """0, 1, 2, … within each of some sequences that follow one another."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)


def running(values: Ints, lengths: Ints) -> Ints:
    """Running sums within each of some sequences that follow one another."""
    sums = np.cumsum(values)
    starts = np.cumsum(lengths) - lengths
    before = np.where(starts > 0, sums[np.maximum(starts - 1, 0)], 0)
    totals: Ints = sums - np.repeat(before, lengths)
    return totals


# --- Arrow -----------------------------------------------------------------------------------------------------------


def decimals(units: Ints, digits: int = 12, places: int = 2) -> pa.Array:
    """Whole units of the last place (cents) as decimals."""
    halves = np.empty((len(units), 2), dtype=np.int64)
    halves[:, 0] = units
    halves[:, 1] = np.where(units < 0, -1, 0)
    return pa.Array.from_buffers(pa.decimal128(digits, places), len(units), [None, pa.py_buffer(halves)])


def midnight(day: int) -> np.datetime64:
    return np.datetime64(FIRST_DAY, "us") + np.timedelta64(day, "D")


def moments(day: int, seconds: Ints | Floats) -> pa.Array:
    """Instants, so many seconds after the midnight with which a day begins."""
    micros = (np.asarray(seconds, dtype=np.float64) * 1e6).astype("timedelta64[us]")
    return pa.array(midnight(day) + micros, pa.timestamp("us", tz="UTC"))


def dates(day: int, days: Ints) -> pa.Array:
    """Dates, so many days after a day."""
    return pa.array((midnight(day) + days.astype("timedelta64[D]")).astype("datetime64[D]"), pa.date32())


def ints(values: Ints) -> pa.Array:
    return pa.array(values, pa.int32())


def unless(missing: Mask, values: Ints | Texts) -> pa.Array:
    """Values, and NULL where they are missing."""
    return pa.array(values, mask=missing)


def named(prefix: str, numbers: Ints, width: int = 0) -> pa.Array:
    """`prefix0007` and the like."""
    return pa.array(np.char.add(prefix, np.char.zfill(numbers.astype(np.str_), width)))


# --- arrivals --------------------------------------------------------------------------------------------------------


def parted(rows: pa.Table, arrives: Ints, runs: int) -> list[pa.Table]:
    """Rows by the run that finds them."""
    return [rows.take(np.flatnonzero(arrives == run)) for run in range(runs)]


def feed(
    before: pa.Table, after: pa.Table, *, arrives: Ints, updated: Ints, deleted: Ints, runs: int
) -> list[pa.Table]:
    """The change feed of rows that arrive, may be updated once, and may be deleted, each at a run or `NEVER`.

    `before` and `after` have the same rows in the same order. No row changes before it arrives or after it is deleted.
    """
    is_updated = updated != NEVER
    assert bool(np.all(updated[is_updated] >= arrives[is_updated]))
    gone = deleted != NEVER
    assert bool(np.all(deleted[gone] >= np.maximum(arrives, updated)[gone]))
    tables: list[pa.Table] = []
    for run in range(runs):
        changed, removed = np.flatnonzero(updated == run), deleted == run
        parts = (
            (before.take(np.flatnonzero(arrives == run)), "insert"),
            (before.take(changed), "update_preimage"),
            (after.take(changed), "update_postimage"),
            (before.take(np.flatnonzero(removed & ~is_updated)), "delete"),
            (after.take(np.flatnonzero(removed & is_updated)), "delete"),
        )
        tables.append(pa.concat_tables([_of_kind(rows, kind) for rows, kind in parts]))
    return tables


def _of_kind(rows: pa.Table, kind: str) -> pa.Table:
    return rows.append_column(CHANGE_TYPE, pa.array(np.full(rows.num_rows, kind)))


def later(random: Random, arrives: Ints, share: float, runs: int) -> Ints:
    """For a share of the rows a run after the one of their arrival, otherwise `NEVER`; the last run has none after."""
    chosen = (random.random(len(arrives)) < share) & (arrives < runs - 1)
    after = arrives + 1 + np.floor(random.random(len(arrives)) * (runs - 1 - arrives)).astype(np.int64)
    return np.where(chosen, after, NEVER)


def by_run(tables: Mapping[str, Sequence[pa.Table]], runs: int) -> list[Tables]:
    """What each run finds, by table."""
    return [{name: parts[run] for name, parts in tables.items()} for run in range(runs)]
