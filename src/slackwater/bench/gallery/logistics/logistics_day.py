"""A day of a parcel service: shipments whose records change, scans on their way, and exceptions.

230,000 shipments and 1.3 million scans at scale 1. A shipment is booked, is written again when its status or promise
changes, and may be cancelled or deleted. 7 % of the scans come hours late; 3 % are corrected or voided by a second
record, which may come first. Hubs, lanes and customers are skewed.
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
    ints,
    moments,
    named,
    parted,
    positions,
    random_of,
    running,
    scaled,
    words,
    zipf,
)

HOURS = (10, 14, 18, 23)
BUSY = (6, 6, 7, 8, 9, 8, 6, 5, 4, 3, 2, 1)
HUBS, CARRIERS = 90, 14
KINDS = np.array(("picked up", "arrived", "loaded"))
RUNS = len(HOURS)


def standing(_scale: float) -> Tables:
    hub, carrier = np.arange(HUBS), np.arange(CARRIERS)
    return {
        "hubs": pa.table(
            {
                "hub_id": ints(hub),
                "city": named("city ", hub, 2),
                "country": pa.array(np.array(("DE", "FR", "PL", "NL", "ES", "IT"))[hub % 6]),
            }
        ),
        "carriers": pa.table({"carrier_id": ints(carrier), "name": named("carrier ", carrier, 2)}),
    }


def arrivals(scale: float, day: int) -> list[Tables]:
    random = random_of("logistics", day)
    count = scaled(230_000, scale, 20)
    booked = np.sort(daytime(random, count, BUSY))
    shipment = np.arange(count) + day * 10_000_000
    origin, destination = zipf(random, count, HUBS, 0.7), zipf(random, count, HUBS, 0.7)
    return by_run(
        {
            "shipments": _shipments(random, day, shipment, booked, origin, destination),
            "scans": _scans(random, day, shipment, booked, origin, destination),
            "exceptions": _exceptions(random, day, shipment, booked),
        },
        RUNS,
    )


def _shipments(
    random: Random, day: int, shipment: Ints, booked: Ints, origin: Ints, destination: Ints
) -> list[pa.Table]:
    """A record when a shipment is booked, and another for a third of them when something changes."""
    count = len(shipment)
    changed = np.flatnonzero(random.random(count) < 0.35)
    of = np.concatenate([np.arange(count), changed])
    first = np.arange(len(of)) < count
    at = booked[of] + np.where(first, 0, random.exponential(4 * HOUR, len(of)))
    new = words(random, len(of), {"accepted": 0.5, "rerouted": 0.3, "cancelled": 0.2})
    express = random.random(count) < 0.2
    hours = np.where(express, 8, 16)[of] + np.where(first, 0, random.integers(0, 6, len(of)))
    is_rerouted = ~first & (new == "rerouted")
    records = pa.table(
        {
            "shipment_id": shipment[of],
            "customer_id": zipf(random, count, scaled(20_000, count / 230_000, 10), 0.9)[of],
            "carrier_id": ints(zipf(random, count, CARRIERS, 0.6)[of]),
            "service": pa.array(np.where(express, "express", "standard")[of]),
            "origin_hub_id": ints(origin[of]),
            "destination_hub_id": ints(np.where(is_rerouted, (destination[of] + 1) % HUBS, destination[of])),
            "weight_grams": ints(random.lognormal(7.5, 0.9, count).astype(np.int64)[of]),
            "promised_at": moments(day, booked[of] + hours * HOUR),
            "status": pa.array(np.where(first, "booked", new)),
            "Op": pa.array(np.where(first, "I", np.where(random.random(len(of)) < 0.01, "D", "U"))),
            "dms_timestamp": moments(day, at + random.random(len(of))),
        }
    )
    return parted(records, arrival_of(at, HOURS), RUNS)


def _scans(random: Random, day: int, shipment: Ints, booked: Ints, origin: Ints, destination: Ints) -> list[pa.Table]:
    """From the first hub to the last: arrived and loaded at each, then attempts and, for most, the delivery."""
    lengths = np.where(random.random(len(shipment)) < 0.03, 0, 2 + 2 * random.binomial(4, 0.5, len(shipment)))
    of, position = np.repeat(np.arange(len(shipment)), lengths), positions(lengths)
    at = booked[of] + running(random.exponential(1.6 * HOUR, len(of)).astype(np.int64) + 60, lengths)
    is_last = position == lengths[of] - 1
    ends = words(random, len(of), {"delivered": 0.85, "attempted": 0.15})
    kind = np.where(position == 0, KINDS[0], np.where(is_last, ends, KINDS[1 + (position + 1) % 2]))
    between = zipf(random, len(of), HUBS, 0.7)[np.arange(len(of)) - position + (position + 1) // 2]
    hub = np.where(position <= 2, origin[of], np.where(is_last, destination[of], between))
    happened = np.flatnonzero(at < 26 * HOUR)
    fixed = happened[random.random(len(happened)) < 0.03]
    chosen = np.concatenate([happened, fixed])
    first = np.arange(len(chosen)) < len(happened)
    moved = ~first & (random.random(len(chosen)) < 0.4)
    scans = pa.table(
        {
            "scan_id": chosen + day * 100_000_000,
            "shipment_id": shipment[of][chosen],
            "hub_id": ints(np.where(moved, (hub[chosen] + 1) % HUBS, hub[chosen])),
            "kind": pa.array(kind[chosen]),
            "scanned_at": moments(day, at[chosen]),
            "is_void": pa.array(~first & ~moved),
            "version": ints(np.where(first, 1, 2)),
        }
    )
    late = np.where(random.random(len(chosen)) < 0.07, random.exponential(3 * HOUR, len(chosen)), 30)
    landed = at[chosen] + late + np.where(first, 0, random.exponential(2 * HOUR, len(chosen)))
    return parted(scans, arrival_of(landed, HOURS), RUNS)


def _exceptions(random: Random, day: int, shipment: Ints, booked: Ints) -> list[pa.Table]:
    of = np.flatnonzero(random.random(len(shipment)) < 0.06)
    at = booked[of] + random.exponential(5 * HOUR, len(of))
    codes = {"DMG01": 0.2, "DMG07": 0.1, "ADR02": 0.4, "CUS11": 0.2, "LOST": 0.1}
    exceptions = pa.table(
        {
            "exception_id": np.arange(len(of)) + day * 1_000_000,
            "shipment_id": shipment[of],
            "code": pa.array(words(random, len(of), codes)),
            "reported_at": moments(day, at),
        }
    )
    return parted(exceptions, arrival_of(at, HOURS), RUNS)
