"""A day that goes wrong, lived through on Spark by two jobs: one keeps the morning's plan, one may plan the rest anew.

The day goes wrong at the second run, with the largest changing table of a query: ten times as many rows come as were
forecast; or none, and they come with the run after; or the run is missed, and made up for at the price of the next, or
left out. Both jobs begin with the same plan over the same forecast. Counted is what the rest costs, the runs after the
first, at their prices; at the end both answers are compared with batch's. `wrong_day` is the same by estimate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater.bench.arriving import ArrivingData
from slackwater.bench.measure import Failed, OfQueries, by_turns, learned
from slackwater.bench.trial import JobTrial, Setting, TrialCost, TrialSpent
from slackwater.bench.workloads import WorkloadQuery
from slackwater.bench.wrong_day import MISHAPS, MISSED, NOTHING, TEN_TIMES, RestOfDay, largest, scaled
from slackwater.catalog.statistics import Arrival
from slackwater.errors import UserError
from slackwater.rows.feedback import History

if TYPE_CHECKING:
    from slackwater.spark.session import Session

WRONG = 2
"""The run at which the day goes wrong."""
FACTOR = 3.0
"""Rows off by more than this are a reason to plan anew, as in a job whose file does not say otherwise."""
STATIC, ANEW = "static", "anew"


@dataclass(frozen=True, slots=True)
class Lived:
    """A day with a mishap: what each job spent at its runs, and how the second came to other plans."""

    static: TrialSpent
    anew: TrialSpent
    why: tuple[str, ...]
    """The reasons for planning anew; none where the morning's plan stayed."""
    promised: float | None
    """What the rest was to cost by the first new plan, in parts of what it would have cost without."""
    planning_s: float
    """Seconds of one thread in which the rest was looked at again, and maybe planned anew."""

    @property
    def replanned(self) -> bool:
        return bool(self.why)

    @property
    def equal(self) -> bool:
        return self.static.equal and self.anew.equal

    def rest(self, weights: tuple[float, ...]) -> RestOfDay:
        """Executor CPU of the runs after the first, at their prices."""
        prices = (0.0, *weights[1:])
        return RestOfDay(self.static.cpu(prices), self.anew.cpu(prices))

    def process_rest(self, weights: tuple[float, ...]) -> RestOfDay:
        """The same in total CPU."""
        prices = (0.0, *weights[1:])
        return RestOfDay(self.static.total_cpu(prices), self.anew.total_cpu(prices))


@dataclass(frozen=True)
class Recovery:
    """A query: its largest changing table, and its days by mishap.

    Where the morning's plan keeps nothing there is nothing to recover, and the day is not lived through: None.
    """

    query: str
    table: str | None
    days: Mapping[str, Lived | None]

    @property
    def lived(self) -> dict[str, Lived]:
        return {mishap: day for mishap, day in self.days.items() if day is not None}

    @property
    def equal(self) -> bool:
        return all(day.equal for day in self.lived.values())


@dataclass(frozen=True)
class RecoveryBenchmark(OfQueries):
    """All queries of a workload."""

    workload: str
    scale_factor: float
    arrivals: tuple[float, ...]
    weights: tuple[float, ...]
    results: tuple[Recovery | Failed, ...]

    @property
    def recoveries(self) -> tuple[Recovery, ...]:
        return tuple(each for each in self.results if isinstance(each, Recovery))

    def lived(self, mishap: str) -> dict[str, Lived]:
        """The days with a mishap, by query."""
        return {each.query: each.lived[mishap] for each in self.recoveries if mishap in each.lived}

    def total(self, mishap: str, *, replanned: bool = False, process: bool = False) -> RestOfDay:
        """All queries together or, where asked, those that were planned anew; of the executors or of the process."""
        days = [day for day in self.lived(mishap).values() if day.replanned or not replanned]
        rests = [day.process_rest(self.weights) if process else day.rest(self.weights) for day in days]
        return RestOfDay(sum(rest.static for rest in rests), sum(rest.anew for rest in rests))

    def as_json(self) -> dict[str, object]:
        return {
            "workload": self.workload,
            "scale_factor": self.scale_factor,
            "arrivals": list(self.arrivals),
            "weights": list(self.weights),
            "queries": [self._told(each) for each in self.results],
            "totals": {mishap: self._totals(mishap) for mishap in MISHAPS},
        }

    def _told(self, each: Recovery | Failed) -> dict[str, object]:
        if isinstance(each, Failed):
            return {"query": each.query, "error": each.error}
        rests = {mishap: _rest_as_json(day.rest(self.weights)) for mishap, day in each.lived.items()}
        return {**asdict(each), "rest": rests, "equal": each.equal, "error": None}

    def _totals(self, mishap: str) -> dict[str, object]:
        days = self.lived(mishap).values()
        return {
            "measured": len(days),
            "equal": sum(day.equal for day in days),
            **_rest_as_json(self.total(mishap)),
            "process": _rest_as_json(self.total(mishap, process=True)),
            "planning_s": sum(day.planning_s for day in days),
            "replanned": {
                "queries": sum(day.replanned for day in days),
                **_rest_as_json(self.total(mishap, replanned=True)),
            },
        }


