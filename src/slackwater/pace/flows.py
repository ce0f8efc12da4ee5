"""The rows that a run of an operator passes on, by what it takes in and by what it holds [InQP §3.2.1].

A flow counts inserts, updates and deletes; an update is a delete and an insert. These are the thesis's own rules, row
by row. The planner's rules for whole runs are in `rows/changes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from slackwater.catalog.statistics import Arrival

Flow: TypeAlias = Arrival

Row: TypeAlias = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class SelectivityMatrix:
    """How often an insert, a delete and an update (in this order) become an insert, a delete or an update."""

    insert: Row
    delete: Row
    update: Row

    @classmethod
    def of(cls, share: float) -> SelectivityMatrix:
        """A filter that passes a share of all rows; both ends of an update pass or not by themselves."""
        turned = share * (1 - share)
        return cls((share, 0.0, turned), (0.0, share, turned), (0.0, 0.0, share * share))

    def of_flow(self, flow: Flow) -> Flow:
        def passed(row: Row) -> float:
            return row[0] * flow.inserts + row[1] * flow.deletes + row[2] * flow.updates

        return Flow(passed(self.insert), passed(self.update), passed(self.delete))


def scaled(flow: Flow, factor: float) -> Flow:
    return Flow(flow.inserts * factor, flow.updates * factor, flow.deletes * factor)


def added(*flows: Flow) -> Flow:
    return Flow(
        sum(flow.inserts for flow in flows), sum(flow.updates for flow in flows), sum(flow.deletes for flow in flows)
    )


def sorted_again(flow: Flow, held: float) -> Flow:
    """A sort takes all its rows back and passes them on in their new order."""
    return Flow(max(held + flow.growth, 0.0), 0.0, held)


def first_rows(flow: Flow, count: float) -> Flow:
    """The first rows of a sort."""
    return Flow(min(flow.inserts, count), 0.0, min(flow.deletes, count))


def grouped(flow: Flow, groups: float, rows: float) -> Flow:
    """An aggregate with so many groups in all that has taken in so many rows.

    Once there are as many rows as groups, every row updates one. Before that every row is taken to have its own group.
    """
    if rows >= groups:
        return Flow(0.0, flow.inserts + flow.updates + flow.deletes, 0.0)
    return Flow(min(flow.inserts, groups - rows), min(flow.updates, rows), min(flow.deletes, rows))


def matched(flow: Flow, probability: float, others: float) -> Flow:
    """The pairs of an inner join with so many rows of the other side, each of which matches with a probability."""
    return scaled(flow, probability * others)


def unmatched(flow: Flow, probability: float, others: float) -> Flow:
    """The rows of the outer side that have no match among the other side's rows."""
    alone = (1 - probability) ** others
    return Flow((flow.inserts + flow.updates) * alone, 0.0, (flow.deletes + flow.updates) * alone)


def no_longer_unmatched(flow: Flow, probability: float, outer: float, others: float) -> Flow:
    """The outer side's rows that changes of the other side match for the first time, or leave without a match.

    The thesis counts row by row: one insert is the first match of outer · p · (1 − p)^others rows. Here this is summed
    over all rows of the flow, of which each finds fewer rows without a match than the one before.
    """

    def alone(count: float) -> float:
        share: float = (1 - probability) ** max(count, 0.0)
        return outer * share

    matched_first = alone(others) - alone(others + flow.inserts + flow.updates)
    left_alone = alone(others - flow.deletes - flow.updates) - alone(others)
    return Flow(left_alone, 0.0, matched_first)
