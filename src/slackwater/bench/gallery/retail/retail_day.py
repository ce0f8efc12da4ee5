"""A day of a chain of shops: orders with their lines, payments by CSV, a feed of returns.

450,000 orders and 1.4 million lines at scale 1. Lines come with their order; 4 % of the payments come hours later and
5 % never. Returns are of lines of the same day. Products and customers are skewed. Some orders are of shops that are
closed or unknown.
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
    unless,
    words,
    zipf,
)

HOURS = (10, 15, 20, 24)
BUSY = (2, 1, 1, 3, 7, 9, 8, 8, 10, 12, 7, 4)
PRODUCTS, STORES = 6_000, 140
DEPARTMENTS = ("food", "drinks", "household", "clothes", "toys", "electronics", "garden")
CATEGORIES = 70


def standing(_scale: float) -> Tables:
    """Products and shops; their numbers do not depend on the scale."""
    random = random_of("retail", 0)
    category = zipf(random, PRODUCTS, CATEGORIES, 0.5)
    store = np.arange(STORES)
    kind = np.where(store % 3 == 0, "express", np.where(store % 7 == 0, "depot", "market"))
    return {
        "products": pa.table(
            {
                "product_id": ints(np.arange(PRODUCTS)),
                "name": named("product ", np.arange(PRODUCTS)),
                "department": pa.array(np.array(DEPARTMENTS)[category % len(DEPARTMENTS)]),
                "category": named("category ", category, 2),
                "brand": named("brand ", zipf(random, PRODUCTS, 160)),
                "unit_cost": decimals(random.integers(40, 9_000, PRODUCTS), 10),
            }
        ),
        "stores": pa.table(
            {
                "store_id": ints(store),
                "name": pa.array([f'Shop {n}, "{"Main St" if n % 2 else "Station"}"' for n in range(STORES)]),
                "region": pa.array(np.array(("north", "east", "south", "west", "online"))[store % 5]),
                "format": pa.array(kind),
                "is_open": pa.array(store % 19 != 4),
            }
        ),
    }


def arrivals(scale: float, day: int) -> list[Tables]:
    random, runs = random_of("retail", day), len(HOURS)
    count = scaled(450_000, scale)
    placed = np.sort(daytime(random, count, BUSY))
    order_id = np.arange(count) + day * 100_000_000
    arrives = arrival_of(placed, HOURS)
    orders = pa.table(
        {
            "order_id": order_id,
            "customer_id": zipf(random, count, scaled(160_000, scale, 50), 0.7),
            "store_id": ints(random.integers(0, STORES + 3, count)),
            "placed_at": moments(day, placed),
            "channel": pa.array(words(random, count, {"till": 0.5, "web": 0.3, "app": 0.2})),
            "voucher": unless(random.random(count) > 0.12, named("V", random.integers(0, 40, count)).to_numpy(False)),
        }
    )
    lengths = random.geometric(0.33, count).clip(max=25)
    of, line_no = np.repeat(np.arange(count), lengths), positions(lengths) + 1
    price, quantity = random.integers(79, 25_000, len(of)), random.geometric(0.6, len(of)).clip(max=12)
    lines = pa.table(
        {
            "order_id": order_id[of],
            "line_no": ints(line_no),
            "product_id": ints(zipf(random, len(of), PRODUCTS, 0.9)),
            "quantity": ints(quantity),
            "unit_price": decimals(price, 10),
            "discount_percent": ints(random.choice((0, 0, 0, 0, 5, 10, 25), len(of))),
        }
    )
    value = np.bincount(of, weights=price * quantity, minlength=count).astype(np.int64)
    returned = np.flatnonzero(random.random(len(of)) < 0.05)
    return by_run(
        {
            "orders": parted(orders, arrives, runs),
            "order_lines": parted(lines, arrives[of], runs),
            "payments": _payments(random, order_id, value, placed),
            "returns": _returns(random, lines.take(returned), (price * quantity)[returned], arrives[of][returned]),
        },
        runs,
    )


def _payments(random: Random, order_id: Ints, value: Ints, placed: Ints) -> list[pa.Table]:
    """95 % of orders are paid, a tenth of them in two parts; one payment in fifty is refused at first."""
    paid = np.flatnonzero(random.random(len(order_id)) < 0.95)
    halves, refused = paid[random.random(len(paid)) < 0.1], paid[random.random(len(paid)) < 0.02]
    of = np.concatenate([paid, halves, refused])
    part = np.repeat(np.arange(3), (len(paid), len(halves), len(refused)))
    half = np.zeros(len(order_id), dtype=np.bool_)
    half[halves] = True
    amount = np.where(half[of] & (part < 2), value[of] // 2 + (part == 0) * (value[of] % 2), value[of])
    delay = np.where(random.random(len(of)) < 0.04, random.exponential(4 * HOUR, len(of)), 60)
    methods = {"card": 0.6, "cash": 0.2, "wallet": 0.15, "gift card": 0.05}
    payments = pa.table(
        {
            "payment_id": order_id[of] * 3 + part,
            "order_id": order_id[of],
            "method": pa.array(words(random, len(of), methods)),
            "state": pa.array(np.where(part == 2, "refused", "captured")),
            "amount": decimals(amount),
        }
    )
    return parted(payments, arrival_of(placed[of] + delay, HOURS), len(HOURS))


def _returns(random: Random, lines: pa.Table, value: Ints, sold: Ints) -> list[pa.Table]:
    """Opened at the run of the sale or later; a third is decided by the evening, and a few are withdrawn."""
    runs, count = len(HOURS), lines.num_rows
    waits = later(random, sold, 0.6, runs)
    arrives = np.maximum(sold, waits)
    updated = later(random, arrives, 0.5, runs)
    withdrawn = (random.random(count) < 0.03) & (arrives < runs - 1)
    pieces = np.maximum(1, lines["quantity"].to_numpy() // 2)
    before = pa.table(
        {
            "return_id": lines["order_id"].to_numpy() * 32 + lines["line_no"].to_numpy(),
            "order_id": lines["order_id"],
            "line_no": lines["line_no"],
            "reason": pa.array(words(random, count, {"size": 0.4, "defect": 0.2, "late": 0.1, "mind": 0.3})),
            "pieces": ints(pieces),
            "refund": decimals(value * pieces // lines["quantity"].to_numpy()),
            "state": pa.array(np.full(count, "open")),
        }
    )
    decided = pa.array(words(random, count, {"paid out": 0.85, "rejected": 0.15}))
    after = before.set_column(before.num_columns - 1, "state", decided)
    deleted = np.where(withdrawn, np.maximum(updated, arrives + 1), -1)
    return feed(before, after, arrives=arrives, updated=updated, deleted=deleted, runs=runs)