def _rest_as_json(rest: RestOfDay) -> dict[str, float]:
    return {"static_s": rest.static, "anew_s": rest.anew, "share": rest.share}


def recoveries_from_json(value: object) -> dict[str, Recovery]:
    """What an earlier benchmark has measured, by query; those that failed are to be tried again."""
    recoveries: dict[str, Recovery] = {}
    try:
        if not isinstance(value, dict):
            raise TypeError
        for entry in value["queries"]:
            if entry["error"] is None:
                days = {mishap: None if day is None else _lived(day) for mishap, day in entry["days"].items()}
                recoveries[entry["query"]] = Recovery(entry["query"], entry["table"], days)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UserError("this is not a result of `bench recovery`", hint="omit --resume to start over") from None
    return recoveries


def _lived(value: object) -> Lived:
    if not isinstance(value, dict):
        raise TypeError
    promised = None if value["promised"] is None else float(value["promised"])
    why = tuple(map(str, value["why"]))
    return Lived(_spent(value["static"]), _spent(value["anew"]), why, promised, float(value["planning_s"]))


def _spent(value: object) -> TrialSpent:
    if not isinstance(value, dict):
        raise TypeError
    return TrialSpent(tuple(TrialCost(**run) for run in value["runs"]), bool(value["equal"]))


# --- measuring -------------------------------------------------------------------------------------------------------


def recover(
    session: Session, setting: Setting, query: WorkloadQuery, directory: Path, *, batch_first: bool
) -> Recovery:
    """One query through all mishaps; which of the two jobs goes first is taken in turns, as batch is elsewhere."""
    changing = [name for name in setting.data.tables_of(query) if name in setting.data.changing]
    table = largest(changing, setting.data.statistics)
    if table is None:
        return Recovery(query.name, None, {})
    history = learned(session, setting, query, directory / "before")
    days = _Days(session, setting, query, table, directory, history, (STATIC, ANEW) if batch_first else (ANEW, STATIC))
    return Recovery(query.name, table, {mishap: days.with_mishap(mishap) for mishap in MISHAPS})


@dataclass(frozen=True)
class _Days:
    """The days of one query."""

    session: Session
    setting: Setting
    query: WorkloadQuery
    table: str
    directory: Path
    history: History
    ways: tuple[str, ...]

    def with_mishap(self, mishap: str) -> Lived | None:
        """Two jobs through a day that goes wrong; none where what they plan in the morning keeps nothing."""
        expected = {self.table: _forecast(self.setting.data, self.table)} if mishap == TEN_TIMES else {}
        trials = {way: self._trial(mishap, way, expected) for way in self.ways}
        if not trials[STATIC].plan().states:
            return None
        spent = by_turns(
            trials, self.setting, lambda way, trial, run: _live(trial, run, mishap, self.table, skip_missed=way == ANEW)
        )
        made = trials[ANEW].revisions()
        promised = made[0].cost / made[0].static_cost if made and made[0].cost and made[0].static_cost else None
        why = tuple(reason for each in made for reason in each.reasons)
        return Lived(spent[STATIC], spent[ANEW], why, promised, trials[ANEW].replanning_s)

    def _trial(self, mishap: str, way: str, expected: Mapping[str, tuple[Arrival, ...]]) -> JobTrial:
        setting = replace(self.setting, expected=expected, replan=FACTOR if way == ANEW else None)
        directory = self.directory / f"{mishap.replace(' ', '-')}-{way}"
        return JobTrial(self.session, setting, self.query, directory, self.history)


def _live(trial: JobTrial, run: int, mishap: str, table: str, *, skip_missed: bool) -> TrialCost:
    """A run of a day that goes wrong; one that is missed costs nothing, and the next has its work."""
    if run == WRONG and mishap == MISSED:
        return TrialCost.sum(())
    late = (table,) if run == WRONG and mishap == NOTHING else ()
    return trial.run(run, late=late, skip_missed=skip_missed)


def _forecast(data: ArrivingData, table: str) -> tuple[Arrival, ...]:
    """What is forecast of a table of which ten times as much comes."""
    arrivals = list(data.arrivals(table))
    arrivals[WRONG - 1] = scaled(arrivals[WRONG - 1], 0.1)
    return tuple(arrivals)
