"""When rows arrive that refer to each other, learned from samples of their keys, arrival by arrival.

Samples are taken as files are counted (`job.inputs.counting`), so nothing is read for it again, and stay when the files
go. An arrival is what one run read first. That of the first run of a day says nothing of later ones: it may be all that
there is, and then all that it refers to comes with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slackwater.catalog.statistics import Meeting
from slackwater.job.inputs.batches import JoinedColumn, SampledArrival
from slackwater.job.inputs.key_samples import KeySample

ENOUGH = 30
"""Values of a sample from which shares are taken."""

Samples = Mapping[str, Sequence[SampledArrival]]
"""Those of each source, arrival by arrival."""


@dataclass(frozen=True)
class Met:
    """The sampled values of one arrival, and how many of them are keys of rows that came then, before and after.

    A key that comes again during a day, as an upsert does, is of a row that came before.
    """

    arrival: tuple[int, int]
    values: int
    together: int
    earlier: int
    later: int


def met(joined: JoinedColumn, samples: Samples) -> list[Met]:
    """What was seen of a reference, arrival by arrival; arrivals of which either side was not counted are left out."""
    own, others = _by_arrival(samples, joined.source, joined.column), _by_arrival(samples, joined.other, joined.key)
    if not own or not others:
        return []
    coarsest = max(sample.one_in for sample in (*own.values(), *others.values()))
    keys = {arrival: sample.values(coarsest) for arrival, sample in others.items()}
    counts: list[Met] = []
    for arrival in sorted(own.keys() & keys.keys()):
        values = own[arrival].values(coarsest)
        before = frozenset[int]().union(*(those for other, those in keys.items() if other < arrival))
        after = frozenset[int]().union(*(those for other, those in keys.items() if other > arrival))
        again = frozenset[int]().union(*(those for other, those in keys.items() if _is_before(other, arrival)))
        now = values & keys[arrival] - again
        came = (values - now) & before
        counts.append(Met(arrival, len(values), len(now), len(came), len((values - now - came) & after)))
    return counts


def _is_before(other: tuple[int, int], arrival: tuple[int, int]) -> bool:
    """Whether an arrival is of an earlier run of the same cycle."""
    return other[0] == arrival[0] and other[1] < arrival[1]


def _by_arrival(samples: Samples, source: str, column: str) -> dict[tuple[int, int], KeySample]:
    return {each.arrival: each.keys[column] for each in samples.get(source, ()) if column in each.keys}


def meeting(joined: JoinedColumn, seen: Sequence[Met]) -> Meeting | None:
    """The shares over all arrivals after the first run of a day; None if there is none, or too little of it.

    Where each day has only one run, they are those of all days but the first.
    """
    later = [each for each in seen if each.arrival[1] > 1] or seen[1:]
    values = sum(each.values for each in later)
    if values < ENOUGH:
        return None
    together, before, after = (
        sum(parts) for parts in zip(*((m.together, m.earlier, m.later) for m in later), strict=True)
    )
    return Meeting(joined.other, together / values, before / values, after / values)


def meetings(joined: Sequence[JoinedColumn], samples: Samples) -> dict[str, dict[str, Meeting]]:
    """What was learned of all references, by source and column."""
    by_source: dict[str, dict[str, Meeting]] = {}
    for each in joined:
        if (partners := meeting(each, met(each, samples))) is not None:
            by_source.setdefault(each.source, {})[each.column] = partners
    return by_source


def in_words(source: str, column: str, partners: Meeting) -> str:
    """When partners arrive, in words, the most frequent time first."""
    shares = ((partners.together, "in the same run"), (partners.earlier, "earlier"), (partners.later, "later"))
    times = [f"{share:.0%} {when}" for share, when in sorted(shares, reverse=True) if share >= 0.005]
    return f"rows of {partners.table} to which {source}.{column} refers arrive: {', '.join(times) or 'never'}"
