"""When each row of each changing table comes, goes and is updated under an arrival pattern.

Decided on key columns alone, before any row is copied. Invariants: a row leaves after it arrived; it is updated only
between the two; and when the pattern is correlated, at every run each row that is present finds present every row
of a changing table that it refers to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.bench.workloads.dataset import Dataset
from slackwater.bench.workloads.lots import (
    Floats,
    Integers,
    Mask,
    Runs,
    Urn,
    bursts,
    divide,
    fingerprint,
    salt,
    smallest,
    uniform,
)
from slackwater.bench.workloads.pattern import ArrivalPattern
from slackwater.bench.workloads.workload_schema import Schema, WorkloadTable
from slackwater.errors import InternalError, UserError


@dataclass(frozen=True, slots=True, eq=False)
class Timetable:
    """The fate of each row of a table, by position. Runs count from 0; `runs` itself stands for never."""

    runs: int
    arrives: Runs
    leaves: Runs
    updated: tuple[Integers, ...]

    def present_after(self, run: int) -> Mask:
        return (self.arrives <= run) & (self.leaves > run)

    @property
    def retracts(self) -> bool:
        """Whether any row is deleted or updated."""
        return bool((self.leaves < self.runs).any()) or any(len(rows) for rows in self.updated)


def timetables(dataset: Dataset, pattern: ArrivalPattern) -> Mapping[str, Timetable]:
    """The timetable of every table that changes under the pattern."""
    schema = dataset.schema
    changing = pattern.changing_tables(schema)
    retracting = pattern.retracting_tables(schema)
    _check(schema, pattern, changing, retracting)
    order = _parents_first(schema, changing)
    frames = {name: _Frame.read(dataset, schema[name]) for name in order}
    links = {name: _links(frames, name) if pattern.correlated else () for name in order}
    guarded = _guarded(frames, links, retracting)
    done: dict[str, Timetable] = {}
    for name in order:
        parents = [(link, done[link.parent]) for link in links[name]]
        arrives = _arrivals(frames[name], pattern, parents)
        if name in retracting:
            own = not any(link.owner and link.parent in retracting for link in links[name])
            guard = guarded[name] if own else np.ones(len(arrives), dtype=np.bool_)
            done[name] = _retractions(frames[name], pattern, arrives, _last_runs(parents, arrives, pattern), guard)
        else:
            if (_last_runs(parents, arrives, pattern) < pattern.runs).any():
                raise InternalError(f"timetable: rows of `{name}` lose their referents but may not leave")
            never = np.full(len(arrives), pattern.runs, dtype=np.int16)
            done[name] = Timetable(pattern.runs, arrives, never, (np.zeros(0, dtype=np.int64),) * pattern.runs)
    return MappingProxyType({table.name: done[table.name] for table in schema if table.name in changing})


def integers(rows: pa.Table, column: str) -> Integers:
    """A whole-number column, nulls as zero."""
    values: Integers = pc.fill_null(rows.column(column), 0).to_numpy().astype(np.int64)
    return values


@dataclass(frozen=True, slots=True, eq=False)
class _Frame:
    """The columns of a table that decide its timetable."""

    table: WorkloadTable
    rows: pa.Table

    @classmethod
    def read(cls, dataset: Dataset, table: WorkloadTable) -> _Frame:
        names = {*table.key, *table.unit, table.skew_by, *(c for ref in table.references for c in ref.columns)}
        return cls(table, dataset.read(table.name, sorted(names)))

    def columns(self, names: Sequence[str]) -> list[Integers]:
        return [integers(self.rows, name) for name in names]

    def urn(self, pattern: ArrivalPattern) -> Urn:
        if pattern.skew == 0:
            return Urn(self.table.name, pattern.seed)
        column = self.table.skew_by
        distinct = int(pc.count_distinct(self.rows.column(column), mode="all").as_py())
        return Urn.skewed(self.table.name, pattern.seed, pattern.skew, integers(self.rows, column), distinct)


@dataclass(frozen=True, slots=True, eq=False)
class _Link:
    """For each row of a table, the position of the row of `parent` that it refers to, or -1."""

    parent: str
    rows: Integers
    owner: bool


def _check(schema: Schema, pattern: ArrivalPattern, changing: frozenset[str], retracting: frozenset[str]) -> None:
    for table in schema:
        if pattern.correlated and table.name not in changing:
            for reference in table.references:
                if reference.table in changing:
                    raise UserError(
                        f"`{table.name}` stands still but refers to `{reference.table}`, which changes",
                        hint=f"let `{table.name}` change too, or take a pattern that is not correlated",
                    )
        if pattern.updates and table.name in retracting and table.measure is None:
            raise UserError(
                f"`{table.name}` has no number that an update could change",
                hint="leave it out of `retracting`, or take updates = 0",
            )


def _parents_first(schema: Schema, changing: frozenset[str]) -> tuple[str, ...]:
    graph = {
        table.name: sorted(reference.table for reference in table.references if reference.table in changing)
        for table in schema
        if table.name in changing
    }
    return tuple(TopologicalSorter(graph).static_order())


def _links(frames: Mapping[str, _Frame], name: str) -> tuple[_Link, ...]:
    frame = frames[name]
    links = []
    for reference in frame.table.references:
        if reference.table not in frames:
            continue
        parent = frames[reference.table]
        wanted = pa.array(fingerprint(frame.columns(reference.columns), 0))
        keys = pa.array(fingerprint(parent.columns(parent.table.key), 0))
        positions: Integers = pc.fill_null(pc.index_in(wanted, value_set=keys), -1).to_numpy().astype(np.int64)
        for column in reference.columns:
            positions[frame.rows.column(column).is_null().to_numpy()] = -1
        links.append(_Link(reference.table, positions, reference.owner))
    return tuple(links)


def _guarded(
    frames: Mapping[str, _Frame], links: Mapping[str, Sequence[_Link]], retracting: frozenset[str]
) -> Mapping[str, Mask]:
    """The rows that must not leave, because a row of a table that does not retract refers to them, or to a row that
    would have to leave with them."""
    guarded = {name: np.zeros(frame.rows.num_rows, dtype=np.bool_) for name, frame in frames.items()}
    for name in reversed(tuple(frames)):
        for link in links[name]:
            holding = link.rows[guarded[name]] if name in retracting else link.rows
            guarded[link.parent][holding[holding >= 0]] = True
    return guarded


def _arrivals(frame: _Frame, pattern: ArrivalPattern, parents: Sequence[tuple[_Link, Timetable]]) -> Runs:
    """The run at which each row first appears: its owner's or its own, never before anything it refers to."""
    owner = next(((link, parent) for link, parent in parents if link.owner), None)
    arrives: Runs
    if owner is not None and (owner[0].rows >= 0).all():
        arrives = _with_owner(frame, pattern, *owner)
    else:
        urn = frame.urn(pattern)
        if pattern.correlated and frame.table.unit != frame.table.key:
            lots = urn.draw_together("arrive", frame.columns(frame.table.unit))
        else:
            lots = urn.draw("arrive", frame.columns(frame.table.key))
        sized = bursts(pattern.shares, pattern.bursty, salt(pattern.seed, frame.table.name, "burst"))
        arrives = divide(lots, sized)
        if owner is not None:
            arrives = np.where(owner[0].rows >= 0, _with_owner(frame, pattern, *owner), arrives)
    for link, parent in parents:
        arrives = np.maximum(arrives, np.where(link.rows >= 0, parent.arrives[link.rows], 0)).astype(np.int16)
    return np.where(arrives < _last_runs(parents, arrives, pattern), arrives, pattern.runs).astype(np.int16)


