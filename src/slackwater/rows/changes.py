"""How many rows a delta has: inserts, updates and deletes, operator by operator.

The size of a delta depends on the operator, not on the rule that computes it: it follows from the inputs' deltas and
from the versions before and after, so all alternatives of a form have the same estimate. Deltas agree with versions:
before + inserts − deletes = after, wherever both are estimated alike.

After InQP §3.2.1, with two differences. There a change is taken row by row; here a run is one change, and a group with
several changed rows is updated once. Where the paper distinguishes cases (an aggregate is saturated or not; a row
matched or not), the probability is computed; the paper's cases are its limits.                 [Tang et al. 2020]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slackwater.algebra.relation import Aggregate, Expand, Filter, Join, JoinKind, Limit, Relation, Union, Window
from slackwater.rows.cardinality import Essential, group_count
from slackwater.rows.estimate import NO_CHANGES, Changes, Estimate, drawn
from slackwater.rows.join_selectivity import JoinSelectivity, join_selectivity


@dataclass(frozen=True, slots=True)
class ChangeEstimate:
    """A relation between two versions: the estimates before and after, and of the delta between them."""

    before: Estimate
    after: Estimate
    change: Estimate

    @property
    def changes(self) -> Changes:
        return self.change.changes or NO_CHANGES

    @property
    def moves(self) -> bool:
        return self.changes.changes > 0.0


def filtered(coming: Changes, share: float) -> Changes:
    """The effect of a filter that keeps a share of rows: the selectivity matrix of InQP, Fig. 3.4.

    An update is an update if both the old and the new row pass, and an insert or a delete if only one does.
    """
    s = min(1.0, max(0.0, share))
    flipped = s * (1 - s) * coming.updates
    return Changes(s * coming.inserts + flipped, s * s * coming.updates, s * coming.deletes + flipped)


def changes_of(
    node: Relation,
    inputs: Sequence[ChangeEstimate],
    before: Estimate,
    after: Estimate,
    essential: Essential,
    factor: float = 1.0,
) -> Changes:
    """The changes of an operator, from those of its inputs and from its own versions, corrected by `factor`."""
    if not any(step.moves for step in inputs):
        return NO_CHANGES
    match node:
        case Filter():
            return filtered(inputs[0].changes, _passing(inputs[0], before, after))
        case Union():
            return _sum([step.changes for step in inputs])
        case Expand():
            return times(inputs[0].changes, float(len(node.sets)))
        case Join():
            return _join(node, inputs[0], inputs[1], before, after, factor)
        case Aggregate():
            return _aggregate(node, inputs[0], before, after, essential, factor)
        case Window():
            return _window(node, inputs[0])
        case Limit() if node.count is not None:
            return Changes(after.rows, 0.0, before.rows)
        case _:
            return times(inputs[0].changes, _passing(inputs[0], before, after))


def _aggregate(
    node: Aggregate, below: ChangeEstimate, before: Estimate, after: Estimate, essential: Essential, factor: float
) -> Changes:
    """Touched groups are updated, except those that are new or deleted.

    A group of n rows is deleted if all its rows are: with probability (d/N)^n if d of N rows are deleted. InQP's
    saturated case is n ≫ 1, where no group is deleted; its other case is n = 1, where each delete removes a group.
    """
    if not node.keys:
        return Changes(0.0, 1.0)
    touched = min(touched_groups(node, below, essential, factor), max(before.rows, after.rows))
    rows, coming = below.before.rows, below.changes
    leaving = coming.deletes + coming.updates
    gone = 0.0
    if leaving > 0.0 and rows > 0.0 and before.rows > 0.0:
        gone = before.rows * min(1.0, leaving / rows) ** max(1.0, rows / before.rows)
    new = max(0.0, after.rows - before.rows + gone)
    if node.is_distinct and leaving <= 0.0:
        return Changes(new)
    return Changes(new, max(0.0, touched - new - gone), gone)


def touched_groups(node: Aggregate, below: ChangeEstimate, essential: Essential, factor: float = 1.0) -> float:
    """How many groups a delta has rows of.

    `factor` corrects the number of groups from which the delta's rows are drawn. If groups arrive together with their
    rows, it scales the result instead.
    """
    if not node.keys:
        return 1.0
    keys = essential.get(node.keys, node.keys)
    touched, rows = group_count(keys, below.change), below.change.rows
    if factor == 1.0 or rows <= 0.0:
        return touched
    if any(below.change.spread(key).cluster is not None for key in keys):
        return min(rows, factor * touched)
    return min(rows, drawn(min(below.after.rows, factor * group_count(keys, below.after)), rows))


def _window(node: Window, below: ChangeEstimate) -> Changes:
    """Every row of a touched partition is recomputed; without partition keys, all rows."""
    keys = [c for c in node.calls[0][1].partition if all(c in call.partition for _, call in node.calls)]
    share = min(1.0, _ratio(group_count(keys, below.change), group_count(keys, below.after))) if keys else 1.0
    old, new = below.before.rows * share, below.after.rows * share
    kept = min(old, new)
    return Changes(new - kept, kept, old - kept)


def _join(
    node: Join, left: ChangeEstimate, right: ChangeEstimate, before: Estimate, after: Estimate, factor: float
) -> Changes:
    old = join_selectivity(node, left.before, right.before).times(factor, node.kind, left.before, right.before)
    new = join_selectivity(node, left.after, right.after).times(factor, node.kind, left.after, right.after)
    match node.kind:
        case JoinKind.INNER:
            return _inner(left, right, old, new)
        case JoinKind.SEMI:
            flips = _flips(left, right, old.left_hit, new.left_hit)
            return _fitting(_linear(left.changes, old.left_hit, new.left_hit, *flips), before, after)
        case JoinKind.ANTI:
            return _fitting(_unmatched(left, right, old.left_hit, new.left_hit), before, after)
        case JoinKind.LEFT | JoinKind.FULL:
            parts = [_inner(left, right, old, new), _unmatched(left, right, old.left_hit, new.left_hit)]
            if node.kind is JoinKind.FULL:
                parts.append(_unmatched(right, left, old.right_hit, new.right_hit))
            return _sum(parts)


def _inner(left: ChangeEstimate, right: ChangeEstimate, old: JoinSelectivity, new: JoinSelectivity) -> Changes:
    """Deleted pairs are those of deleted rows; inserted pairs make up the difference to the new version."""
    pairs_before = left.before.rows * right.before.rows * old.pair
    pairs_after = left.after.rows * right.after.rows * new.pair
    gone_left, gone_right = left.changes.deletes, right.changes.deletes
    gone = old.pair * (gone_left * right.before.rows + gone_right * max(0.0, left.before.rows - gone_left))
    changed = old.pair * (left.changes.updates * right.before.rows + right.changes.updates * left.before.rows)
    gone = min(gone, pairs_before)
    return Changes(max(0.0, pairs_after - pairs_before + gone), min(changed, pairs_before - gone), gone)


def _flips(left: ChangeEstimate, right: ChangeEstimate, old_hit: float, new_hit: float) -> tuple[float, float]:
    """Old left rows that gain their first partner, and those that lose their last.

    Gained: unmatched before, matched now. Lost: the difference to the new version.

    In InQP, each right insert matches |L| p (1 − p)^|R| unmatched rows; for all inserts of a run together, that is the
    difference of the probabilities to be unmatched.
    """
    if not right.moves:
        return 0.0, 0.0
    staying = max(0.0, left.before.rows - left.changes.deletes)
    coming = right.changes.inserts + right.changes.updates
    going = right.changes.deletes + right.changes.updates
    net = staying * (new_hit - old_hit)
    if going <= 0.0:
        return max(0.0, net), 0.0
    if coming <= 0.0:
        return 0.0, max(0.0, -net)
    newly = new_hit * _ratio(coming, right.after.rows)
    gained = staying * (1.0 - old_hit) * min(1.0, newly)
    return max(gained, net), max(0.0, gained - net)


def _linear(coming: Changes, old_share: float, new_share: float, gained: float, lost: float) -> Changes:
    """Left rows pass with a probability; changes on the right flip old left rows."""
    return Changes(coming.inserts * new_share + gained, coming.updates * new_share, coming.deletes * old_share + lost)


def _unmatched(left: ChangeEstimate, right: ChangeEstimate, old_hit: float, new_hit: float) -> Changes:
    met, alone = _flips(left, right, old_hit, new_hit)
    return _linear(left.changes, 1.0 - old_hit, 1.0 - new_hit, alone, met)


def _fitting(changes: Changes, before: Estimate, after: Estimate) -> Changes:
    """Adjusts inserts so that the delta leads to the new version; if they would be negative, deletes grow."""
    missing = after.rows - before.rows + changes.deletes
    return Changes(max(0.0, missing), changes.updates, changes.deletes + max(0.0, -missing))


def _passing(below: ChangeEstimate, before: Estimate, after: Estimate) -> float:
    """Output rows per input row, by the version that has rows."""
    return _ratio(after.rows, below.after.rows) or _ratio(before.rows, below.before.rows)


def _sum(parts: Sequence[Changes]) -> Changes:
    return Changes(sum(p.inserts for p in parts), sum(p.updates for p in parts), sum(p.deletes for p in parts))


def times(changes: Changes, factor: float) -> Changes:
    """Changes multiplied by a factor."""
    return Changes(changes.inserts * factor, changes.updates * factor, changes.deletes * factor)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else 0.0
