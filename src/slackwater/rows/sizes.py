"""Estimated rows of all forms: versions of relations, from base tables up, and the deltas between them.

A version has a run for every changing table: a mask says which are read at the new end of a frame. The estimate of
a group is that of its first expression, the one in the query, so that all alternatives agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from slackwater.algebra.once import once_for_each
from slackwater.algebra.relation import Aggregate, Project, Relation, Scan
from slackwater.algebra.schema import Column
from slackwater.catalog.statistics import Arrival, Statistics, TableStatistics
from slackwater.memo.memo import Memo
from slackwater.memo.positive import positive_part
from slackwater.memo.row_identity import RowIdentities
from slackwater.rows.bounds import most_changes
from slackwater.rows.cardinality import Essential, Estimator
from slackwater.rows.changes import ChangeEstimate, changes_of, times, touched_groups
from slackwater.rows.estimate import (
    ArrivalCluster,
    ArrivalReference,
    Changes,
    Estimate,
    SourceRecords,
    Spread,
    arrived_by,
    guess,
)
from slackwater.rows.feedback import Corrections
from slackwater.rows.width import width_of
from slackwater.time.forms import WEIGHT, Form, GroupId, GroupLeaf, Kind
from slackwater.time.frame import NEVER, Frame
from slackwater.time.version import OLD, Mask, restricted

UNKNOWN_TABLE = TableStatistics((Arrival(1000.0),))


def weights(changes: Changes) -> Spread:
    """The distribution of the weights of a signed delta."""
    taken = (changes.updates + changes.deletes) / changes.changes if changes.changes > 0.0 else 0.0
    shares = sorted(((1.0 - taken, 1.0), (taken, -1.0)), reverse=True)
    return Spread(2.0, 2.0, range=(-1.0, 1.0), frequent=tuple((weight, share) for share, weight in shares))


Version = tuple[GroupId, Frame, Mask]


class Sizes:
    """Estimates of all forms of a memo, each computed once, with corrections from earlier cycles."""

    def __init__(self, memo: Memo, statistics: Statistics, corrections: Corrections | None = None) -> None:
        self.memo = memo
        self.statistics = statistics
        self.corrections = corrections if corrections is not None else Corrections(RowIdentities(memo))
        self._needed: dict[GroupId, frozenset[Column]] = {}

    def on(self, statistics: Statistics, corrections: Corrections) -> Sizes:
        """The same memo with other statistics."""
        sizes = Sizes(self.memo, statistics, corrections)
        sizes.essential = self.essential
        return sizes

    def table(self, name: str) -> TableStatistics:
        return self.statistics.get(name, UNKNOWN_TABLE)

    def of(self, form: Form, frame: Frame) -> Estimate:
        """A form in a frame; an old snapshot is the new one of the run at the frame's old end."""
        estimate = self._of(form, frame)
        if estimate.width is None:
            estimate.width = self.width(form)
        return estimate

    def _of(self, form: Form, frame: Frame) -> Estimate:
        match form.kind:
            case Kind.SNAPSHOT:
                return self.version(form.group, frame, form.until)
            case Kind.DELTA:
                return self._partial_delta(form, frame) if form.partial else self._delta(form, frame)
            case Kind.COMPLETION:
                return self._completion(form, frame)

    # --- versions ----------------------------------------------------------------------------------------------------

    def version(self, group: GroupId, frame: Frame, mask: Mask) -> Estimate:
        """A relation with some tables read at the new end of an frame, the others at the old one."""
        return self._named_version(*self._named(group, frame, mask))

    @once_for_each
    def _named_version(self, group: GroupId, frame: Frame, mask: Mask) -> Estimate:
        return self._version(group, frame, mask, self.corrections.of_group(group))

    def _named(self, group: GroupId, frame: Frame, mask: Mask) -> Version:
        """The canonical key of a version: an old one is the new one of the run before the frame."""
        tables = self.memo[group].tables
        mask = restricted(mask, tables)
        if not tables:
            return group, NEVER, mask
        if mask == OLD:
            return group, frame.before, tables
        return (group, frame.last, tables) if mask == tables else (group, frame, mask)

    def _version(self, group: GroupId, frame: Frame, mask: Mask, factor: float) -> Estimate:
        def leaf(relation: Relation) -> Estimate:
            if isinstance(relation, GroupLeaf):
                return self.version(relation.group, frame, mask)
            assert isinstance(relation, Scan)
            return self._table_version(relation, max(0, frame.until))

        home = self.memo[group]
        estimate = Estimator(leaf, self.essential, lambda _: factor).of(home.expressions[0])
        return replace(estimate, keys=home.properties.keys or estimate.keys)

    def _table_version(self, scan: Scan, run: int) -> Estimate:
        table = self.table(scan.table.name)
        changing = scan.table.changing
        total = table.total
        last = run if changing else len(table.arrivals)
        rows, arrived = table.rows(last), table.records(last)
        is_feed = changing and (table.retracts or not scan.table.append_only)
        records = SourceRecords(arrived if table.is_text else 0.0, arrived if is_feed else 0.0)
        return Estimate(rows, _TableColumns(scan, table, rows, total, (1, run)), total, records=records)

    # --- changes -----------------------------------------------------------------------------------------------------

    def step(self, group: GroupId, frame: Frame, since: Mask, until: Mask) -> ChangeEstimate:
        """A relation between two versions within a frame."""
        tables = self.memo[group].tables
        return self._step(group, frame, restricted(since, tables), restricted(until, tables))

    @once_for_each
    def _step(self, group: GroupId, frame: Frame, since: Mask, until: Mask) -> ChangeEstimate:
        home = self.memo[group]
        before, after = self.version(group, frame, since), self.version(group, frame, until)
        if since == until:
            nothing = Estimate(0.0, after.spread, after.whole, after.keys, after.kept, Changes(0.0))
            return ChangeEstimate(before, after, nothing)
        node = home.expressions[0]
        if isinstance(node, Scan):
            return ChangeEstimate(before, after, self._table_change(node, frame))
        inputs = self._inputs(group, frame, since, until)
        changes = self._changes(group, inputs, before, after, self.corrections.of_group(group))
        changes = times(changes, self.corrections.of_change(group))
        alone = len(home.properties.changing_tables) == 1
        change = self._sample(after, changes, frame, alone=alone)
        bound = most_changes(node, [s.change for s in inputs], [s.after for s in inputs], retracts=home.retracts)
        change.most = min(bound, before.most + after.most)
        return ChangeEstimate(before, after, change)

    def _inputs(self, group: GroupId, frame: Frame, since: Mask, until: Mask) -> list[ChangeEstimate]:
        below = (leaf.group for leaf in self.memo[group].expressions[0].inputs if isinstance(leaf, GroupLeaf))
        return [self.step(group_below, frame, since, until) for group_below in below]

    def _changes(
        self, group: GroupId, inputs: Sequence[ChangeEstimate], before: Estimate, after: Estimate, factor: float
    ) -> Changes:
        home = self.memo[group]
        changes = changes_of(home.expressions[0], inputs, before, after, self.essential, factor)
        return changes if home.retracts else Changes(changes.inserts)

    def _table_change(self, scan: Scan, frame: Frame) -> Estimate:
        table = self.table(scan.table.name)
        changes = table.brought(frame.runs)
        total = max(table.total, changes.changes)
        columns = _TableColumns(scan, table, changes.changes, total, (frame.runs[0], frame.until))
        records = SourceRecords(changes.changes if table.is_text else 0.0)

        def find(column: Column) -> Spread | None:
            return weights(changes) if column == WEIGHT else columns(column)

        return Estimate(changes.changes, find, total, changes=changes, records=records)

    def _sample(self, of: Estimate, changes: Changes, frame: Frame, *, alone: bool = False) -> Estimate:
        """Rows of a delta are distributed like the version after it; a clustered column has only values of this run.

        So have references, if no other table changes.
        """
        rows = changes.changes
        share = min(1.0, rows / of.rows) if of.rows > 0.0 else 1.0

        def find(column: Column) -> Spread:
            if column == WEIGHT:
                return weights(changes)
            spread = of.spread(column)
            cluster, reference = spread.cluster, spread.reference
            if reference is not None and alone:
                spread = replace(spread, reference=replace(reference, first=frame.runs[0], last=frame.until))
            if cluster is None or cluster.last != frame.until or cluster.first >= frame.runs[0]:
                return replace(spread, values=arrived_by(spread.reference, spread.values, of.rows, share))
            now = replace(cluster, first=frame.runs[0], share=cluster.share * share)
            return replace(spread, values=spread.values * share, cluster=now)

        return Estimate(rows, find, of.whole, of.keys, of.kept, changes)

    def _delta(self, form: Form, frame: Frame) -> Estimate:
        return self.step(form.group, frame, form.since, form.until).change

    def _partial_delta(self, form: Form, frame: Frame) -> Estimate:
        """Partial aggregates of a delta: one row for each touched group."""
        node = self.memo[form.group].expressions[0]
        if not isinstance(node, Aggregate) or not isinstance(node.input, GroupLeaf):
            return self._delta(form, frame)
        below = self.step(node.input.group, frame, form.since, form.until)
        corrections = self.corrections
        count = touched_groups(node, below, self.essential, corrections.of_group(form.group))
        touched = Changes(min(below.change.rows, count * corrections.of_change(form.group)) if corrections else count)
        keys = frozenset(node.keys)
        return Estimate(
            touched.changes,
            lambda c: below.change.spread(c) if c in keys else None,
            keys=(keys,),
            changes=touched,
            most=below.change.most,
        )

    def _completion(self, form: Form, frame: Frame) -> Estimate:
        """The new version without the old part that is never retracted."""
        after = self.version(form.group, frame, form.until)
        part = positive_part(self.memo, self.memo[form.group].leaf)
        before = self.version(part.group, frame, form.since).rows if part is not None else 0.0
        completion = self._sample(after, Changes(max(0.0, after.rows - before)), frame)
        completion.most = after.most
        return completion

    # --- trying a factor ---------------------------------------------------------------------------------------------

    def tried(self, form: Form, frame: Frame, factor: float) -> float:
        """The rows of a form if its operator's formula were corrected by this factor; its inputs stay."""
        group, since, until = form.group, form.since, form.until
        after = self._version(*self._named(group, frame, until), factor)
        if form.kind is Kind.SNAPSHOT:
            return after.rows
        before = self._version(*self._named(group, frame, since), factor)
        inputs = self._inputs(group, frame, since, until)
        node = self.memo[group].expressions[0]
        if form.partial and isinstance(node, Aggregate):
            return touched_groups(node, inputs[0], self.essential, factor)
        return self._changes(group, inputs, before, after, factor).changes

    # --- what the memo knows beside ----------------------------------------------------------------------------------

    @cached_property
    def essential(self) -> Essential:
        """The grouping keys that determine the others, for every list of keys in the memo."""
        essential: dict[tuple[Column, ...], tuple[Column, ...]] = {}
        for group in self.memo:
            for node in group.expressions:
                if isinstance(node, Aggregate) and node.keys and node.keys not in essential:
                    own = [key for key in group.properties.keys if key and key <= frozenset(node.keys)]
                    least = min(own, key=len, default=frozenset(node.keys))
                    kept = tuple(k for k in node.keys if k in least)
                    essential[node.keys] = self._not_determined(kept, node.input)
        return essential

    def _not_determined(self, keys: tuple[Column, ...], below: Relation) -> tuple[Column, ...]:
        """Keys without those that the others determine, as a shop determines its street."""
        if not isinstance(below, GroupLeaf) or len(keys) < 2:
            return keys
        group = self.memo[below.group]
        while isinstance(project := group.expressions[0], Project) and isinstance(project.input, GroupLeaf):
            if not frozenset(keys) <= frozenset(project.input.columns):
                break
            group = self.memo[project.input.group]  # dependencies of all columns, also of those projected away
        kept = list(keys)
        for key in reversed(keys):
            if key in group.properties.closure(frozenset(kept) - {key}):
                kept.remove(key)
        return tuple(kept)

    def width(self, form: Form) -> float:
        """Bytes of a row; for a base table, only the columns that are read."""
        columns: tuple[Column, ...] = form.columns
        if self.memo.scan_of(form.group) is not None:
            needed = self.needed(form.group)
            columns = tuple(c for c in columns if c in needed or c == WEIGHT)
        return width_of(columns, self.widths)

    @cached_property
    def widths(self) -> dict[Column, float]:
        """Bytes of base columns, by statistics."""
        return {
            column: width
            for group in self.memo
            if (scan := self.memo.scan_of(group.id)) is not None
            for field, column in zip(scan.table.fields, scan.columns, strict=True)
            if (width := self.table(scan.table.name).widths.get(field.name)) is not None
        }

    def needed(self, group: GroupId) -> frozenset[Column]:
        """The columns of a relation that anything above reads."""
        columns = self._needed.get(group)
        if columns is None:
            own = frozenset(self.memo[group].columns)
            readers = list(self.memo.readers(group))
            columns = frozenset[Column]() if readers else own
            self._needed[group] = columns
            for home, node in readers:
                passed = frozenset[Column]() if isinstance(node, (Project, Aggregate)) else self.needed(home)
                columns |= (node.used | passed) & own
            self._needed[group] = columns
        return columns


