"""Verification: the query's own text on the pinned inputs, compared with the delivered answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slackwater.algebra.relation import Limit, Query
from slackwater.algebra.schema import Field
from slackwater.compile.program import compile_query
from slackwater.compile.views import Files, view_of_files, view_of_query
from slackwater.errors import Place, StateError
from slackwater.figures import amount
from slackwater.job.cycle.chance import undetermined
from slackwater.job.cycle.moment import view_of_text
from slackwater.job.file.sections import JobQuery
from slackwater.job.inputs.run_inputs import check_inputs
from slackwater.job.inputs.sources import Source
from slackwater.job.running.answers import options_to_read
from slackwater.job.store.answer_directory import AnswerDirectory
from slackwater.job.store.manifest import Manifest, OutputRecord
from slackwater.job.store.pins import Pins
from slackwater.job.text_table import Table, paragraph
from slackwater.spark.answer import compute
from slackwater.spark.compare import Difference, Row, difference
from slackwater.spark.metrics import measuring
from slackwater.spark.statements import run_statement

if TYPE_CHECKING:
    from slackwater.spark.session import Session

MOST_ROWS = 10
"""How many rows of each kind that differ are shown."""

NO_DIFFERENCE = Difference((), ())
BATCH, DELIVERED, UNCUT = "slackwater__batch", "slackwater__delivered", "slackwater__uncut"


@dataclass(frozen=True, repr=False)
class Verdict:
    """What came of a comparison."""

    run: int
    time: str
    rows: int | None
    fields: tuple[Field, ...]
    difference: Difference
    sample: float | None = None
    ties: int = 0
    """Rows that stand for others of the last tie of an ORDER BY … LIMIT, either of which is right."""
    link: str = ""
    """What is wrong with the output's link, in words; nothing where it shows the last answer."""
    shown: int | None = None
    """The run whose answer the output's path shows, where that is not the one that was verified."""
    undetermined: str = ""
    """Why the answer cannot be compared: its inputs do not determine it. Columns that they do determine are equal."""

    @property
    def equal(self) -> bool:
        return not self.differs and not self.undetermined

    @property
    def differs(self) -> bool:
        """Whether rows differ, in columns that can be compared."""
        return not self.difference.is_none

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong: what can be compared is equal, and the output's path shows the last answer."""
        return not self.differs and not self.link

    @property
    def about(self) -> str:
        """What was compared."""
        sampled = f", on a sample of {100 * self.sample:g} %" if self.sample is not None else ""
        return f"run {self.run} ({self.time}), {amount(self.rows)} rows{sampled}"

    @property
    def outcome(self) -> str:
        """What came of it, in words."""
        if not self.differs and self.undetermined:
            equal = f"; equal in {', '.join(f.name for f in self.fields)}" if self.fields else ""
            return f"cannot be compared: {self.undetermined}{equal}"
        if not self.differs:
            return "equal to the batch answer"
        missing, extra = len(self.difference.missing), len(self.difference.extra)
        more = " or more" if self.difference.cut else ""
        return f"{missing} rows are missing{more}, {extra} too many{more}"

    def table(self) -> Table:
        """Some of the rows that differ."""
        labelled = (("missing", self.difference.missing), ("too many", self.difference.extra))
        rows = tuple((label, *map(str, row)) for label, rows in labelled for row in rows[:MOST_ROWS])
        return Table(("", *(f.name for f in self.fields)), rows, left=1 + len(self.fields))

    def __repr__(self) -> str:
        lines = [f"{self.about}: {self.outcome}", *([self.link] if self.link else [])]
        return "\n".join(lines if not self.differs else [*lines, self.table().as_text()])

    def _repr_html_(self) -> str:
        link = paragraph(self.link) if self.link else ""
        table = self.table().as_html() if self.differs else ""
        return paragraph(f"{self.about}: {self.outcome}") + link + table


