"""A day of a shop that scores its customers: what they bought, looked at, read and complained about.

110,000 customers, 700,000 purchases, 1.2 million visits, 500,000 actions on mails and 40,000 tickets at scale 1. 60 %
of it is of the weeks before and is there in the morning. Customers are skewed, each fact in its own way; some facts are
of customers that are not known. Customers change and are deleted; tickets are updated.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from slackwater.bench.gallery.sampling import (
    DAY,
    HOUR,
    Ints,
    Random,
    Tables,
    arrival_of,
    by_run,
    dates,
    daytime,
    decimals,
    feed,
    ints,
    later,
    moments,
    named,
    parted,
    random_of,
    scaled,
    unless,
    words,
    zipf,
)

HOURS = (7, 13, 19, 24)
BUSY = (2, 1, 1, 3, 7, 8, 9, 8, 9, 12, 11, 6)
GOODS, WEEKS = 4_000, 4
RUNS = len(HOURS)


def standing(_scale: float) -> Tables:
    random = random_of("features", 0)
    category = zipf(random, GOODS, 45, 0.6)
    return {
        "goods": pa.table(
            {
                "good_id": ints(np.arange(GOODS)),
                "category": named("category ", category, 2),
                "is_luxury": pa.array(random.random(GOODS) < 0.06),
            }
        )
    }


def arrivals(scale: float, day: int) -> list[Tables]:
    random = random_of("features", day)
    customers = scaled(110_000, scale, 50)
    return by_run(
        {
            "customers": _customers(random, day, customers),
            "purchases": _purchases(random, day, scaled(700_000, scale, 50), customers),
            "visits": _visits(random, day, scaled(1_200_000, scale, 50), customers),
            "mail_actions": _mail_actions(random, day, scaled(500_000, scale, 50), customers),
            "tickets": _tickets(random, day, scaled(40_000, scale, 20), customers),
        },
        RUNS,
    )


def _when(random: Random, count: int) -> Ints:
    """Seconds after midnight; 60 % are of the weeks before."""
    weeks = random.integers(1, 7 * WEEKS, count) * DAY
    return daytime(random, count, BUSY) - np.where(random.random(count) < 0.6, weeks, 0)


def _customers(random: Random, day: int, customers: int) -> list[pa.Table]:
    """All of them in the morning; 4 % change during the day, and a few ask to be deleted."""
    changed = np.flatnonzero(random.random(customers) < 0.04)
    of = np.concatenate([np.arange(customers), changed])
    first = np.arange(len(of)) < customers
    at = np.where(first, 0, daytime(random, len(of), BUSY))
    records = pa.table(
        {
            "customer_id": of,
            "segment": pa.array(words(random, len(of), {"bronze": 0.6, "silver": 0.3, "gold": 0.1})),
            "country": pa.array(words(random, customers, {"SE": 0.4, "NO": 0.3, "DK": 0.2, "FI": 0.1})[of]),
            "joined_on": dates(day, -(of * 104_729 % 3_000) - 1),
            "has_consented": pa.array(random.random(len(of)) < 0.9),
            "is_deleted": pa.array(~first & (random.random(len(of)) < 0.05)),
            "version": at,
        }
    )
    return parted(records, arrival_of(at, HOURS), RUNS)


def _purchases(random: Random, day: int, count: int, customers: int) -> list[pa.Table]:
    at = _when(random, count)
    purchases = pa.table(
        {
            "purchase_id": np.arange(count) + day * 10_000_000,
            "customer_id": zipf(random, count, customers, 0.6),
            "good_id": ints(zipf(random, count, GOODS, 0.9)),
            "store_id": ints(zipf(random, count, 70, 0.5)),
            "purchased_at": moments(day, at),
            "amount": decimals(random.lognormal(7.8, 1.0, count).astype(np.int64) + 1, 10),
            "is_online": pa.array(random.random(count) < 0.45),
            "coupon": unless(random.random(count) > 0.1, named("C", random.integers(0, 30, count)).to_numpy(False)),
        }
    )
    return parted(purchases, arrival_of(at, HOURS), RUNS)


def _visits(random: Random, day: int, count: int, customers: int) -> list[pa.Table]:
    """A tenth of the visits of apps come late."""
    at = _when(random, count)
    device = words(random, count, {"app": 0.5, "web": 0.5})
    late = (device == "app") & (random.random(count) < 0.1)
    visits = pa.table(
        {
            "visit_id": np.arange(count) + day * 10_000_000,
            "customer_id": zipf(random, count, customers + customers // 50, 0.8),
            "visited_at": moments(day, at),
            "device": pa.array(device),
            "pages": ints(random.geometric(0.25, count)),
        }
    )
    return parted(visits, arrival_of(at + late * random.exponential(4 * HOUR, count), HOURS), RUNS)


def _mail_actions(random: Random, day: int, count: int, customers: int) -> list[pa.Table]:
    """Each of a customer and one of the forty mails that were sent lately."""
    at = _when(random, count)
    customer = zipf(random, count, customers, 0.3)
    actions = {"delivered": 0.7, "opened": 0.22, "clicked": 0.07, "unsubscribed": 0.01}
    mails = pa.table(
        {
            "action_id": np.arange(count) + day * 10_000_000,
            "mail_id": customer * 40 + random.integers(0, 40, count),
            "customer_id": customer,
            "action": pa.array(words(random, count, actions)),
            "acted_at": moments(day, at),
        }
    )
    return parted(mails, arrival_of(at, HOURS), RUNS)


def _tickets(random: Random, day: int, count: int, customers: int) -> list[pa.Table]:
    at = _when(random, count)
    arrives = arrival_of(at, HOURS)
    before = pa.table(
        {
            "ticket_id": np.arange(count) + day * 1_000_000,
            "customer_id": zipf(random, count, customers, 0.5),
            "topic": pa.array(words(random, count, {"question": 0.6, "complaint": 0.25, "return": 0.15})),
            "opened_at": moments(day, at),
            "status": pa.array(np.full(count, "open")),
            "satisfaction": unless(random.random(count) < 0.7, random.integers(1, 6, count)),
        }
    )
    after = before.set_column(4, "status", pa.array(words(random, count, {"waiting": 0.3, "closed": 0.7})))
    updated = later(random, arrives, 0.5, RUNS)
    deleted = later(random, np.maximum(arrives, updated), 0.02, RUNS)
    return feed(before, after, arrives=arrives, updated=updated, deleted=deleted, runs=RUNS)