class _TableColumns:
    """The distributions of a base table's columns in a part of its rows, from its statistics."""

    def __init__(self, scan: Scan, table: TableStatistics, rows: float, total: float, runs: tuple[int, int]) -> None:
        self.scan, self.statistics, self.rows, self.total, self.runs = scan, table, rows, total, runs
        self.names = {column: f.name for f, column in zip(scan.table.fields, scan.columns, strict=True)}

    def __call__(self, column: Column) -> Spread | None:
        name = self.names[column]
        single_key = frozenset((name,)) in self.scan.table.keys
        values = self.statistics.distinct.get(name, self.total if single_key else None)
        spread = replace(
            guess(self.total),
            nulls=self.statistics.null_share.get(name, 0.0),
            range=self.statistics.ranges.get(name),
            origin=(self.scan.table.name, name),
            frequent=self.statistics.frequent.get(name, ()),
            bounds=self.statistics.bounds.get(name, ()),
            among=self.total,
        )
        if values is None:
            return replace(spread, values=min(spread.values, self.rows))
        share = self.rows / self.total if self.total > 0.0 else 0.0
        arrived = tuple(arrival.inserts for arrival in self.statistics.arrivals)
        cluster, meeting = self._cluster(name, single_key, share, arrived), self.statistics.meets.get(name)
        reference = ArrivalReference(meeting, *self.runs, arrived) if meeting and self.scan.table.changing else None
        left = values * min(1.0, share) if cluster is not None else arrived_by(reference, values, self.total, share)
        return replace(spread, values=left, domain=values, cluster=cluster, reference=reference, guessed=False)

    def _cluster(self, name: str, single_key: bool, share: float, arrived: tuple[float, ...]) -> ArrivalCluster | None:
        """The cluster of a changing table's key, or of a reference that arrives with the row it refers to."""
        if not self.scan.table.changing:
            return None
        stated = {each.columns[0]: each.table for each in self.scan.table.arrives_with if len(each.columns) == 1}
        learned = {column: meeting.table for column, meeting in self.statistics.meets.items() if meeting.is_together}
        cluster = self.scan.table.name if single_key else (learned | stated).get(name)
        return None if cluster is None else ArrivalCluster(cluster, *self.runs, share, arrived)
