"""Prices learned from measurements: known factors are found again, whatever disturbs."""

from __future__ import annotations

from random import Random

import pytest

from slackwater.job.file.price_basis import DRIVER
from slackwater.job.learning.calibration import (
    LEAST,
    MOST,
    TASKS,
    Observation,
    counted_for,
    fitted,
    work_in_seconds,
)
from slackwater.physical.bill import EVEN, WORK, Bill, Item

SLOW_DISK = Bill(compute=0.8, read=3.0, write=2.0, shuffle=1.5, broadcast=0.5, fixed=1.0)


def measured(random: Random, factors: Bill, noise: float = 0.0) -> Observation:
    """A statement of some of the items, as a cluster with these factors would take for it."""
    drawn: dict[Item, float] = {item: 10 ** random.uniform(3, 7) for item in WORK if random.random() < 0.6}
    bill = Bill.of({**drawn, Item.FIXED: random.uniform(1e5, 4e5)})
    cpu = bill.times(factors).work + TASKS * bill.fixed
    return Observation(bill, executors=cpu * 2 ** random.gauss(0, noise))


def close(bill: Bill, expected: Bill, within: float) -> bool:
    return all(bill[item] == pytest.approx(expected[item], rel=within) for item in WORK)


def test_nothing_measured_leaves_the_built_in_rates() -> None:
    assert fitted([]) == EVEN


def test_known_factors_are_found_again() -> None:
    random = Random(1)
    assert close(fitted([measured(random, SLOW_DISK) for _ in range(300)]), SLOW_DISK, 0.05)


@pytest.mark.parametrize("seed", range(5))
def test_noise_and_outliers_move_little(seed: int) -> None:
    random = Random(seed)
    observed = [measured(random, SLOW_DISK, noise=0.2) for _ in range(200)]
    wild = [Observation(each.bill, 50 * (each.executors or 0)) for each in observed[:20]]
    assert close(fitted([*wild, *observed[20:]]), SLOW_DISK, 0.35)
    # The same without being robust would be far off: the twenty say fifty times as much.
    assert sum(each.executors or 0 for each in wild) > 3 * sum(each.executors or 0 for each in observed[20:])


@pytest.mark.parametrize("seed", range(5))
def test_no_factor_is_below_what_is_believed_or_above(seed: int) -> None:
    random = Random(seed)
    observed = [measured(random, EVEN) for _ in range(20)]
    free = fitted([Observation(each.bill, 0.0, 0.0) for each in observed])
    dear = fitted([Observation(each.bill, 1e4 * (each.executors or 0), 1e12) for each in observed])
    assert all(LEAST <= number < 0.7 for number in free)
    assert max(dear) <= MOST
    assert max(dear) > 5


def test_one_statement_moves_only_what_it_is_about_and_not_all_the_way() -> None:
    bill = fitted([Observation(Bill(read=1e6, fixed=1e5), executors=3e6 + 3e4)])
    assert 1.5 < bill.read < 3.0
    assert (bill.compute, bill.write, bill.shuffle, bill.broadcast) == (1, 1, 1, 1)


def test_what_is_small_says_nothing_of_what_rows_cost() -> None:
    tiny = [Observation(Bill(compute=50.0, read=80.0, fixed=1e5), executors=2e5) for _ in range(50)]
    bill = fitted(tiny)
    assert close(bill, EVEN, 0.02)
    assert bill.fixed > 1.5


def test_what_the_driver_took_is_fixed() -> None:
    observed = [Observation(Bill(read=1e6, fixed=2e5 * n), driver=8e5 * n) for n in range(1, 20)]
    bill = fitted(observed)
    assert bill.fixed == pytest.approx(4 * DRIVER + TASKS, rel=0.1)
    assert close(bill, EVEN, 1e-9)


def test_the_same_observations_give_the_same_prices_in_any_order() -> None:
    random = Random(7)
    observed = [measured(random, SLOW_DISK, noise=0.3) for _ in range(40)]
    one, other = fitted(observed), fitted(observed[::-1])
    assert one == fitted(observed)
    assert all(a == pytest.approx(b, rel=1e-5) for a, b in zip(one, other, strict=True))


def test_what_observations_are_about() -> None:
    observed = [
        Observation(Bill(compute=1e6, read=1e5, write=1.0, fixed=1e5), executors=1.0),
        Observation(EVEN, None, 2),
    ]
    counts = counted_for(observed)
    assert counts == {**dict.fromkeys(Item, 0), Item.COMPUTE: 1, Item.READ: 0, Item.FIXED: 1}
    assert work_in_seconds(Bill(compute=1e6, read=2e6, fixed=9e9), Bill(2, 1, 1, 1, 1, 1)) == 4.0


def test_long_tasks_hide_what_the_driver_takes() -> None:
    """Ten runs with 17 s of tasks beside 0.3 s of fixed costs do not show that these cost nine times as much."""
    usual = Bill(1.0, 1.0, 1.0, 1.0, 1.0, 6.0)

    def learned(beside: float) -> float:
        seen = [Observation(Bill(fixed=3e5), driver=2.8e6, beside=beside)] * 10
        return fitted(seen, driver=1.0, built_in=usual).fixed

    assert learned(1e5) > 8.5
    assert 6.0 < learned(17e6) < 7.0
