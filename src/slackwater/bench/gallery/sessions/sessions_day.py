"""A day of a web shop's clickstream: events, purchases, changes of visitors' profiles.

About 1.5 million events at scale 1. Events of phones come up to hours late, so a session may be completed by a later
run. Visitors are skewed; 4 % of the events are of bots. A profile is written again when a visitor logs in; some records
are delivered twice, some in the wrong order, and some visitors ask to be forgotten.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from slackwater.bench.gallery.sampling import (
    HOUR,
    Floats,
    Ints,
    Random,
    Tables,
    arrival_of,
    by_run,
    daytime,
    moments,
    named,
    parted,
    positions,
    random_of,
    running,
    scaled,
    unless,
    words,
    zipf,
)

HOURS = (9, 14, 19, 24)
BUSY = (3, 1, 1, 2, 6, 8, 9, 8, 8, 11, 14, 8)
KINDS = np.array(("view", "search", "product", "cart", "checkout"))
CAMPAIGNS, PAGES = 60, 900


def standing(_scale: float) -> Tables:
    random = random_of("sessions", 0)
    campaigns = np.arange(CAMPAIGNS)
    channels = np.array(("search ads", "social", "newsletter", "affiliates", "display"))
    sections = np.array(("home", "women", "men", "kids", "sale", "help", "account", "blog"))
    return {
        "campaigns": pa.table(
            {
                "campaign": named("cmp-", campaigns, 3),
                "channel": pa.array(channels[campaigns % len(channels)]),
                "partner": named("partner ", campaigns % 11),
            }
        ),
        "pages": pa.table(
            {
                "page": named("/p/", np.arange(PAGES)),
                "section": pa.array(sections[zipf(random, PAGES, len(sections), 0.6)]),
            }
        ),
    }


def arrivals(scale: float, day: int) -> list[Tables]:
    random, runs = random_of("sessions", day), len(HOURS)
    sessions, visitors = scaled(210_000, scale, 20), scaled(120_000, scale, 20)
    visitor = zipf(random, sessions, visitors, 0.6)
    lengths = random.geometric(0.14, sessions).clip(max=120)
    of, position = np.repeat(np.arange(sessions), lengths), positions(lengths)
    gaps = np.where(position == 0, 0, random.exponential(75, len(of)).clip(max=1_500)).astype(np.int64)
    occurred = daytime(random, sessions, BUSY)[of] + running(gaps, lengths) + random.random(len(of))
    phone = random.random(sessions) < 0.55
    late = np.where(phone[of] & (random.random(len(of)) < 0.08), random.exponential(3 * HOUR, len(of)), 5)
    depth = random.choice(len(KINDS), sessions, p=(0.35, 0.2, 0.25, 0.12, 0.08))
    reached = np.minimum(depth[of], np.floor(random.random(len(of)) * (depth[of] + 1)).astype(np.int64))
    campaign = random.random(sessions) < 0.45
    events = pa.table(
        {
            "event_id": np.arange(len(of)) + day * 1_000_000_000,
            "visitor_id": visitor[of],
            "occurred_at": moments(day, occurred),
            "kind": pa.array(KINDS[reached]),
            "page": named("/p/", zipf(random, len(of), PAGES + 40, 1.0)),
            "campaign": unless(
                ~(campaign[of] & (position == 0)),
                named("cmp-", zipf(random, sessions, CAMPAIGNS, 0.8), 3).to_numpy(False)[of],
            ),
            "device": pa.array(
                np.where(phone, "phone", np.where(random.random(sessions) < 0.2, "tablet", "desktop"))[of]
            ),
            "is_bot": pa.array((random.random(sessions) < 0.04)[of]),
        }
    )
    checkout = np.flatnonzero((reached == len(KINDS) - 1) & (random.random(len(of)) < 0.35))
    return by_run(
        {
            "events": parted(events, arrival_of(occurred + late, HOURS), runs),
            "purchases": _purchases(random, day, visitor[of][checkout], occurred[checkout]),
            "visitors": _visitors(random, day, visitors),
        },
        runs,
    )


def _purchases(random: Random, day: int, visitor: Ints, occurred: Floats) -> list[pa.Table]:
    """Each follows a checkout within minutes; the shop's own system is never late."""
    bought = occurred + random.integers(10, 280, len(occurred))
    purchases = pa.table(
        {
            "purchase_id": np.arange(len(visitor)) + day * 10_000_000,
            "visitor_id": visitor,
            "purchased_at": moments(day, bought),
            "amount_cents": (random.lognormal(8.3, 0.8, len(visitor))).astype(np.int64),
            "currency": pa.array(np.full(len(visitor), "EUR")),
        }
    )
    return parted(purchases, arrival_of(bought, HOURS), len(HOURS))


def _visitors(random: Random, day: int, visitors: int) -> list[pa.Table]:
    """All profiles in the morning, then 8 % of them again; a twentieth of the records is delivered again later."""
    runs = len(HOURS)
    ids = np.flatnonzero(random.random(visitors) < 0.9)
    again = np.sort(ids[random.random(len(ids)) < 0.08])
    of = np.concatenate([ids, again])
    at = np.concatenate([np.zeros(len(ids), dtype=np.int64), daytime(random, len(again), BUSY)])
    has_account = random.random(len(of)) < np.where(at > 0, 0.9, 0.3)
    profiles = pa.table(
        {
            "visitor_id": of,
            "account_id": unless(~has_account, of // 2),
            "country": pa.array(words(random, len(of), {"DE": 0.4, "AT": 0.1, "CH": 0.1, "FR": 0.25, "NL": 0.15})),
            "is_erased": pa.array((at > 0) & (random.random(len(of)) < 0.05)),
            "changed_ms": (at + day * 86_400) * 1_000 + random.integers(0, 1_000, len(of)) * (at > 0),
        }
    )
    arrives = arrival_of(at, HOURS)
    repeated = np.flatnonzero(random.random(len(of)) < 0.05)
    twice = np.minimum(arrives[repeated] + 1, runs - 1)
    records = pa.concat_tables([profiles, profiles.take(repeated)])
    return parted(records, np.concatenate([arrives, twice]), runs)
