"""Did the planner pick the cheaper way? Each query kept incrementally and computed whole, both executed.

The costs are what the planner compares by estimate, at the prices of the runs: CPU of JVM and Python together, or of
the executors (`--basis`). The other of the two is compared apart. The planner's own choice, as a job with `refresh:
auto`, is one of the two ways; where it is neither, because our rewriting of the query promised enough, it is executed
as well. What a choice has cost more than the better way is its regret. Choices within `CLOSE` of the better way count
as right in the second of the two counts: short runs are not measured better than that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater.bench.frontend import percentile
from slackwater.bench.measure import Failed, Measurements, OfQueries, learned, measure
from slackwater.bench.trial import JobTrial, Setting, TrialCost
from slackwater.bench.workloads import WorkloadQuery
from slackwater.errors import UserError
from slackwater.job.file.price_basis import Basis

if TYPE_CHECKING:
    from slackwater.spark.session import Session

CLOSE = 0.05
INCREMENTAL, FULL, REWRITTEN = "incremental", "full", "rewritten"
WORST = 3


@dataclass(frozen=True, slots=True)
class MeasuredChoice:
    """A query: CPU seconds at the prices of the runs, by way, and which way the planner took."""

    query: str
    costs: Mapping[str, float]
    chosen: str
    promised: float
    """What the incremental plan was expected to cost, in parts of the query's text."""
    equal: bool
    off: str
    """Where measurements and estimates of the incremental plan were furthest apart, in words."""
    other: Mapping[str, float]
    """The same by the other basis: of executors where plans count everything, of everything where they do not."""
    text_off: float | None = None
    """What the query's text took, in parts of what it was expected to take."""

    @property
    def best(self) -> str:
        return min(self.costs, key=lambda way: (self.costs[way], way != self.chosen))

    @property
    def regret(self) -> float:
        return self.costs[self.chosen] - self.costs[self.best]

    @property
    def is_right(self) -> bool:
        return self.regret <= 0

    @property
    def is_close(self) -> bool:
        return self.regret <= CLOSE * self.costs[self.best]

    @property
    def is_right_by_other(self) -> bool:
        """Whether it was right, or close, by the other basis."""
        return self.other[self.chosen] <= (1 + CLOSE) * min(self.other.values())

    @property
    def is_a_choice(self) -> bool:
        """Whether there were two ways at all: not every query can be kept."""
        return len(self.costs) > 1

    @property
    def measured(self) -> float | None:
        """What the incremental plan took, in parts of the whole query."""
        if INCREMENTAL not in self.costs:
            return None
        return self.costs[INCREMENTAL] / max(self.costs[FULL], 1e-6)

    def why(self) -> str:
        """How it came to a wrong choice, in a sentence."""
        got = "nothing" if self.measured is None else f"{self.measured:.2f}"
        return (
            f"{self.query}: took {self.chosen}, {self.regret:.2f} s dearer than {self.best}; kept, it promised "
            f"{self.promised:.2f} of the whole query and took {got}{'; ' if self.off else ''}{self.off}"
        )

    def as_json(self) -> dict[str, object]:
        row: dict[str, object] = {**asdict(self), "right_or_close_by_other": self.is_right_by_other, "error": None}
        return {**row, "best": self.best, "regret_s": self.regret, "right": self.is_right, "close": self.is_close}


@dataclass(frozen=True)
class ChoiceBenchmark(OfQueries):
    """All queries of a workload."""

    workload: str
    scale_factor: float
    arrivals: tuple[float, ...]
    weights: tuple[float, ...]
    results: tuple[MeasuredChoice | Failed, ...]
    factors: Mapping[str, float]
    basis: Basis = Basis.PROCESS

    @property
    def choices(self) -> tuple[MeasuredChoice, ...]:
        return tuple(each for each in self.results if isinstance(each, MeasuredChoice))

    @property
    def right(self) -> int:
        return sum(each.is_right for each in self.choices)

    @property
    def close(self) -> int:
        return sum(each.is_close for each in self.choices)

    @property
    def right_by_other(self) -> int:
        return sum(each.is_right_by_other for each in self.choices)

    @property
    def regret(self) -> float:
        return sum(each.regret for each in self.choices)

    @property
    def best(self) -> float:
        """What the better way of every query costs together."""
        return sum(each.costs[each.best] for each in self.choices)

    @property
    def texts_off(self) -> tuple[float, float, float] | None:
        """What texts took in parts of what was expected of them: quartiles."""
        ratios = [each.text_off for each in self.choices if each.text_off is not None]
        return (percentile(ratios, 25), percentile(ratios, 50), percentile(ratios, 75)) if ratios else None

    @property
    def worst(self) -> tuple[MeasuredChoice, ...]:
        """The choices that cost most, of those that were not right."""
        wrong = [each for each in self.choices if not each.is_right]
        return tuple(sorted(wrong, key=lambda each: -each.regret)[:WORST])

    def as_json(self) -> dict[str, object]:
        listed: list[object] = [
            each.as_json() if isinstance(each, MeasuredChoice) else {"query": each.query, "error": each.error}
            for each in self.results
        ]
        return {
            "workload": self.workload,
            "scale_factor": self.scale_factor,
            "arrivals": list(self.arrivals),
            "weights": list(self.weights),
            "basis": self.basis.value,
            "prices": dict(self.factors),
            "queries": listed,
            "totals": {
                "measured": len(self.choices),
                "failed": len(self.failed),
                "choices": sum(each.is_a_choice for each in self.choices),
                "right": self.right,
                "right_or_close": self.close,
                "right_or_close_by_other": self.right_by_other,
                "regret_s": self.regret,
                "best_s": self.best,
                "equal": sum(each.equal for each in self.choices),
                "texts_off": self.texts_off,
                "worst": [each.why() for each in self.worst],
            },
        }


