"""Prices learned from measurements: by what factor each item of a bill costs more, or less, than the rates say.

An observation is a statement's bill by the built-in rates, over the rows that arrived, and its measured CPU time. A
regression finds the factors that explain the observations best. It

- minimizes relative errors: a statement of a minute weighs no more than one of a second;
- is robust: the weight of an outlier is cut off, so that one bad measurement changes little; [Huber 64]
- starts from the built-in rates: with few observations factors stay near 1, without any they are 1;
- keeps factors between `LEAST` and `MOST`.

Fixed costs have two parts: short tasks, which are part of the executors' CPU time, and the driver, which is the rest of
the process. The parts are fitted separately and added up, the driver at a price of its own.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from slackwater.job.file.price_basis import DRIVER
from slackwater.physical.bill import EVEN, WORK, Bill, Item

LEAST, MOST = 0.1, 10.0
"""The range of factors."""

FAITH = 0.25
"""The weight of a built-in rate, in statements that consist of its item alone."""

CLEAR = 20_000.0
"""The measurement error of a statement, in microseconds."""

BEND = 1.5
"""Errors above this multiple of the median error get a reduced weight."""

SURE = 0.05
"""The least relative error that counts as the median."""

TASKS = 0.75
"""The work of tasks in fixed costs, in parts of the built-in rates; the rest is the driver's."""

OBSCURED = 0.2
"""The error of what is taken to be the driver's, in parts of the tasks beside it: collecting their garbage, compiling
their code."""

ROUNDS, SWEEPS = 30, 200


@dataclass(frozen=True, slots=True)
class Observation:
    """A bill by the built-in rates, and the CPU time of executors or of the driver, in microseconds.

    `beside` is the CPU time of the tasks that ran beside the driver.
    """

    bill: Bill
    executors: float | None = None
    driver: float | None = None
    beside: float = 0.0


def fitted(observations: Sequence[Observation], driver: float = DRIVER, built_in: Bill = EVEN) -> Bill:
    """The factors that explain the observations: around built-in ones, with a second of the driver at a price."""
    tasks = [(list(sample.bill), sample.executors, 0.0) for sample in observations if sample.executors is not None]
    waits = [
        ([sample.bill.fixed], sample.driver, OBSCURED * sample.beside)
        for sample in observations
        if sample.driver is not None
    ]
    *work, short = _regression(tasks, [*([1.0] * len(WORK)), TASKS])
    (waiting,) = _regression(waits, [(built_in.fixed - TASKS) / driver])
    factors = zip(built_in, (*work, short + driver * waiting), strict=True)
    return Bill(*(usual * min(MOST, max(LEAST, factor / usual)) for usual, factor in factors))


def _regression(observed: Sequence[tuple[Sequence[float], float, float]], prior: Sequence[float]) -> list[float]:
    """Factors of the columns, none negative; errors are relative to the expected cost of a row and its own error."""
    rows, targets = [row for row, _, _ in observed], [target for _, target, _ in observed]
    scales = [sum(row) + CLEAR + error for row, _, error in observed]
    shares = [[value / scale for value in row] for row, scale in zip(rows, scales, strict=True)]
    ratios = [target / scale for target, scale in zip(targets, scales, strict=True)]
    factors = list(prior)
    weights = [1.0] * len(rows)
    for _ in range(ROUNDS):
        before = factors
        factors = _least_squares(shares, ratios, weights, prior)
        errors = [abs(ratio - _product(share, factors)) for share, ratio in zip(shares, ratios, strict=True)]
        bend = BEND * max(SURE, statistics.median(errors)) if errors else 1.0
        weights = [min(1.0, bend / error) if error > 0 else 1.0 for error in errors]
        if all(math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-12) for one, two in zip(before, factors, strict=True)):
            break
    return factors


def _least_squares(
    rows: Sequence[Sequence[float]], targets: Sequence[float], weights: Sequence[float], prior: Sequence[float]
) -> list[float]:
    """Weighted least squares, one factor at a time and none below 0, pulled towards the prior."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(prior)
    weighted = [[w * value for value, w in zip(column, weights, strict=True)] for column in columns]
    products = [[_product(one, other) for other in columns] for one in weighted]
    wanted = [_product(column, targets) for column in weighted]
    factors = list(prior)
    for _ in range(SWEEPS):
        moved = 0.0
        for k, old in enumerate(factors):
            slope = wanted[k] - _product(products[k], factors)
            factors[k] = max(0.0, old + (slope + FAITH * (prior[k] - old)) / (products[k][k] + FAITH))
            moved = max(moved, abs(factors[k] - old))
        if moved < 1e-9:
            break
    return factors


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def work_in_seconds(bill: Bill, factors: Bill = EVEN) -> float:
    """The executors' CPU time that a bill predicts, in seconds."""
    return bill.times(factors).work / 1e6


def counted_for(observations: Sequence[Observation]) -> dict[Item, int]:
    """How many observations inform each item: those in which it is a tenth of the work or more."""
    counts = dict.fromkeys(Item, 0)
    for sample in observations:
        if sample.executors is not None:
            for item in WORK:
                counts[item] += sample.bill[item] >= 0.1 * max(sample.bill.work, CLEAR)
        counts[Item.FIXED] += sample.driver is not None
    return counts
