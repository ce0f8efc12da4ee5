"""The runs of a schedule: their times, prices and deliveries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from slackwater.errors import UserError, did_you_mean
from slackwater.time.clock import is_mistaken, minutes


@dataclass(frozen=True, slots=True)
class Timeline:
    """t1 < … < tk. Runs count from one; run 0 is "before anything arrived".

    `weights` is the price of a unit of work at each run; `deliver` are the runs that deliver an answer. A query that
    is not delivered at all of these runs has its own entry in `by_query`.
    """

    times: tuple[str, ...]
    weights: tuple[float, ...]
    deliver: frozenset[int]
    by_query: tuple[tuple[str, frozenset[int]], ...] = ()

    @staticmethod
    def of(
        times: Sequence[str],
        weights: Sequence[float] | None = None,
        deliver: str | Iterable[str | int] | Mapping[str, str | Iterable[str | int]] = "final",
    ) -> Timeline:
        """A checked timeline. `deliver` is `final`, `every`, or a list of times or run numbers; or these by query."""
        names = tuple(str(time) for time in times)
        if not names:
            raise UserError("a schedule needs at least one run", hint='e.g. ["14:00", "24:00"]')
        if len(set(names)) != len(names):
            twice = next(n for n in names if names.count(n) > 1)
            raise UserError(f"the schedule has {twice} twice")
        _check_clock(names)
        prices = tuple(float(w) for w in weights) if weights is not None else (1.0,) * len(names)
        if len(prices) != len(names):
            raise UserError(f"{len(prices)} weights for {len(names)} runs", hint="give one weight for each run")
        if any(not w >= 0 for w in prices):
            raise UserError("a weight is negative or not a number", hint="weights are prices: zero or more")
        if not isinstance(deliver, Mapping):
            return Timeline(names, prices, _delivering(names, deliver))
        by_query = {query: _delivering(names, runs) for query, runs in deliver.items()}
        any_of_them = frozenset[int]().union(*by_query.values())
        differing = tuple((query, runs) for query, runs in by_query.items() if runs != any_of_them)
        return Timeline(names, prices, any_of_them, differing)

    @property
    def runs(self) -> range:
        return range(1, len(self.times) + 1)

    @property
    def last(self) -> int:
        return len(self.times)

    def due(self, query: str) -> frozenset[int]:
        """The runs that deliver the answer of a query: those of `by_query`, else all that deliver."""
        return dict(self.by_query).get(query, self.deliver) & self.deliver

    @property
    def is_by_the_clock(self) -> bool:
        """Whether its times are clock times; else they are names, and only their order matters."""
        return all(minutes(time) is not None for time in self.times)

    def weight(self, run: int) -> float:
        return self.weights[run - 1]

    def time(self, run: int) -> str:
        return self.times[run - 1]

    def run_at(self, at: str | int) -> int:
        """The number of a run that is named by its time or by its number."""
        run = _run_at(self.times, at)
        if run is None:
            raise UserError(f"no run at {at}", hint=did_you_mean(str(at), self.times))
        return run


def _check_clock(names: tuple[str, ...]) -> None:
    """Checks that clock times are valid, in order and not mixed with names, since runs are due by them."""
    for name in filter(is_mistaken, names):
        raise UserError(f"{name} is not a clock time", hint="write hours and minutes, from 0:00 to 24:00")
    times = [name for name in names if minutes(name) is not None]
    if times and len(times) < len(names):
        other = next(name for name in names if minutes(name) is None)
        hint = "write every run as a time such as 14:00, or none"
        raise UserError(f"the schedule mixes clock times, {times[0]}, with names, {other}", hint=hint)
    ordered = sorted(times, key=lambda time: minutes(time) or 0)
    for one, other in pairwise(ordered):
        if minutes(one) == minutes(other):
            raise UserError(f"the schedule has {other} twice")
    if times != ordered:
        raise UserError(f"the schedule is not in order: {', '.join(names)}", hint="write the runs from early to late")


def _delivering(times: tuple[str, ...], deliver: str | Iterable[str | int]) -> frozenset[int]:
    if deliver == "final":
        return frozenset((len(times),))
    if deliver == "every":
        return frozenset(range(1, len(times) + 1))
    if isinstance(deliver, str):
        raise UserError(f"deliver: `{deliver}`", hint="final, every, or a list of times")
    runs = {entry: _run_at(times, entry) for entry in deliver}
    for entry in (entry for entry, run in runs.items() if run is None):
        raise UserError(f"deliver names {entry}, which is not in the schedule", hint=did_you_mean(str(entry), times))
    if not runs:
        raise UserError("no run delivers anything", hint="deliver: final")
    return frozenset(run for run in runs.values() if run is not None)


def _run_at(times: tuple[str, ...], at: str | int) -> int | None:
    if isinstance(at, int) and 1 <= at <= len(times):
        return at
    return times.index(str(at)) + 1 if str(at) in times else None
