"""What would make early work pay: each change is planned as if it were made, and reported only if it helps.

Changes of numbers (prices of early hours, rows that arrive early, deliveries) choose again among what the rules have
found. Promises and other queries are explored anew. The number of plans is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from slackwater.advice.file_text import FileKind, entry
from slackwater.advice.planned_problem import CLEARLY, PlannedProblem, normalized
from slackwater.advice.query_parts import parts_of
from slackwater.advice.table_promises import Promises, TablePromise, combined
from slackwater.advice.words import listed
from slackwater.catalog.statistics import Arrival, Statistics, TableStatistics
from slackwater.figures import number
from slackwater.json_text import Json
from slackwater.physical.bill import Bill
from slackwater.physical.unit import Unit
from slackwater.plan.plan import Plan
from slackwater.rows.other_arrivals import bringing
from slackwater.search.objective import WeightedSum
from slackwater.time.timeline import Timeline

MOST_PLANS = 20
"""Plans that are made to answer one question."""
WORTH = 0.9
"""A change is reported if it brings the cost down to this part, or if early work pays only with it."""
CHEAPEST = 0.1
"""The lowest price of early hours that is tried, as a part of the present one."""
FINER = 1.1
"""A price is not sought more precisely than by this factor."""
SHARES = (0.2, 0.1, 0.05, 0.02, 0.01)
"""The shares of rows at the last run that are tried."""
TIMES_MORE = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""How many times as many rows are tried."""
MOSTLY_FIXED = 0.25
"""More rows are tried if fixed costs are this part of a full recompute, or more."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change with which the best plan is clearly cheaper."""

    said: str
    """The change in words, after "if"."""
    write: Mapping[str, Json]
    """What to merge into the job file or the catalog file; nothing where it is no matter of the file."""
    option: str
    """What to give on the command line, where that is the place."""
    cost: float
    batch: float
    kind: FileKind
    of_data: bool = False
    """Whether it is a matter of the data; then the file only says what is expected of it."""

    def lines(self) -> list[str]:
        """What to write, as text."""
        if self.of_data:
            return []
        is_job = self.kind is FileKind.JOB
        lines = [entry(key, value, self.kind) for key, value in self.write.items() if is_job and key != "sources"]
        sources = self.write.get("sources") if is_job else self.write
        for name, keys in sources.items() if isinstance(sources, Mapping) else ():
            added = (
                ", ".join(entry(key, value, self.kind) for key, value in keys.items())
                if isinstance(keys, Mapping)
                else ""
            )
            lines.append(f"add to {'source' if is_job else 'table'} `{name}`: {added}")
        return [*lines, *([self.option] if self.option else [])]

    def as_value(self, unit: Unit) -> dict[str, Json]:
        return {
            "if": self.said,
            "write": dict(self.write),
            **({"option": self.option} if self.option else {}),
            "cost": self.cost,
            "batch_cost": self.batch,
            **({"cost_cpu_s": unit.cpu_s(self.cost)} if unit is Unit.CPU else {}),
        }


@dataclass
class _Tries:
    """How many plans may still be made."""

    left: int = MOST_PLANS

    def take(self) -> bool:
        self.left -= 1
        return self.left >= 0


