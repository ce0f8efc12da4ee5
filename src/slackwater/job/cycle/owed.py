"""The answers that a cycle owes because their queries have failed (see `running/failures.py`)."""

from __future__ import annotations

from collections.abc import Mapping

from slackwater.job.store.manifest import Manifest
from slackwater.time.timeline import Timeline


def owed(manifests: Mapping[int, Manifest], timeline: Timeline) -> dict[int, list[str]]:
    """The answers that runs of a cycle owe, by run: those that were due and that no run since has delivered."""
    answered = {query: run for run, manifest in sorted(manifests.items()) for query in manifest.answers}
    return {
        run: late
        for run, manifest in sorted(manifests.items())
        if (late := [q for q in manifest.failed if run in timeline.due(q) and answered.get(q, 0) < run])
    }
