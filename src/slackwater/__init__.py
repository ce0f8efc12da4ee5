"""Slackwater: incremental refresh of Spark SQL queries, planned by cost.

Names imported from here are public API. They are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slackwater.catalog.arrival import Change
    from slackwater.job.job import Job
    from slackwater.plan.options import Options
    from slackwater.simulation.simulator import Simulation, Simulator, simulate

__all__ = ["Change", "Job", "Options", "Simulation", "Simulator", "simulate"]

_HOMES = {
    "Change": "slackwater.catalog.arrival",
    "Job": "slackwater.job.job",
    "Options": "slackwater.plan.options",
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
