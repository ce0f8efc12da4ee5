"""Verification after a run, if the job file asks for it: `verify: {after: each run, sample: 1%}`.

A run is committed and its answers are shown before they are compared. Answers that differ stop the command with an
error that names the rows; they stay delivered, and the verdict is kept beside the run, for `status` and `history`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from slackwater.errors import Place, UserError
from slackwater.job.file.sections import VerifyConfig, When
from slackwater.job.running.verify import Verdict
from slackwater.job.store.accounts import Phase, charged_to
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.manifest import Manifest, Record, write_record
from slackwater.plan.plan import answer_of


class VerdictRecord(Record):
    """What came of the comparison of one answer."""

    equal: bool
    sound: bool
    """Equal, or not to be compared, and the output's link shows it."""
    sample: float | None
    outcome: str
    link: str
    missing: int
    extra: int

    @staticmethod
    def of(verdict: Verdict) -> VerdictRecord:
        return VerdictRecord(
            equal=verdict.equal,
            sound=verdict.sound,
            sample=verdict.sample,
            outcome=verdict.outcome,
            link=verdict.link,
            missing=len(verdict.difference.missing),
            extra=len(verdict.difference.extra),
        )

    def __str__(self) -> str:
        return self.outcome if self.sound else "DIFFERS" if self.missing or self.extra else "the link is wrong"


class Verified(Record):
    """The verdicts on what a run has delivered, by query."""

    run: int
    attempt: str
    verdicts: dict[str, VerdictRecord]

    @property
    def sound(self) -> bool:
        return all(verdict.sound for verdict in self.verdicts.values())

    def __str__(self) -> str:
        outcomes = dict.fromkeys(map(str, self.verdicts.values()))
        sample = next((each.sample for each in self.verdicts.values()), None)
        return ", ".join(outcomes) + (f" (sample of {100 * sample:g} %)" if sample is not None else "")


class AnswerDiffers(UserError):
    """An answer that is delivered is not the batch answer."""


def is_to_be_verified(asked: VerifyConfig | None, manifest: Manifest, last_run: int) -> bool:
    """Whether a run has delivered anything new that is to be verified."""
    if asked is None or asked.after is When.NEVER or (asked.after is When.LAST_RUN and manifest.run != last_run):
        return False
    return any(answer.made_at == manifest.run for answer in manifest.answers.values())


@charged_to(Phase.VERIFY)
def verify_run(cycle: Cycle, manifest: Manifest, compare: Callable[[str], Verdict]) -> dict[str, Verdict]:
    """Compares what a run has computed and delivered, and keeps the verdicts."""
    try:
        results = {name: compare(name) for name, answer in manifest.answers.items() if answer.made_at == manifest.run}
    except UserError as error:
        message = f"run {manifest.run} is committed and delivered, but was not verified: {error.message}"
        hint = error.hint or "`slackwater verify` tries again"
        raise UserError(message, place=error.place, hint=hint) from error
    verdicts = {name: VerdictRecord.of(verdict) for name, verdict in results.items()}
    record = Verified(run=manifest.run, attempt=manifest.attempt, verdicts=verdicts)
    with suppress(UserError), cycle.changing():  # as with an account: what was found is said in any case
        write_record(cycle.directory / _name(manifest.run), record)
    return results


def refuse_differing(verdicts: Mapping[str, Verdict]) -> None:
    """Raises where an answer is not the batch answer, with rows that differ."""
    for name, verdict in verdicts.items():
        if not verdict.sound:
            wrong = "is not what the batch query returns" if verdict.differs else "its link does not show it"
            raise AnswerDiffers(
                f"{answer_of(name)} is delivered, but {wrong}\n{verdict!r}",
                place=Place(f"run {verdict.run}"),
                hint="please report it; `slackwater run --new-cycle` computes everything again",
            )


def verified_of(cycle: Cycle, manifest: Manifest) -> Verified | None:
    """The verdicts on a committed run; None where it was not verified."""
    record = cycle.kept(_name(manifest.run), Verified)
    return record if record is not None and record.attempt == manifest.attempt else None


def _name(run: int) -> str:
    return f"verdict-{run}.json"
