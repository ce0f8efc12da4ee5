"""A day of a bank's ledger: journals of several postings, corrections of them, and lines of bank statements.

500,000 journals with 1.4 million postings at scale 1. 3 % of the postings are corrected by a later run (amount and
account), 1 % are reversed (deleted). Nearly all journals balance. Statement lines confirm cash postings, hours later;
some never come, some differ, some have no journal.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from slackwater.bench.gallery.sampling import (
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
    positions,
    random_of,
    scaled,
    words,
    zipf,
)

HOURS = (11, 15, 18, 22)
BUSY = (1, 1, 1, 2, 8, 10, 9, 10, 8, 4, 2, 1)
ACCOUNTS, CASH, BRANCHES = 240, 40, 60
CURRENCIES = ("EUR", "USD", "GBP", "CHF", "SEK")
RUNS = len(HOURS)


def standing(_scale: float) -> Tables:
    account, branch = np.arange(ACCOUNTS), np.arange(BRANCHES)
    classes = np.array(("receivable", "payable", "revenue", "expense", "equity"))
    return {
        "accounts": pa.table(
            {
                "account_id": ints(account),
                "name": named("account ", account, 4),
                "class": pa.array(np.where(account < CASH, "cash", classes[account % len(classes)])),
            }
        ),
        "branches": pa.table(
            {
                "branch_id": ints(branch),
                "city": named("city ", branch),
                "region": pa.array(np.array(("north", "centre", "south", "abroad"))[branch % 4]),
            }
        ),
        "rates": pa.table(
            {
                "currency": pa.array(CURRENCIES),
                "rate": decimals(np.array((1_000_000, 921_400, 1_153_220, 1_061_180, 87_350)), 12, 6),
            }
        ),
    }


def arrivals(scale: float, day: int) -> list[Tables]:
    random = random_of("ledger", day)
    count = scaled(500_000, scale, 20)
    entered = np.sort(daytime(random, count, BUSY))
    journal = np.arange(count) + day * 10_000_000
    journals = pa.table(
        {
            "journal_id": journal,
            "entered_at": moments(day, entered),
            "entered_by": named("clerk ", zipf(random, count, 900, 0.7)),
            "system": pa.array(words(random, count, {"payments": 0.6, "cards": 0.25, "loans": 0.15})),
            "kind": pa.array(words(random, count, {"automatic": 0.93, "manual": 0.07})),
        }
    )
    lengths = random.choice((2, 3, 4, 6), count, p=(0.55, 0.25, 0.15, 0.05))
    of, position = np.repeat(np.arange(count), lengths), positions(lengths)
    value = random.lognormal(9, 1.8, len(of)).astype(np.int64) + 1
    is_last = position == lengths[of] - 1
    others = np.bincount(of, weights=np.where(is_last, 0, value), minlength=count).astype(np.int64)
    wrong = random.random(count) < 0.002
    amount = np.where(is_last, -others[of] + wrong[of] * 500, value)
    account = np.where(
        position == 0, zipf(random, len(of), CASH, 0.7), CASH + zipf(random, len(of), ACCOUNTS - CASH, 0.9)
    )
    home = zipf(random, count, BRANCHES, 0.6)
    postings = pa.table(
        {
            "posting_id": np.arange(len(of)) + day * 100_000_000,
            "journal_id": journal[of],
            "account_id": ints(account),
            "branch_id": ints(np.where(random.random(len(of)) < 0.9, home[of], random.integers(0, BRANCHES, len(of)))),
            "value_date": dates(day, -random.choice((0, 0, 0, 0, 0, 1, 2, 30), count)[of]),
            "currency": pa.array(words(random, count, dict(zip(CURRENCIES, (80, 10, 5, 3, 2), strict=True)))[of]),
            "amount": decimals(amount, 14),
        }
    )
    arrives = arrival_of(entered, HOURS)
    first = np.flatnonzero(position == 0)
    return by_run(
        {
            "journals": parted(journals, arrives, RUNS),
            "postings": _postings(random, postings, amount, arrives[of]),
            "statement_lines": _statement_lines(random, day, postings.take(first), amount[first], entered[of][first]),
        },
        RUNS,
    )


def _postings(random: Random, postings: pa.Table, amount: Ints, arrives: Ints) -> list[pa.Table]:
    """The feed: every posting, its correction or its reversal. Postings of one run may be reversed in the next."""
    count = postings.num_rows
    updated = later(random, arrives, 0.04, RUNS)
    reversed_at = later(random, np.maximum(arrives, updated), 0.015, RUNS)
    changed = np.where(random.random(count) < 0.5, amount, amount + random.integers(-900, 900, count))
    account = CASH + zipf(random, count, ACCOUNTS - CASH, 0.9)
    moved = np.where(postings["account_id"].to_numpy() < CASH, postings["account_id"].to_numpy(), account)
    after = postings.set_column(2, "account_id", ints(moved)).set_column(6, "amount", decimals(changed, 14))
    return feed(postings, after, arrives=arrives, updated=updated, deleted=reversed_at, runs=RUNS)


def _statement_lines(random: Random, day: int, cash: pa.Table, amount: Ints, entered: Ints) -> list[pa.Table]:
    """Nine cash postings in ten are confirmed, one in a hundred with another amount; some lines have no journal."""
    chosen = np.flatnonzero(random.random(cash.num_rows) < 0.9)
    of, journal = cash.take(chosen), cash["journal_id"].take(chosen).to_numpy()
    unknown = random.random(len(chosen)) < 0.004
    lines = pa.table(
        {
            "line_id": np.arange(len(chosen)) + day * 10_000_000,
            "account_id": of["account_id"],
            "journal_id": np.where(unknown, -journal, journal),
            "value_date": of["value_date"],
            "amount_cents": amount[chosen]
            + (random.random(len(chosen)) < 0.01) * random.integers(-50, 50, len(chosen)),
        }
    )
    stated = entered[chosen] + random.exponential(2.5 * HOUR, len(chosen))
    return parted(lines, arrival_of(stated, HOURS), RUNS)
