"""The unit of a model's costs, which is shown with every cost."""

from __future__ import annotations

from enum import StrEnum

from slackwater.figures import number


class Unit(StrEnum):
    """The unit of a cost."""

    CPU = "CPU microseconds"
    """Expected CPU time of executors; fixed costs of statements are charged in the same unit."""
    ROWS = "rows"
    """Rows that enter joins and aggregates."""
    NONE = "none"
    """Abstract prices."""

    @property
    def name_of_cost(self) -> str:
        """What a cost is called where it is shown."""
        return "expected CPU" if self is Unit.CPU else "cost"

    def shown(self, cost: float) -> str:
        """A cost with its unit, CPU in seconds."""
        match self:
            case Unit.CPU:
                return f"{number(cost / 1e6)} s"
            case Unit.ROWS:
                return f"{number(cost)} rows"
            case Unit.NONE:
                return number(cost)

    def cpu_s(self, cost: float) -> float | None:
        """A cost in seconds of CPU, if it counts CPU time."""
        return cost / 1e6 if self is Unit.CPU else None
