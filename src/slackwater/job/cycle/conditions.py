"""What the answers of a cycle depend on beside its inputs: the settings of Spark that change results, and its moment.

Both are written into the record of a cycle when it begins. A later run in another session, be it one that Slackwater
has opened or one from a notebook, must have the same settings; the moment stays the cycle's own (see `moment.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slackwater.errors import Place, UserError
from slackwater.job.store.cycle_record import CycleRecord
from slackwater.spark.settings import ANSI, TIME_ZONE, setting, settings_of_results
from slackwater.sql.moments import instant

if TYPE_CHECKING:
    from slackwater.spark.session import Session


@dataclass(frozen=True)
class Conditions:
    """Under which a cycle computes its answers."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """Spark's settings that change results, by name; of a cycle of an earlier version none are known."""
    moment: str | None = None
    """When the cycle began, by Spark's clock, where a query asks for that."""

    @staticmethod
    def of_session(session: Session) -> Conditions:
        """Those that a session has now."""
        return Conditions(settings_of_results(session))

    @staticmethod
    def of_cycle(record: CycleRecord) -> Conditions:
        """Those that a cycle began with."""
        return Conditions(record.settings, instant(record.pinned) if record.pinned else None)

    @property
    def time_zone(self) -> str | None:
        return self.settings.get(TIME_ZONE)

    @property
    def ansi(self) -> bool | None:
        setting_text = self.settings.get(ANSI)
        return None if setting_text is None else setting_text.lower() == "true"

    def lines(self) -> list[str]:
        """In words, for plans and reports."""
        is_recorded = self.time_zone is not None and self.ansi is not None
        lines = [f"time zone {self.time_zone}, ANSI mode {'on' if self.ansi else 'off'}"] if is_recorded else []
        return lines if self.moment is None else [*lines, f"as of {self.moment}, when the cycle began"]

    def as_value(self) -> dict[str, str | bool | None]:
        """For JSON."""
        return {"time_zone": self.time_zone, "ansi": self.ansi, "moment": self.moment}


def check_settings(record: CycleRecord, session: Session, file: str) -> None:
    """Refuses a session whose settings would give other results than those that the cycle began with."""
    before = record.settings
    if not before:
        return
    now = settings_of_results(session)
    now |= {key: setting(session, key) for key in sorted(before.keys() - now.keys())}
    changed = [f"`{key}` {_words(before.get(key), value)}" for key, value in now.items() if before.get(key) != value]
    if changed:
        hint = "set them as they were, in `spark: {conf: …}` or in the session that was handed in"
        raise UserError(
            f"settings of Spark that change results are not as they were: {'; '.join(changed)}",
            place=Place(file),
            hint=f"{hint}; or begin a new cycle with `slackwater run --new-cycle`",
        )


def _words(before: str | None, now: str) -> str:
    return f"is {now}, and was {'not set' if before is None else before} when the cycle began"
