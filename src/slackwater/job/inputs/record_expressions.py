"""The expressions of a job file over records, analyzed by Spark; mistakes are reported with their place in the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slackwater.compile.upserts import Upserts
from slackwater.errors import Place, UserError
from slackwater.job.file.sections import JobConfig
from slackwater.job.file.yaml_file import Location, read_yaml
from slackwater.job.inputs.sources import Source
from slackwater.spark.analyze import output_fields
from slackwater.spark.statements import run_statement

if TYPE_CHECKING:
    from slackwater.spark.session import Session

VIEW = "slackwater__records"
_NOT_COMPARED = ("map<", "variant")


def check_upserts(session: Session, source: Source, config: JobConfig) -> None:
    """Refuses expressions that Spark does not take or that have the wrong type, and columns that do not compare."""
    if source.upserts is not None:
        _check_columns(source.upserts)
        run_statement(session, source.counted_view(VIEW, source.listed()))
        _Expressions(session, source, config).check(source.upserts)


def _check_columns(upserts: Upserts) -> None:
    for field in upserts.fields:
        what = f"source `{upserts.source}` has a column `{field.name}`"
        if any(kind in field.type.text for kind in _NOT_COMPARED):
            hint = "records of upserts are compared in all columns: exclude it with `schema`"
            raise UserError(f"{what} of type {field.type}, which cannot be compared", hint=hint)
        if field.name.lower().startswith("slackwater__"):
            raise UserError(f"{what}, and such names are reserved", hint="rename the column")


@dataclass(frozen=True)
class _Expressions:
    """Those of a source, and the session that has its records as a view."""

    session: Session
    source: Source
    config: JobConfig

    def check(self, upserts: Upserts) -> None:
        for number, text in enumerate(upserts.sequence):
            kind = self._type_of(("sequence", number), text)
            if any(name in kind for name in _NOT_COMPARED):
                raise self._refused(("sequence", number), f"`sequence` is {kind}, which has no order")
        if upserts.deletes is not None:
            kind = self._type_of(("deletes",), upserts.deletes)
            if kind != "boolean":
                raise self._refused(("deletes",), f"`deletes` is {kind}, not true or false", "e.g. `op = 'd'`")

    def _type_of(self, key: Location, text: str) -> str:
        try:
            (field,) = output_fields(self.session, f"SELECT ({text}\n) AS value FROM {VIEW}")
        except UserError as error:
            have = ", ".join(f.name for f in self.source.fields)
            raise self._refused(key, error.message, f"the records have {have}") from None
        return field.type.text

    def _refused(self, key: Location, message: str, hint: str | None = None) -> UserError:
        return UserError(f"source `{self.source.name}`: {message}", place=self._place(key), hint=hint)

    def _place(self, key: Location) -> Place:
        """Where the job file has an entry of the source."""
        file = self.config.file
        try:
            yaml = read_yaml(file.read_text(encoding="utf-8-sig"), str(file))
        except (OSError, UserError):  # it has changed since it was read
            return Place(str(file))
        return yaml.place(("sources", self.source.name, *key))
