"""What the plans of a job may rely on beside what its file promises (`assume`)."""

from __future__ import annotations

from enum import StrEnum


class Assume(StrEnum):
    """What plans may rely on beside promises."""

    LEARNED = "learned"
    """What every arrival so far has shown; each run checks it."""
    NOTHING = "nothing"
