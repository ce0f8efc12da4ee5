"""Cells: a form in a frame. They connect the symbolic time of the memo with the runs of the schedule.

A frame goes from one run to a later one, mostly the next. An old snapshot is the cell of the new snapshot of the run at
the frame's old end, so a version is one cell, from whichever frames it is merged. Before the first run every changing
table is empty. In an expression, an empty cell is replaced by an empty relation, and a delta from nothing by the
snapshot that it leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from slackwater.algebra.once import once_for_each
from slackwater.algebra.relation import Aggregate, Join, JoinKind, Relation, Scan, Union, Values
from slackwater.catalog.statistics import Statistics
from slackwater.errors import InternalError
from slackwater.memo.group import Alternative
from slackwater.memo.memo import Memo
from slackwater.memo.positive import positive_part
from slackwater.rows.cardinality import Estimator
from slackwater.rows.estimate import Estimate
from slackwater.rows.feedback import History, Subject
from slackwater.rows.learning import learned
from slackwater.rows.sizes import Sizes
from slackwater.rules.intra.merges import net
from slackwater.rules.normalize.normalizer import simplify_empties
from slackwater.rules.signed import all_of, weighted
from slackwater.time.forms import Form, FramedForm, GroupId, GroupLeaf, Kind, forms_of
from slackwater.time.frame import NEVER, Frame, wide_frames_to
from slackwater.time.source_names import change_source, snapshot_source
from slackwater.time.version import OLD, Mask, restricted

NET_DELTAS = "net_deltas"
"""The name by which plans say that a change over several runs was added up."""

Measure = Callable[["Cells", "Cell"], float]
"""Counts the rows of a cell instead of estimating them, if the data is available."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A form of a group in a frame; a static group has only one."""

    form: Form
    frame: Frame

    @property
    def first_run(self) -> int:
        """The earliest run at which its data has arrived."""
        return max(1, self.frame.until)

    @property
    def changes(self) -> bool:
        """Whether its rows are those of a run, not of what is there before."""
        return self.frame.until > 0


@dataclass(frozen=True, slots=True)
class Way:
    """An alternative for a cell: its expression, and the frame in which that reads its forms."""

    alternative: Alternative
    tree: Relation
    frame: Frame


