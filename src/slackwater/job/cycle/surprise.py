"""What came otherwise than a plan expected: the reasons to plan the rest of a cycle anew.

Compared are the rows that wait for a run with what the plan expects it to find, and the states of the run before it
with what the plan thought they would be. A few rows more or less are never a surprise: they change no plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from slackwater.catalog.statistics import Arrival
from slackwater.job.inputs.changelogs import is_changelog
from slackwater.job.store.manifest import StepRecord
from slackwater.plan.plan import Purpose

TYPICAL_FACTOR = 3.0
"""By which rows must be off where a job does not say."""

FEW = 1_000.0
"""So many rows are as good as none: reading them costs less than starting to."""


def off(actual: float, expected: float) -> float:
    """By what factor a number of rows differs from the expected one, one way or the other."""
    more, less = max(actual, expected), min(actual, expected)
    return (more + FEW) / (less + FEW)


def surprising_arrivals(
    expected: Mapping[str, Arrival], waiting: Mapping[str, Arrival], time: str, factor: float
) -> Iterator[str]:
    """What sources bring that is off by more than a factor, in words."""
    for source, arrival in waiting.items():
        if source not in expected:
            continue
        rows, thought = arrival.changes, expected[source].changes
        if off(rows, thought) <= factor:
            continue
        comparison = f"{rows:,.0f} rows, not {thought:,.0f}"
        if not rows:
            yield f"{source} brought nothing at {time}; {thought:,.0f} rows were expected"
        elif not thought:
            yield f"{source} brought {rows:,.0f} rows at {time}; none were expected"
        else:
            yield f"{source} brought {rows / thought:.3g}× what was expected at {time}: {comparison}"


def surprising_states(steps: Sequence[StepRecord], factor: float) -> Iterator[str]:
    """What a run has saved that is off by more than a factor, in words."""
    for step in steps:
        saved = step.purpose == Purpose.STATE.name.lower() and not step.skipped and step.rows is not None
        if saved and not is_changelog(step.name) and off(float(step.rows or 0), step.expected_rows) > factor:
            yield f"{step.name} has {step.rows:,} rows, not {step.expected_rows:,.0f}"
