"""A day of a maker of machines: readings of all of them, alarms, and visits of technicians.

2 million readings of 8,000 machines at scale 1; a few machines send far more than the others. 6 % of the readings come
late, by hours, when a gateway is online again; 1.5 % are sent twice. Alarms are acknowledged and closed; false ones are
deleted.
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
    daytime,
    feed,
    ints,
    later,
    moments,
    named,
    parted,
    random_of,
    scaled,
    words,
    zipf,
)

HOURS = (6, 12, 18, 24)
DEVICES, SITES, MODELS = 8_000, 150, 20
ALWAYS = (1,) * 24
RUNS = len(HOURS)


def standing(scale: float) -> Tables:
    random = random_of("telemetry", 0)
    device, site, model = np.arange(_devices(scale)), np.arange(SITES), np.arange(MODELS)
    return {
        "devices": pa.table(
            {
                "device_id": device,
                "site_id": ints(zipf(random, len(device), SITES, 0.4)),
                "model": named("M", device % MODELS, 2),
                "firmware": pa.array(words(random, len(device), {"4.1": 0.5, "4.2": 0.4, "5.0-rc": 0.1})),
            }
        ),
        "sites": pa.table(
            {
                "site_id": ints(site),
                "name": named("site ", site, 3),
                "country": pa.array(np.array(("DE", "PL", "CZ", "IT"))[site % 4]),
            }
        ),
        "limits": pa.table(
            {
                "model": named("M", model, 2),
                "highest_temperature": 85.0 + model % 5,
                "highest_vibration": 7.5 + model % 3,
            }
        ),
    }


def _devices(scale: float) -> int:
    return scaled(DEVICES, scale, 30)


def arrivals(scale: float, day: int) -> list[Tables]:
    random = random_of("telemetry", day)
    count, devices = scaled(2_000_000, scale, 100), _devices(scale)
    device = zipf(random, count, devices, 0.5)
    measured = daytime(random, count, ALWAYS)
    late = np.where(random.random(count) < 0.06, random.exponential(4 * HOUR, count), random.random(count) * 20)
    readings = pa.table(
        {
            "reading_id": np.arange(count) + day * 1_000_000_000,
            "device_id": device,
            "measured_at": moments(day, measured),
            "received_at": moments(day, measured + late),
            "temperature": np.round(60 + 6 * np.sin(measured / DAY * 6.3) + random.normal(device % 13, 5, count), 2),
            "vibration": np.round(random.gamma(3, 0.9, count), 3),
            "power": np.round(random.gamma(9, 12, count), 1),
            "quality": pa.array(words(random, count, {"good": 0.97, "fair": 0.02, "bad": 0.01})),
        }
    )
    twice = np.flatnonzero(random.random(count) < 0.015)
    again = late[twice] + random.exponential(HOUR, len(twice))
    sent = readings.take(twice).set_column(
        0, "reading_id", pa.array(np.arange(len(twice)) + day * 1_000_000_000 + count)
    )
    sent = sent.set_column(3, "received_at", moments(day, measured[twice] + again))
    received = np.concatenate([measured + late, measured[twice] + again])
    return by_run(
        {
            "readings": parted(pa.concat_tables([readings, sent]), arrival_of(received, HOURS), RUNS),
            "maintenance": _maintenance(random, day, devices),
            "alarms": _alarms(random, day, devices),
        },
        RUNS,
    )


def _maintenance(random: Random, day: int, devices: int) -> list[pa.Table]:
    device = np.flatnonzero(random.random(devices) < 0.06)
    began = daytime(random, len(device), (0, 0, 0, 0, 1, 3, 3, 2, 1, 0, 0, 0))
    ended = began + random.integers(600, 3 * HOUR, len(device))
    visits = pa.table(
        {
            "visit_id": np.arange(len(device)) + day * 1_000_000,
            "device_id": device,
            "began_at": moments(day, began),
            "ended_at": moments(day, ended),
            "kind": pa.array(words(random, len(device), {"inspection": 0.7, "repair": 0.3})),
        }
    )
    return parted(visits, arrival_of(ended + random.exponential(HOUR, len(device)), HOURS), RUNS)


def _alarms(random: Random, day: int, devices: int) -> list[pa.Table]:
    count = 4 * devices
    raised = daytime(random, count, ALWAYS)
    arrives = arrival_of(raised, HOURS)
    before = pa.table(
        {
            "alarm_id": np.arange(count) + day * 1_000_000,
            "device_id": zipf(random, count, devices, 0.7),
            "raised_at": moments(day, raised),
            "severity": pa.array(words(random, count, {"notice": 0.6, "warning": 0.3, "critical": 0.1})),
            "state": pa.array(np.full(count, "open")),
        }
    )
    after = before.set_column(4, "state", pa.array(words(random, count, {"acknowledged": 0.4, "closed": 0.6})))
    updated: Ints = later(random, arrives, 0.8, RUNS)
    deleted = later(random, np.maximum(arrives, updated), 0.05, RUNS)
    return feed(before, after, arrives=arrives, updated=updated, deleted=deleted, runs=RUNS)