def choices_from_json(value: object) -> dict[str, MeasuredChoice]:
    """What an earlier benchmark has measured, by query; those that failed are to be tried again."""
    choices: dict[str, MeasuredChoice] = {}
    try:
        if not isinstance(value, dict):
            raise TypeError
        for entry in value["queries"]:
            if entry["error"] is None:
                choices[entry["query"]] = MeasuredChoice(
                    entry["query"],
                    _by_way(entry["costs"]),
                    entry["chosen"],
                    float(entry["promised"]),
                    bool(entry["equal"]),
                    entry["off"],
                    _by_way(entry["other"]),
                    None if entry["text_off"] is None else float(entry["text_off"]),
                )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UserError("this is not a result of `bench choice`", hint="omit --resume to start over") from None
    return choices


def _by_way(costs: Mapping[str, float]) -> dict[str, float]:
    return {way: float(cost) for way, cost in costs.items()}


# --- measuring -------------------------------------------------------------------------------------------------------


def choose(
    session: Session, setting: Setting, query: WorkloadQuery, directory: Path, *, batch_first: bool
) -> MeasuredChoice:
    """One query: kept, whole, and as the planner would have it."""
    history = learned(session, setting, query, directory / "before")
    kept_setting = replace(setting, refresh="incremental")
    kept = measure(session, kept_setting, query, directory / "kept", batch_first=batch_first, history=history)
    auto = JobTrial(session, setting, query, directory / "auto", history).planned()
    weights = setting.timeline.weights
    batch = kept.batches[setting.timeline.last]
    pairs = {FULL: _weighted((batch,), weights[-1:], setting.basis)}
    if kept.keeps:
        pairs[INCREMENTAL] = _weighted(kept.runs, weights, setting.basis)
    equal, chosen = kept.equal, FULL
    if auto.plan.states:
        chosen = INCREMENTAL
    elif not auto.reasons:
        own = measure(session, setting, query, directory / "own", batch_first=batch_first, history=history)
        pairs[REWRITTEN] = _weighted(own.runs, weights, setting.basis)
        equal, chosen = equal and own.equal, REWRITTEN
    costs, other = ({way: pair[n] for way, pair in pairs.items()} for n in (0, 1))
    expected = auto.as_text * kept.expected_batch_s if kept.expected_batch_s is not None else None
    text_off = setting.basis.counted(batch.cpu_s, batch.total_cpu_s) / expected if expected else None
    off = furthest_off(kept, expected)
    return MeasuredChoice(query.name, costs, chosen, kept.promised / auto.as_text, equal, off, other, text_off)


def _weighted(runs: Sequence[TrialCost], weights: Sequence[float], basis: Basis) -> tuple[float, float]:
    """What some runs took at their prices: by what plans count, and by the other basis."""
    priced = list(zip(weights, runs, strict=True))
    executors, everything = sum(w * cost.cpu_s for w, cost in priced), sum(w * cost.total_cpu_s for w, cost in priced)
    return (everything, executors) if basis is Basis.PROCESS else (executors, everything)


def furthest_off(measured: Measurements, text: float | None) -> str:
    """The step, or the whole query, of which the CPU was furthest from what was expected, in words.

    `text` is what was expected of the whole query as it is written.
    """
    times = [(f"{step.name} at run {step.run}", step.cpu_s, step.expected_s) for step in measured.steps]
    times.append(("the whole query", measured.batches[len(measured.runs)].cpu_s, text))
    errors = [(abs(cpu - expected), name, cpu, expected) for name, cpu, expected in times if expected is not None]
    if not errors:
        return ""
    _, name, cpu, expected = max(errors)
    return f"{name} took {cpu:.2f} s, {expected:.2f} s were expected"
