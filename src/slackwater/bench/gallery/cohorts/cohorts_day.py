"""A day of a shop with a year of orders behind it: most rows are there in the morning, and the day adds a little.

1.4 million orders of 230,000 customers at scale 1, of which 1 in 25 is of today. Customers stay for months and order
less and less. Refunds are of orders of the last weeks; they are requested, decided, and sometimes withdrawn.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from slackwater.bench.gallery.sampling import (
    DAY,
    Ints,
    Random,
    Tables,
    arrival_of,
    by_run,
    dates,
    daytime,
    decimals,
    feed,
    later,
    moments,
    parted,
    positions,
    random_of,
    scaled,
    words,
    zipf,
)

HOURS = (8, 16, 24)
BUSY = (2, 1, 1, 3, 7, 8, 9, 8, 9, 12, 11, 6)
COUNTRIES = 24
YEAR = 360
RUNS = len(HOURS)


def standing(_scale: float) -> Tables:
    country = np.arange(COUNTRIES)
    regions = np.array(("north", "south", "east", "west", "overseas"))
    names = [f"{chr(65 + n // 5)}{chr(65 + n % 7 + 3)}{n % 10}" for n in range(COUNTRIES)]
    return {"countries": pa.table({"country": pa.array(names), "region": pa.array(regions[country % len(regions)])})}


def arrivals(scale: float, day: int) -> list[Tables]:
    random = random_of("cohorts", day)
    customers = scaled(230_000, scale, 40)
    joined = -random.integers(0, YEAR, customers)
    lengths = random.geometric(0.17, customers).clip(max=80)
    of = np.repeat(np.arange(customers), lengths)
    since = np.where(positions(lengths) == 0, 0, random.exponential(70, len(of))).astype(np.int64)
    on = np.minimum(joined[of] + since, 0)
    on = np.where((on == 0) & (random.random(len(of)) < 0.75), -random.integers(1, 60, len(of)), on)
    on = np.maximum(on, joined[of])
    on, of = on[order := np.argsort(on, kind="stable")], of[order]
    at = daytime(random, len(of), BUSY) + on * DAY
    total = random.lognormal(8.6, 0.8, len(of)).astype(np.int64) + 100
    channels = {"search": 0.4, "ads": 0.25, "referral": 0.1, "direct": 0.25}
    orders = pa.table(
        {
            "order_id": np.arange(len(of)) + day * 10_000_000,
            "customer_id": of,
            "ordered_at": moments(day, at),
            "channel": pa.array(words(random, len(of), channels)),
            "status": pa.array(words(random, len(of), {"shipped": 0.94, "paid": 0.04, "cancelled": 0.02})),
            "total": decimals(total),
        }
    )
    signed_up = np.where(joined < 0, joined * DAY, daytime(random, customers, BUSY))
    profiles = pa.table(
        {
            "customer_id": np.arange(customers),
            "country": standing(scale)["countries"]["country"].take(zipf(random, customers, COUNTRIES, 0.7)),
            "is_subscriber": pa.array(random.random(customers) < 0.2),
            "joined_on": dates(day, joined),
        }
    )
    arrives = arrival_of(at, HOURS)
    return by_run(
        {
            "orders": parted(orders, arrives, RUNS),
            "customers": parted(profiles, arrival_of(signed_up, HOURS), RUNS),
            "refunds": _refunds(random, orders, total, np.where(on > -30, arrives, -1)),
        },
        RUNS,
    )


def _refunds(random: Random, orders: pa.Table, total: Ints, arrives: Ints) -> list[pa.Table]:
    """For one order in ten of the last month, from any run of today on."""
    chosen = np.flatnonzero((arrives >= 0) & (random.random(len(arrives)) < 0.1))
    starts = np.maximum(arrives[chosen], random.choice(RUNS, len(chosen), p=(0.8, 0.1, 0.1)))
    before = pa.table(
        {
            "refund_id": orders["order_id"].take(chosen),
            "order_id": orders["order_id"].take(chosen),
            "amount": decimals(total[chosen] // random.choice((1, 1, 2, 5), len(chosen))),
            "state": pa.array(np.full(len(chosen), "requested")),
        }
    )
    after = before.set_column(3, "state", pa.array(words(random, len(chosen), {"paid": 0.8, "declined": 0.2})))
    updated = later(random, starts, 0.3, RUNS)
    deleted = later(random, np.maximum(starts, updated), 0.03, RUNS)
    return feed(before, after, arrives=starts, updated=updated, deleted=deleted, runs=RUNS)