@dataclass(frozen=True)
class Remedies:
    """All changes that are tried for a problem."""

    problem: PlannedProblem
    kind: FileKind
    tries: _Tries = field(default_factory=_Tries)
    vain: list[str] = field(default_factory=list)
    """What was tried and does not help, in words; filled by `remedies`."""

    def remedies(self) -> tuple[Remedy, ...]:
        """The changes that help, the most helpful first; those that only help with others are left out."""
        every = [*self._promises(), *self._other_queries(), *self._numbers(), *self._all_methods()]
        return tuple(sorted(every, key=lambda remedy: remedy.cost / remedy.batch))

    @property
    def now(self) -> float:
        """The cost of what is done now."""
        plan = self.problem.plan
        return plan.rank if self.problem.pays(plan) else plan.batch_rank

    def _remedy(
        self, said: str, plan: Plan, write: Mapping[str, Json], option: str = "", *, same_work: bool = True
    ) -> Remedy | None:
        """A change, if it helps. The costs of other work or at other prices cannot be compared with those of now."""
        if not self.problem.pays_clearly(plan):
            return None
        before = self.now if same_work else self.now / self.problem.plan.batch_rank * plan.batch_rank
        if self.problem.pays(self.problem.plan) and plan.rank > WORTH * before:
            return None
        return Remedy(said, write, option, plan.rank, plan.batch_rank, self.kind)

    # --- promises ----------------------------------------------------------------------------------------------------

    def _promises(self) -> Iterator[Remedy]:
        promises = Promises(self.problem, self.kind)
        for candidates in (promises.arriving_together, promises.never_null):
            yield from self._together(list(candidates()))
        for candidates in (promises.keys, promises.only_appended, promises.static):
            for promise in candidates():
                if (remedy := self._promised(promise)) is not None:
                    yield remedy

    def _together(self, promises: list[TablePromise]) -> Iterator[Remedy]:
        """Promises that may only help together: all of them, and if that helps, each alone."""
        if not promises or (remedy := self._promised(combined(promises))) is None:
            return
        before = len(self.vain)
        alone = [(p, each) for p in promises if len(promises) > 1 and (each := self._promised(p)) is not None]
        del self.vain[before:]
        enough = [each for _, each in alone if each.cost <= remedy.cost / WORTH**0.5]
        if enough:
            yield min(enough, key=lambda each: each.cost)
            return
        yield from (each for _, each in alone)
        yield remedy

    def _promised(self, promise: TablePromise) -> Remedy | None:
        if not self.tries.take():
            return None
        statistics = self.problem.statistics
        plan = self.problem.planned_with(promise.tables, promise.statistics(statistics) if promise.arrivals else None)
        entries: dict[str, Json] = {name: dict(written) for name, written in promise.entries.items()}
        write: dict[str, Json] = {"sources": entries} if self.kind is FileKind.JOB else entries
        remedy = self._remedy(promise.said, plan, write, same_work=not promise.arrivals)
        if remedy is None:
            self.vain.append(str(promise))
        return remedy

    # --- other queries -----------------------------------------------------------------------------------------------

    def _other_queries(self) -> Iterator[Remedy]:
        """Queries without the columns that need one table, or one aggregate that cannot be merged from parts."""
        for name, query in self.problem.queries.items():
            tried = set[frozenset[str]]()
            for part in parts_of(query):
                gone, left = part.split(query)
                names = frozenset(output.name for output in gone)
                if not gone or not left.outputs or names in tried:
                    continue
                tried.add(names)
                fewer = normalized({**self.problem.queries, name: left})
                if part.is_read_by(fewer[name]) or not self.tries.take():
                    continue
                need, own = ("needs", "its") if len(gone) == 1 else ("need", "their")
                whose = f" of query {name}" if name else ""
                said = (
                    f"{listed(each.name for each in gone)}{whose}, which {need} {part.what}, had a query of {own} own"
                )
                if (remedy := self._remedy(said, self.problem.planned_for(fewer), {}, same_work=False)) is not None:
                    yield remedy

    # --- numbers -----------------------------------------------------------------------------------------------------

    def _numbers(self) -> Iterator[Remedy]:
        if self.problem.pays(self.problem.plan):
            return
        for change in (self._cheaper_hours, self._earlier_rows, self._more_rows, self._fewer_deliveries):
            if (remedy := change()) is not None:
                yield remedy

    def _cheaper_hours(self) -> Remedy | None:
        """The highest price of early hours at which early work pays.

        The best cost at a price f is the least of many lines in f, and batch is one line. Each plan tells the price up
        to which it pays itself; the best plan at that price pays up to a higher one, until nothing changes.
        """
        timeline, last = self.problem.timeline, max(self.problem.timeline.deliver)
        weights = timeline.weights
        if self.problem.options.objective_of(timeline) != WeightedSum(weights) or not any(weights[: last - 1]):
            return None
        price, paying, too_high, best = CHEAPEST, 0.0, 1.0, None
        while price > FINER * paying and self.tries.take():
            plan = self.problem.chosen_again(timeline=_priced(timeline, price))
            if self.problem.pays_clearly(plan):
                best, paying = plan, price
                price = min(_pays_up_to(plan, timeline, min(self.problem.needed, CLEARLY)), too_high)
            elif best is None:
                break
            else:
                too_high, price = price, (price * paying) ** 0.5
        if best is None:
            self.vain.append(f"early hours at {_percent(CHEAPEST)} of their price")
            return None
        shown = ",".join(f"{weight:g}" for weight in best.weights)
        said = (
            f"CPU time before {timeline.time(last)} cost {_percent(best.weights[0] / weights[0])} of its present price"
        )
        write: dict[str, Json] = {"weights": list(best.weights)} if self.kind is FileKind.JOB else {}
        return self._remedy(said, best, write, "" if write else f"--weights {shown}", same_work=False)

    def _earlier_rows(self) -> Remedy | None:
        """The largest share of rows at the last run with which early work pays."""
        last = max(self.problem.timeline.deliver)
        tables = [t for t in self.problem.tables.values() if t.changing and t.name in self.problem.statistics]
        statistics = {table.name: self.problem.statistics[table.name] for table in tables}
        rows = sum(table.total for table in statistics.values())
        share = sum(table.change(last).inserts for table in statistics.values()) / rows if rows else 0.0
        smaller = [each for each in SHARES if each < share]
        best: tuple[float, Plan, dict[str, TableStatistics]] | None = None
        for each in reversed(smaller):  # the least share first: if that does not pay, none does
            moved = {name: _moved(table, last, each) for name, table in statistics.items()}
            if not self.tries.take():
                break
            plan = self.problem.chosen_again(statistics={**self.problem.statistics, **moved})
            if not self.problem.pays_clearly(plan):
                break
            best = each, plan, moved
        time = self.problem.timeline.time(last)
        if best is None:
            self.vain.extend([f"at most {_percent(smaller[-1])} of the rows at {time}"] if smaller else [])
            return None
        each, plan, moved = best
        said = (
            f"at most {_percent(each)} of the rows arrived at {time} ({_percent(share)} are expected), "
            "for example with one more run shortly before"
        )
        remedy = self._remedy(said, plan, self._arrivals(moved), same_work=False)
        return replace(remedy, of_data=True) if remedy is not None else None

    def _arrivals(self, tables: Statistics) -> dict[str, Json]:
        times = self.problem.timeline.times
        entries: dict[str, Json] = {}
        for name, table in tables.items():
            arrives: dict[str, Json] = {
                time: _arrival_value(arrival) for time, arrival in zip(times, table.arrivals, strict=False)
            }
            entries[name] = {"arrives": arrives} if self.kind is FileKind.CATALOG else {"expect": {"arrives": arrives}}
        return entries if self.kind is FileKind.CATALOG else {"sources": entries}

    def _more_rows(self) -> Remedy | None:
        """How many times as many rows make up for fixed costs."""
        if fixed_share(self.problem.plan) < MOSTLY_FIXED:
            return None
        for times in TIMES_MORE:
            more = {
                name: bringing(table, tuple(_times(arrival, times) for arrival in table.arrivals))
                for name, table in self.problem.statistics.items()
            }
            if not self.tries.take():
                return None
            plan = self.problem.chosen_again(statistics=more)
            if self.problem.pays_clearly(plan):
                return self._remedy(f"there were {number(times)} times as many rows", plan, {}, same_work=False)
        return None

    def _fewer_deliveries(self) -> Remedy | None:
        """Only the last answer."""
        timeline = self.problem.timeline
        if len(timeline.deliver) < 2 or not self.tries.take():
            return None
        last = max(timeline.deliver)
        plan = self.problem.chosen_again(timeline=replace(timeline, deliver=frozenset((last,)), by_query=()))
        write: dict[str, Json] = {"deliver": "final"} if self.kind is FileKind.JOB else {}
        said = f"only {timeline.time(last)} delivered an answer"
        return self._remedy(said, plan, write, "" if write else "--deliver final", same_work=False)

    # --- what is switched off ----------------------------------------------------------------------------------------

    def _all_methods(self) -> Iterator[Remedy]:
        options = self.problem.options
        if (options.methods is None and not options.disable) or not self.tries.take():
            return
        plan = self.problem.planned_with({}, options=replace(options, methods=None, disable=()))
        said = "all methods and rules were allowed"
        write: dict[str, Json] = {"refresh": "auto"} if self.kind is FileKind.JOB and options.methods == () else {}
        if (remedy := self._remedy(said, plan, write)) is not None:
            yield remedy