def _with_owner(frame: _Frame, pattern: ArrivalPattern, link: _Link, parent: Timetable) -> Runs:
    """The owner's run, or for a share of `lag` of the rows a later one."""
    arrives = parent.arrives[link.rows]
    if pattern.lag == 0:
        return arrives
    keys = frame.columns(frame.table.key)

    def chance(purpose: str) -> Floats:
        return uniform(fingerprint(keys, salt(pattern.seed, frame.table.name, purpose)))

    left = np.maximum(pattern.runs - 1 - arrives, 0)
    late = (chance("lag") < pattern.lag) & (left > 0)
    return np.where(late, arrives + 1 + np.floor(chance("wait") * left), arrives).astype(np.int16)


def _last_runs(parents: Sequence[tuple[_Link, Timetable]], arrives: Runs, pattern: ArrivalPattern) -> Runs:
    """The run by which each row must be gone because something it refers to leaves then."""
    last = np.full(len(arrives), pattern.runs, dtype=np.int16)
    for link, parent in parents:
        last = np.minimum(last, np.where(link.rows >= 0, parent.leaves[link.rows], pattern.runs)).astype(np.int16)
    return last


def _retractions(frame: _Frame, pattern: ArrivalPattern, arrives: Runs, last: Runs, guarded: Mask) -> Timetable:
    """Draw the rows that leave and those that are updated, run by run; what leaves with its referent counts."""
    urn, keys = frame.urn(pattern), frame.columns(frame.table.key)
    leaves = np.where(arrives < pattern.runs, last, pattern.runs).astype(np.int16)
    updated = [np.zeros(0, dtype=np.int64)]
    for run in range(1, pattern.runs):
        present = (arrives < run) & (leaves >= run)
        staying = leaves > run
        if pattern.deletes:
            wanted = round(pattern.deletes * int(present.sum())) - int((present & ~staying).sum())
            leaving = smallest(urn.draw(f"delete {run}", keys), present & staying & ~guarded, wanted)
            leaves[leaving] = run
            staying &= ~leaving
        changed = np.zeros(0, dtype=np.int64)
        if pattern.updates:
            wanted = round(pattern.updates * int(present.sum()))
            changed = np.flatnonzero(smallest(urn.draw(f"update {run}", keys), present & staying, wanted))
        updated.append(changed)
    return Timetable(pattern.runs, arrives, leaves, tuple(updated))
