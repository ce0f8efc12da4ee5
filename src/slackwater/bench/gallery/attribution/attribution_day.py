"""A day of an advertising network: impressions, their clicks, what of them is invalid, and conversions.

1.8 million impressions at scale 1; 2 % are clicked, within minutes. One click in fifteen is found to be invalid, hours
later. One in nine leads to a conversion, which advertisers report with a delay of hours; some conversions follow
impressions alone, and some nothing at all. Users and ads are skewed.
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
    ints,
    moments,
    named,
    parted,
    random_of,
    scaled,
    words,
    zipf,
)

HOURS = (8, 16, 24)
BUSY = (4, 3, 2, 3, 6, 8, 9, 9, 10, 12, 13, 8)
ADS, CAMPAIGNS = 1_500, 180


def standing(_scale: float) -> Tables:
    random = random_of("attribution", 0)
    ad, campaign = np.arange(ADS), np.arange(CAMPAIGNS)
    objectives = np.array(("sales", "sign-ups", "awareness"))
    return {
        "ads": pa.table(
            {
                "ad_id": ints(ad),
                "campaign_id": ints(zipf(random, ADS, CAMPAIGNS + 5, 0.5)),
                "format": pa.array(words(random, ADS, {"image": 0.5, "video": 0.35, "carousel": 0.15})),
                "headline": named("Buy now, save more: ", ad),
            }
        ),
        "campaigns": pa.table(
            {
                "campaign_id": ints(campaign),
                "advertiser": named("advertiser ", campaign % 41, 2),
                "objective": pa.array(objectives[campaign % 3]),
                "is_active": pa.array(campaign % 23 != 0),
            }
        ),
    }


def arrivals(scale: float, day: int) -> list[Tables]:
    random, runs = random_of("attribution", day), len(HOURS)
    count = scaled(1_800_000, scale, 50)
    shown = daytime(random, count, BUSY) + random.random(count)
    user, ad = zipf(random, count, scaled(250_000, scale, 25), 0.5), zipf(random, count, ADS, 0.9)
    impressions = pa.table(
        {
            "impression_id": np.arange(count) + day * 1_000_000_000,
            "user_id": user,
            "ad_id": ints(ad),
            "shown_at": moments(day, shown),
            "placement": pa.array(words(random, count, {"feed": 0.6, "story": 0.25, "search": 0.15})),
            "cost_micros": random.integers(200, 4_000, count),
        }
    )
    clicked = np.flatnonzero(random.random(count) < 0.02)
    clicked_at = shown[clicked] + random.exponential(40, len(clicked))
    clicks = pa.table(
        {
            "click_id": impressions["impression_id"].take(clicked),
            "impression_id": impressions["impression_id"].take(clicked),
            "user_id": user[clicked],
            "ad_id": ints(ad[clicked]),
            "clicked_at": moments(day, clicked_at),
            "cost_micros": random.integers(50_000, 900_000, len(clicked)),
        }
    )
    invalid = np.flatnonzero(random.random(len(clicked)) < 0.065)
    found_at = clicked_at[invalid] + random.exponential(3 * HOUR, len(invalid))
    reasons = pa.array(words(random, len(invalid), {"robot": 0.7, "double": 0.2, "farm": 0.1}))
    findings = pa.table({"click_id": clicks["click_id"].take(invalid), "reason": reasons})
    after_click = np.flatnonzero(random.random(len(clicked)) < 0.11)
    after_view = np.flatnonzero(random.random(count) < 0.001)
    alone = scaled(800, scale)
    users = (user[clicked][after_click], user[after_view], random.integers(0, 250_000, alone))
    since = (clicked_at[after_click], shown[after_view], daytime(random, alone, BUSY))
    return by_run(
        {
            "impressions": parted(impressions, arrival_of(shown, HOURS), runs),
            "clicks": parted(clicks, arrival_of(clicked_at, HOURS), runs),
            "invalid_clicks": parted(findings, arrival_of(found_at, HOURS), runs),
            "conversions": _conversions(random, day, np.concatenate(users), np.concatenate(since)),
        },
        runs,
    )


def _conversions(random: Random, day: int, user: Ints, since: Floats) -> list[pa.Table]:
    """Reported in the order in which advertisers send their files, on average two hours after the fact."""
    count = len(user)
    converted = since + random.exponential(1.5 * HOUR, count)
    kind = words(random, count, {"purchase": 0.6, "signup": 0.3, "app install": 0.1})
    conversions = pa.table(
        {
            "conversion_id": np.arange(count) + day * 10_000_000,
            "user_id": user,
            "converted_at": moments(day, converted),
            "kind": pa.array(kind),
            "value_cents": np.where(kind == "purchase", random.lognormal(8.5, 0.9, count), 150).astype(np.int64),
        }
    )
    return parted(conversions, arrival_of(converted + random.exponential(2 * HOUR, count), HOURS), len(HOURS))