def fixed_share(plan: Plan) -> float:
    """The part of a plan's cost that does not depend on rows."""
    bills = [step.bill.times(plan.factors) for step in plan.steps if step.bill.total]
    whole = sum(bills, Bill())
    return whole.fixed / whole.total if whole.total else 0.0


def _priced(timeline: Timeline, price: float) -> Timeline:
    """A timeline with cheaper hours before the last delivery, in two digits."""
    last = max(timeline.deliver)
    weights = (*(_two_digits(w * price) for w in timeline.weights[: last - 1]), *timeline.weights[last - 1 :])
    return replace(timeline, weights=weights)


def _two_digits(value: float) -> float:
    """A number in two digits, rounded down."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1) if value else 1.0
    return float(f"{math.floor(value / step * (1 + 1e-9)) * step:.2g}")


def _pays_up_to(plan: Plan, timeline: Timeline, needed: float) -> float:
    """The price of early hours, as a part of the present one, up to which a plan pays."""
    last = max(timeline.deliver)
    early = sum(w * (c - needed * b) for w, c, b in _parts(plan, timeline)[: last - 1])
    late = sum(w * (needed * b - c) for w, c, b in _parts(plan, timeline)[last - 1 :])
    return late / early if early > 0 else 1.0


def _parts(plan: Plan, timeline: Timeline) -> list[tuple[float, float, float]]:
    return list(zip(timeline.weights, plan.cost, plan.batch_cost, strict=True))


def _moved(table: TableStatistics, last: int, share: float) -> TableStatistics:
    """A table of which only a share arrives at the last run; the rest comes before, as it is spread there."""
    now = table.change(last)
    before = sum(arrival.inserts for arrival in table.arrivals[: last - 1])
    whole = before + now.inserts
    if not before or now.inserts <= share * whole:
        return table
    factor, rest = whole * (1 - share) / before, whole * share / now.inserts
    arrivals = [replace(arrival, inserts=round(arrival.inserts * factor)) for arrival in table.arrivals[: last - 1]]
    moved = round(whole) - sum(round(arrival.inserts) for arrival in arrivals)
    return replace(
        table,
        arrivals=(*arrivals, Arrival(moved, now.updates * rest, now.deletes * rest), *table.arrivals[last:]),
    )


def _times(arrival: Arrival, factor: float) -> Arrival:
    return Arrival(arrival.inserts * factor, arrival.updates * factor, arrival.deletes * factor)


def _arrival_value(arrival: Arrival) -> Json:
    if not arrival.updates and not arrival.deletes:
        return arrival.inserts
    return {"inserts": arrival.inserts, "updates": arrival.updates, "deletes": arrival.deletes}


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.095 else f"{100 * share:.2g} %"
