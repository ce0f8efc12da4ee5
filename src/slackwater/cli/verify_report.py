"""The report of `verify`: whether answers equal those of batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from slackwater.cli.output import plain
from slackwater.cli.text import rich_table
from slackwater.errors import counted
from slackwater.job.running.after_run import Verified
from slackwater.job.running.verify import Verdict
from slackwater.job.store.manifest import told_apart
from slackwater.json_text import Json


@dataclass(frozen=True)
class VerifyReport:
    """Whether answers are the batch answers."""

    verdicts: Mapping[str, Verdict]

    def as_json(self) -> Json:
        only, named = told_apart({name: VerdictReport(name, each).as_json() for name, each in self.verdicts.items()})
        if only is not None:
            return only
        return {"equal": _all_equal(self.verdicts.values()), "queries": {**named}}

    def as_text(self) -> RenderableType:
        return Group(*(VerdictReport(name, each).as_text() for name, each in self.verdicts.items()))


def _all_equal(verdicts: Iterable[Verdict]) -> bool | None:
    """Whether answers are the batch answers; None where none differs, and one cannot be compared."""
    some = list(verdicts)
    if any(verdict.differs for verdict in some):
        return False
    return None if any(verdict.undetermined for verdict in some) else True


@dataclass(frozen=True)
class VerdictReport:
    """Whether the answer of a query is the batch answer."""

    query: str
    verdict: Verdict

    def as_json(self) -> Json:
        gap = self.verdict.difference
        return {
            "equal": _all_equal([self.verdict]),
            "cannot_be_compared": self.verdict.undetermined or None,
            "compared": [field.name for field in self.verdict.fields],
            "link": self.verdict.link or None,
            "shown_run": self.verdict.shown,
            "run": self.verdict.run,
            "time": self.verdict.time,
            "rows": self.verdict.rows,
            "sample": self.verdict.sample,
            "within_tolerance": gap.close,
            "ties": self.verdict.ties,
            "missing": [[plain(cell) if cell is not None else None for cell in row] for row in gap.missing[:100]],
            "extra": [[plain(cell) if cell is not None else None for cell in row] for row in gap.extra[:100]],
        }

    def as_text(self) -> RenderableType:
        verdict, gap = self.verdict, self.verdict.difference
        about = f"{self.query}, {verdict.about}" if self.query else verdict.about
        notes = [Text(f"  {counted(gap.close, 'row')} equal but for the last digits of floats")] if gap.close else []
        if verdict.ties:
            notes.append(
                Text(f"  {counted(verdict.ties, 'row')} of the last tie of ORDER BY … LIMIT differ; both are right")
            )
        if verdict.link:
            notes.append(Text(f"  {verdict.link}", style="bold red"))
        if verdict.shown is not None:
            notes.append(Text(f"  the output shows the answer of run {verdict.shown}"))
        if not verdict.differs:
            style = "bold green" if verdict.equal else "yellow"
            return Group(Text.assemble((f"{about}: ", ""), (verdict.outcome, style)), *notes)
        return Group(Text(f"{about}: {verdict.outcome}", style="bold red"), rich_table(verdict.table()), *notes)


def verified_as_json(verified: Verified | None) -> Json:
    """The verdicts that a run was given after it; None where it was not verified."""
    if verified is None:
        return None
    only, named = told_apart({name: verdict.model_dump() for name, verdict in verified.verdicts.items()})
    return {"sound": verified.sound, **(only or {"queries": {**named}})}
