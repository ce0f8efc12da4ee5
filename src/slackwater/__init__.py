"""Slackwater: what tonight's query can do during today's slack.

What is imported from here is public API, and is loaded only when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slackwater.catalog.arrival import Change
    from slackwater.job.job import Job
    from slackwater.plan.planner import Options
    from slackwater.simulation.simulator import Simulation, Simulator, simulate

__all__ = ["Change", "Job", "Options", "Simulation", "Simulator", "simulate"]

_HOMES = {
    "Change": "slackwater.catalog.arrival",
    "Job": "slackwater.job.job",
    "Options": "slackwater.plan.planner",
    "Simulation": "slackwater.simulation.simulator",
    "Simulator": "slackwater.simulation.simulator",
    "simulate": "slackwater.simulation.simulator",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module `slackwater` has no attribute `{name}`; it offers {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
