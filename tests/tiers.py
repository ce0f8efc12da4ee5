"""The tiers of the tests: `make test` runs the cases of a day, `make test-all` every case.

A test that is marked `rotating(n)` runs one n-th of its cases, another one each day, so that n days run all of them; a
test of one case runs every n-th day. Tests begin on different days, by their names: all days take about as long.
The day is the date of today (UTC), or `SLACKWATER_TESTS_DAY=2026-11-16`; `SLACKWATER_TESTS_ALL=1` runs all cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import groupby
from typing import TypeVar
from zlib import crc32

import pytest

DAY_VARIABLE = "SLACKWATER_TESTS_DAY"
ALL_VARIABLE = "SLACKWATER_TESTS_ALL"

T = TypeVar("T")


@dataclass(frozen=True)
class Tier:
    """The cases of a day, or without a day all of them."""

    day: date | None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Tier:
        """The tier that the environment asks for."""
        if environment.get(ALL_VARIABLE):
            return cls(None)
        text = environment.get(DAY_VARIABLE)
        try:
            return cls(date.fromisoformat(text) if text else datetime.now(UTC).date())
        except ValueError:
            raise pytest.UsageError(f"{DAY_VARIABLE}={text} is no date; write it as 2026-11-16") from None

    def share(self, name: str, cases: Sequence[T], parts: int) -> list[T]:
        """One part of the cases of the test of this name, or all."""
        if self.day is None:
            return list(cases)
        return list(cases[(self.day.toordinal() + crc32(name.encode())) % parts :: parts])

    def __str__(self) -> str:
        if self.day is None:
            return "tier: all cases"
        return f"tier: cases of the day {self.day}; {DAY_VARIABLE}={self.day} repeats them, {ALL_VARIABLE}=1 runs all"


def cases_of(tier: Tier, items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests of a tier; of those that are marked `rotating`, the share of the day, function by function."""
    chosen: list[pytest.Item] = []
    for name, cases in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        tests = list(cases)
        marker = tests[0].get_closest_marker("rotating")
        chosen += tier.share(name, tests, marker.args[0]) if marker else tests
    return chosen
