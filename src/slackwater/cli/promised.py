"""The promises of sources, which of them are checked and at what cost, as JSON."""

from __future__ import annotations

from slackwater.job.running.check_prices import Promised
from slackwater.json_text import Json


def promised_as_json(promised: Promised) -> Json:
    """What is checked, with the seconds of CPU that are expected at each run, what is trusted and what is assumed."""
    checked: list[Json] = [
        {"source": each.source, "promises": list(each.promises), "expected_cpu_s": list(each.cpu_s)}
        for each in promised.checks
    ]
    changelogs: list[Json] = [
        {"source": each.source, "expected_cpu_s": list(each.cpu_s)} for each in promised.changelogs
    ]
    assumed: list[Json] = [
        {
            "source": each.source,
            "with": {each.other: list(each.columns)},
            "arrivals": each.arrivals,
            "broken_at_run": each.broken,
        }
        for each in promised.assumed
    ]
    return {"checked": checked, "trusted": list(promised.trusted), "changelogs": changelogs, "assumed": assumed}