class Cells:
    """Resolves forms to cells, instantiates alternatives, and estimates sizes; all results are cached."""

    def __init__(
        self,
        memo: Memo,
        statistics: Statistics,
        *,
        exact: bool = False,
        measure: Measure | None = None,
        counted: Mapping[Cell, float] | None = None,
        history: History = (),
    ) -> None:
        self.memo = memo
        self.wide = False
        """Whether a part may pass over runs: whether there are frames of several."""
        self.measure = measure
        self.statistics = statistics
        self.exact = exact
        self.counted = dict(counted or {})
        """The counted rows of saved cells."""
        self.corrections = learned(memo, statistics, history)
        self.sizes = Sizes(memo, statistics, self.corrections)
        self._formulas = Sizes(memo, statistics)

    def cell(self, form: Form, frame: Frame) -> Cell:
        """The cell of a form in a frame."""
        group = self.memo[form.group]
        if group.is_static:
            return Cell(form, NEVER)
        if isinstance(form, FramedForm):
            return Cell(form.form, form.frame)
        if form.kind is not Kind.SNAPSHOT or form.until not in (OLD, group.tables):
            return Cell(self.memo.explored(form), frame)
        return Cell(self.memo.explored(form), frame.before if form.until == OLD else frame.last)

    # --- emptiness ---------------------------------------------------------------------------------------------------

    @once_for_each
    def is_empty(self, cell: Cell) -> bool:
        """Whether a cell certainly has no rows."""
        form, group = cell.form, self.memo[cell.form.group]
        if group.is_static:
            return False
        if form.kind is Kind.SNAPSHOT:
            return cell.frame.since <= 0 and self._has_nothing(form.group, form.until if cell.changes else OLD)
        if form.kind is Kind.COMPLETION:
            return False
        if cell.frame.since == 0 and all(self._has_nothing(form.group, end) for end in (form.since, form.until)):
            return True
        if not self.exact or form.partial:
            return False
        moving = self.memo.tables.tables(Mask(form.since ^ form.until))
        return not any(self.sizes.table(name).brought(cell.frame.runs).changes for name in moving)

    def _has_nothing(self, group: GroupId, arrived: Mask) -> bool:
        """Whether a relation has no rows as long as only some changing tables have any."""
        return self._gives_nothing(self.memo[group].leaf, arrived)

    @once_for_each
    def _gives_nothing(self, node: Relation, arrived: Mask) -> bool:
        match node:
            case GroupLeaf():
                below = self.memo[node.group]
                return self._gives_nothing(below.expressions[0], restricted(arrived, below.tables))
            case Scan():
                return node.table.changing and not arrived
            case Values():
                return not node.rows
            case Aggregate():
                return bool(node.keys) and self._gives_nothing(node.input, arrived)
            case Union():
                return all(self._gives_nothing(branch, arrived) for branch in node.branches)
            case Join():
                left, right = (self._gives_nothing(side, arrived) for side in node.inputs)
                if node.kind in (JoinKind.INNER, JoinKind.SEMI):
                    return left or right
                return left and right if node.kind is JoinKind.FULL else left
            case _:
                return self._gives_nothing(node.inputs[0], arrived)

    # --- instances ---------------------------------------------------------------------------------------------------

    def ways(self, cell: Cell) -> Iterator[Way]:
        """The alternatives for a cell, with their expressions and frames; of equal expressions in a frame the first.

        A snapshot before the first run is computed from snapshots only. After substitution, an alternative that merges
        a delta from nothing would read the cell itself.
        """
        form, alternatives = cell.form, self.memo.alternatives(cell.form)
        merging = [each for each in alternatives if any(map(self._looks_back, each.leaves()))]
        if not cell.changes:
            alternatives = [each for each in alternatives if each not in merging]
        yield from self._ways_in(cell, cell.frame, alternatives)
        if not self.wide or not cell.changes:
            return
        if form.kind is Kind.SNAPSHOT and form.until == self.memo[form.group].tables:
            for frame in wide_frames_to(cell.frame.until):
                yield from self._ways_in(cell, frame, merging)
        elif form.kind is Kind.DELTA and not cell.frame.is_step and self._is_of_all_tables(form):
            yield from self._in_two_steps(cell)

    def _ways_in(self, cell: Cell, frame: Frame, alternatives: Iterable[Alternative]) -> Iterator[Way]:
        seen: set[Relation] = set()
        for alternative in alternatives:
            tree = self.instance(alternative, frame)
            if tree not in seen and cell not in self.inputs(tree, frame):
                seen.add(tree)
                yield Way(alternative, tree, frame)

    def _is_of_all_tables(self, form: Form) -> bool:
        """Whether all tables move: if some stay at the old end, that would be another one for the second step."""
        return form.since == OLD and form.until == self.memo[form.group].tables

    def _in_two_steps(self, cell: Cell) -> Iterator[Way]:
        """ΔR(a→c)  =  ΔR(a→b) + ΔR(b→c): what runs between have computed is only added up."""
        pieces = tuple(FramedForm.of(cell.form, frame) for frame in cell.frame.in_two)
        together = all_of(cell.form.columns, pieces)
        is_netted = cell.form.signed and not cell.form.partial
        for tree in (together, *([net(together, cell.form.names)] if is_netted else [])):
            yield Way(Alternative(tree, NET_DELTAS), tree, cell.frame)

    def _looks_back(self, leaf: Form) -> bool:
        group = self.memo[leaf.group]
        return not group.is_static and (leaf.kind is not Kind.SNAPSHOT or leaf.until == OLD)

    @once_for_each
    def instance(self, alternative: Alternative, frame: Frame) -> Relation:
        """An alternative in a frame, without its empty inputs and its deltas from nothing."""
        leaves = alternative.leaves()
        substitutes = tuple(self._substitute(leaf, frame) for leaf in leaves)
        return alternative.tree if leaves == substitutes else self._substituted(alternative, substitutes)

    @once_for_each
    def _substituted(self, alternative: Alternative, substitutes: tuple[Relation, ...]) -> Relation:
        by_leaf = dict(zip(alternative.leaves(), substitutes, strict=True))
        return simplify_empties(replaced(alternative.tree, by_leaf))

    def _substitute(self, leaf: Form, frame: Frame) -> Relation:
        """What is read in place of a leaf in a frame: itself, nothing, or the snapshot that it leads to."""
        if self.is_empty(self.cell(leaf, frame)):
            return Values(leaf.columns, ())
        if frame.since != 0 or leaf.kind is Kind.SNAPSHOT or not self._is_from_nothing(leaf):
            return leaf
        snapshot = self.memo.snapshot(leaf.group, leaf.until, partial=leaf.names if leaf.partial else None)
        if self.memo.scan_of(leaf.group) is None and not self.memo.alternatives(snapshot):
            return leaf  # a version between the two ends that nothing else reads
        return weighted(snapshot) if leaf.signed else snapshot

    def _is_from_nothing(self, leaf: Form) -> bool:
        """Whether a delta or a completion of the first run is merged into nothing, and has all rows of its end.

        Not if tables retract rows: a snapshot is then computed from deltas, not the other way round.
        """
        group = self.memo[leaf.group]
        if group.deletes:
            return False
        before = group.leaf if leaf.kind is Kind.DELTA else positive_part(self.memo, group.leaf)
        return before is None or self._has_nothing(before.group, leaf.since)

    @once_for_each
    def inputs(self, tree: Relation, frame: Frame) -> tuple[Cell, ...]:
        """The distinct cells that an expression reads in a frame."""
        return tuple(dict.fromkeys(self.cell(leaf, frame) for leaf in forms_of(tree)))

    def is_at_hand(self, cell: Cell) -> bool:
        """Whether a cell need not be computed: it is a source, or known to be empty."""
        return self.memo.scan_of(cell.form.group) is not None or self.is_empty(cell)

    def at_hand(self, cell: Cell) -> Relation:
        """A cell that need not be computed: a version of a base table, its delta of a frame, or nothing."""
        if self.is_empty(cell):
            return Values(cell.form.columns, ())
        scan = self.memo.scan_of(cell.form.group)
        if scan is None:
            raise InternalError(f"{cell.form} of {cell.frame} is neither a table nor empty")
        return source_of(scan, cell)

    # --- sizes -------------------------------------------------------------------------------------------------------

    @once_for_each
    def estimate(self, cell: Cell) -> Estimate:
        """How many rows a cell has."""
        if self.is_empty(cell):
            return Estimate(0.0)
        if self.measure is not None:
            estimate = Estimate(self.measure(self, cell))
            estimate.width = self.sizes.width(cell.form)
            return estimate
        estimate = self.sizes.of(cell.form, cell.frame)
        return replace(estimate, rows=self.counted[cell], most=self.counted[cell]) if cell in self.counted else estimate

    def by_history(self, cell: Cell) -> float:
        """The factor by which row counts of earlier cycles have corrected the estimate of a cell."""
        if not self.corrections or self.measure is not None or cell in self.counted or self.is_empty(cell):
            return 1.0
        plain = self._formulas.of(cell.form, cell.frame).rows
        return self.estimate(cell).rows / plain if plain > 0.0 else 1.0

    def subject(self, cell: Cell) -> Subject | None:
        """The subject of a cell, by which plans of other days recognize it; nothing is learned over several runs."""
        if not cell.frame.is_step:
            return None
        return Subject.of(self.corrections.identities, cell.form, cell.frame.until)

    @once_for_each
    def estimator(self, frame: Frame, *, bounded: bool) -> Estimator:
        """Estimates expressions over forms in a frame.

        Every input is taken as a state, whose rows will be counted. If `bounded`, only cells of earlier runs are;
        the others have the upper bounds that follow from their tables.
        """

        def leaf(relation: Relation) -> Estimate:
            assert isinstance(relation, Form)
            cell = self.cell(relation, frame)
            rows = self.estimate(cell)
            return rows if bounded and cell.frame.until >= frame.until else rows.counted()

        return Estimator(leaf, self.sizes.essential, self.corrections.of)


def source_of(scan: Scan, cell: Cell) -> Relation:
    """A version of a base table, or its delta of a frame."""
    if cell.form.kind is Kind.SNAPSHOT:
        return snapshot_source(scan, cell.frame.until)
    return change_source(scan, cell.frame, signed=cell.form.signed)


def replaced(tree: Relation, new: Mapping[Form, Relation]) -> Relation:
    """An expression over forms with other relations in their place."""
    if isinstance(tree, Form):
        return new[tree]
    return tree.with_inputs(*(replaced(below, new) for below in tree.inputs))
