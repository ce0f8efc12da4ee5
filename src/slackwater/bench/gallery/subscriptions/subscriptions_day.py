"""A day of a software company on which invoices of the month are written.

55,000 subscriptions and 850,000 invoice lines at scale 1. The lines of the year before are there in the morning;
those of this month come all day. Contracts change all day: seats, plans, ends; their records come by change data
capture, some twice, some late. Credit notes are proposed, approved or deleted.
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
    midnight,
    moments,
    named,
    parted,
    positions,
    random_of,
    scaled,
    words,
    zipf,
)

HOURS = (6, 12, 18, 24)
BUSY = (1, 1, 4, 9, 10, 8, 3, 1)
MONTHS, PLANS = 13, 12
RUNS = len(HOURS)


def standing(_scale: float) -> Tables:
    plan = np.arange(PLANS)
    families = np.array(("starter", "team", "business", "enterprise"))
    return {
        "plans": pa.table(
            {
                "plan_id": ints(plan),
                "name": named("plan ", plan),
                "family": pa.array(families[plan // 3]),
                "list_price": decimals(900 * (1 + plan) ** 2, 10),
            }
        )
    }


def arrivals(scale: float, day: int) -> list[Tables]:
    random = random_of("subscriptions", day)
    count, accounts = scaled(55_000, scale, 20), scaled(30_000, scale, 10)
    account, plan = zipf(random, count, accounts, 0.4), zipf(random, count, PLANS, 0.8)
    seats = random.geometric(0.15, count)
    lines, arrives = _invoice_lines(random, day, plan, seats)
    return by_run(
        {
            "subscriptions": _subscriptions(random, day, account, plan, seats),
            "accounts": _accounts(random, day, accounts),
            "invoice_lines": parted(lines, arrives, RUNS),
            "credit_notes": _credit_notes(random, lines, arrives),
        },
        RUNS,
    )


def _subscriptions(random: Random, day: int, account: Ints, plan: Ints, seats: Ints) -> list[pa.Table]:
    """All contracts in the morning; 6 % change during the day, some of them several times; 2 % come again later."""
    count = len(account)
    changes = np.where(random.random(count) < 0.06, random.geometric(0.6, count), 0)
    of = np.concatenate([np.arange(count), np.repeat(np.arange(count), changes)])
    first = np.arange(len(of)) < count
    at = np.where(first, -DAY, daytime(random, len(of), BUSY))
    op = np.where(first, "c", np.where(random.random(len(of)) < 0.03, "d", "u"))
    status = words(random, count, {"active": 0.9, "past due": 0.07, "test": 0.03})[of]
    records = pa.table(
        {
            "subscription_id": of,
            "account_id": account[of],
            "plan_id": ints(np.where(first | (random.random(len(of)) < 0.7), plan[of], (plan[of] + 1) % PLANS)),
            "seats": ints(np.where(first, seats[of], seats[of] + random.integers(-3, 9, len(of))).clip(min=1)),
            "status": pa.array(status),
            "started_on": dates(day, -(of * 7_919 % 1_200) - 1),
            "source_ms": (at + day * DAY) * 1_000 + random.integers(0, 1_000, len(of)),
            "position": np.arange(len(of)),
            "op": pa.array(op),
        }
    )
    late = np.where(~first & (random.random(len(of)) < 0.05), 4 * HOUR, 0)
    arrives = arrival_of(at + late, HOURS)
    again = np.flatnonzero(random.random(len(of)) < 0.02)
    twice = np.minimum(arrives[again] + 1, RUNS - 1)
    return parted(pa.concat_tables([records, records.take(again)]), np.concatenate([arrives, twice]), RUNS)


def _accounts(random: Random, day: int, accounts: int) -> list[pa.Table]:
    changed = np.flatnonzero(random.random(accounts) < 0.03)
    of = np.concatenate([np.arange(accounts), changed])
    at = np.where(np.arange(len(of)) < accounts, -DAY, daytime(random, len(of), BUSY))
    segments = {"self-service": 0.55, "small": 0.25, "middle": 0.15, "large": 0.05}
    records = pa.table(
        {
            "account_id": of,
            "segment": pa.array(words(random, len(of), segments)),
            "country": pa.array(words(random, len(of), {"US": 0.5, "GB": 0.2, "DE": 0.15, "IN": 0.15})),
            "manager": named("manager ", zipf(random, len(of), 80, 0.6)),
            "updated_at": moments(day, at + random.random(len(of))),
        }
    )
    return parted(records, arrival_of(at, HOURS), RUNS)


def _invoice_lines(random: Random, day: int, plan: Ints, seats: Ints) -> tuple[pa.Table, Ints]:
    """A line a month from the first month of a contract to its last, and metered usage for a third of them."""
    count = len(plan)
    begins = np.where(random.random(count) < 0.5, 0, random.integers(0, MONTHS, count))
    ends = np.where(random.random(count) < 0.75, MONTHS, random.integers(begins + 1, MONTHS + 1))
    lengths = ends - begins
    of, month = np.repeat(np.arange(count), lengths), positions(lengths) + np.repeat(begins, lengths)
    pauses = random.random(len(of)) < 0.02
    of, month = of[~pauses], month[~pauses]
    is_usage = np.repeat((False, True), len(of))
    kept = ~is_usage | np.tile(random.random(len(of)) < 0.8, 2)
    of, month, is_usage = np.tile(of, 2)[kept], np.tile(month, 2)[kept], is_usage[kept]
    grown = np.maximum(1, seats[of] + (month * (of % 5 - 1)) // 4)
    price = 900 * (1 + plan[of]) ** 2
    amount = np.where(is_usage, random.lognormal(6, 1.2, len(of)).astype(np.int64), price * grown)
    first = midnight(day).astype("datetime64[M]") - np.timedelta64(MONTHS - 1, "M")
    lines = pa.table(
        {
            "line_id": np.arange(len(of)) + day * 10_000_000,
            "subscription_id": of,
            "month": pa.array((first + month.astype("timedelta64[M]")).astype("datetime64[D]"), pa.date32()),
            "kind": pa.array(np.where(is_usage, "usage", "recurring")),
            "amount": decimals(amount),
        }
    )
    today = np.where(month == MONTHS - 1, daytime(random, len(of), BUSY), 0)
    return lines, arrival_of(today, HOURS)


def _credit_notes(random: Random, lines: pa.Table, arrives: Ints) -> list[pa.Table]:
    """For 3 % of the lines; most are approved by the evening, a few are deleted."""
    chosen = np.flatnonzero(random.random(lines.num_rows) < 0.03)
    of, starts = lines.take(chosen), np.maximum(arrives[chosen], random.integers(0, RUNS, len(chosen)))
    before = pa.table(
        {
            "credit_id": of["line_id"],
            "line_id": of["line_id"],
            "amount": decimals(random.integers(100, 900, len(chosen))),
            "state": pa.array(np.full(len(chosen), "proposed")),
        }
    )
    after = before.set_column(3, "state", pa.array(words(random, len(chosen), {"approved": 0.9, "refused": 0.1})))
    updated = later(random, starts, 0.7, RUNS)
    leaves = (random.random(len(chosen)) < 0.04) & (starts < RUNS - 1)
    deleted = np.where(leaves, np.maximum(updated, starts + 1), -1)
    return feed(before, after, arrives=starts, updated=updated, deleted=deleted, runs=RUNS)
