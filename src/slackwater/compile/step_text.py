"""The readable SQL text of a step."""

from __future__ import annotations

from slackwater.plan.plan import Step
from slackwater.sql.emit import emit


def step_sql(step: Step, dialect: str = "spark") -> str:
    """The SELECT of a step; the runtime decides where its rows go."""
    return emit(step.query if step.query is not None else step.relation, dialect, like_spark=True)