@dataclass(frozen=True)
class Verification:
    """All that a comparison needs: a query, what a run has delivered of it, and the inputs up to that run."""

    query: JobQuery
    answer_directory: AnswerDirectory
    sources: Mapping[str, Source]
    pins: Sequence[Pins]
    manifest: Manifest
    fields: tuple[Field, ...]
    bound: Query | None
    """The bound query, where it could be bound."""
    tolerance: float
    last: OutputRecord | None = None
    """The answer that the output's path must show."""

    @property
    def answer(self) -> OutputRecord:
        return self.manifest.answers[self.query.name]

    def views(self) -> Iterator[str]:
        """The inputs by the names that the query uses, the batch answer, and the answer that was delivered."""
        for source in self.sources.values():
            yield from source.whole(source.name, [pins.get(source.name, ()) for pins in self.pins])
        yield view_of_text(BATCH, self.query, [field.name for field in self.fields])
        yield self._delivered()

    def _delivered(self) -> str:
        format = self.query.output.format
        paths = tuple(file.path for file in self.answer.files)
        files = Files(format, str(self.answer_directory.path), paths, options_to_read(format))
        return view_of_files(DELIVERED, files, self.fields)

    def _check_there(self) -> None:
        """Spark would read the files that are left, and say nothing of the others."""
        for file in self.answer.files:
            path = self.answer_directory.path / file.path
            if not path.is_file():
                hint = "`slackwater clean` removes answers that were replaced"
                raise StateError(f"the answer of run {self.manifest.run} is gone", place=Place(str(path)), hint=hint)

    def run(self, session: Session, sample: float | None = None) -> Verdict:
        self._check_there()
        for view in self.views():
            run_statement(session, view)
        fields, reason = self.fields, ""
        differing = self._difference(session, fields, sample)
        ties = 0
        if not differing.is_none and sample is None and self._only_ties(session, differing):
            ties, differing = len(differing.extra), NO_DIFFERENCE
        by_chance = None if differing.is_none else undetermined(self.query, self.bound, self.fields)
        if by_chance is not None:
            fields, reason = by_chance.comparable, by_chance.reason
            differing = self._difference(session, fields, sample) if fields else NO_DIFFERENCE
        check_inputs(self.sources, self.pins)
        rows, (link, shown) = self.answer.rows, self._link()
        return Verdict(
            self.manifest.run, self.manifest.time, rows, fields, differing, sample, ties, link, shown, reason
        )

    def _difference(self, session: Session, fields: Sequence[Field], sample: float | None) -> Difference:
        return difference(session, BATCH, DELIVERED, fields, tolerance=self.tolerance, sample=sample)

    def _link(self) -> tuple[str, int | None]:
        """What is wrong with the output's link and, if it rightly shows the answer of another run, of which."""
        last = self.last or self.answer
        problem = self.answer_directory.link_problem(last.directory)
        if problem:
            return f"{self.answer_directory.output}: {problem}", None
        return "", None if last.directory == self.answer.directory else last.made_at

    def measured(self, session: Session) -> float | None:
        """Seconds of CPU that the executors take for the batch query, its rows thrown away."""
        for view in self.views():
            run_statement(session, view)
        with measuring(session, f"batch {self.query.name}".rstrip()) as measured:
            compute(session, BATCH)
        return measured.result.cpu_s

    def _only_ties(self, session: Session, differing: Difference) -> bool:
        """Whether the rows that differ are just others of the last tie that LIMIT cuts through."""
        if self.bound is None or differing.cut or len(differing.missing) != len(differing.extra):
            return False
        relation = self.bound.relation
        if not isinstance(relation, Limit):
            return False
        keys = {key.column for key in relation.order}
        positions = [n for n, output in enumerate(self.bound.outputs) if output.column in keys]
        if sorted(map(repr, _picked(differing.missing, positions))) != sorted(
            map(repr, _picked(differing.extra, positions))
        ):
            return False
        whole = self.bound.with_relation(relation.input)
        run_statement(session, view_of_query(UNCUT, compile_query(whole)))
        uncut = difference(session, UNCUT, DELIVERED, self.fields, tolerance=self.tolerance)
        return not uncut.extra and not uncut.cut


def _picked(rows: Sequence[Row], positions: Sequence[int]) -> list[Row]:
    return [tuple(row[n] for n in positions) for row in rows]
