"""What the costs of a job's plans are counted of: all CPU time of the process, or that of executors.

The two differ in one number, the price of what does not grow with rows. Its factor was fitted to measured runs
(docs/cost.md, "Process or executors").
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from slackwater.physical.bill import EVEN, Bill

OF_PROCESS = 6.0
"""Fixed costs for the whole process, in parts of the built-in rates: 0.24 s for a statement, 0.05 s for an exchange,
0.02 s for a source, in seconds of tasks."""

DRIVER = 0.1
"""The price of a second of the driver where executors are what counts: it is one machine beside many."""

BESIDE = 1.35
"""What the process takes for a second of tasks: beside them it collects garbage and compiles their code."""


class Basis(StrEnum):
    """What costs are counted of."""

    PROCESS = "process"
    """All CPU time, that of the driver too."""
    EXECUTORS = "executors"
    """CPU time of tasks, and a tenth of the driver's."""

    @property
    def built_in(self) -> Bill:
        """The factors without any observation."""
        return replace(EVEN, fixed=OF_PROCESS) if self is Basis.PROCESS else EVEN

    def counted(self, executors_s: float, everything_s: float) -> float:
        """What was measured, in the seconds of tasks in which plans count."""
        return everything_s / BESIDE if self is Basis.PROCESS else executors_s

    @property
    def driver(self) -> float:
        """The price of a second of the driver, in seconds of executors."""
        return 1.0 if self is Basis.PROCESS else DRIVER
