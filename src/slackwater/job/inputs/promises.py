"""The promises of sources, as the job file declares them, and which files have been checked.

A promise is checked once per file. The checked files are recorded with the job, batch by batch in order of arrival. The
record can be lost without harm: if it is missing or damaged, or the promises change, everything is checked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from slackwater.algebra.schema import Field
from slackwater.compile.arrival_promise import ArrivesAfter, ArrivesWith
from slackwater.compile.promise_checks import (
    ExactChanges,
    Key,
    KnownChanges,
    NotNull,
    PairedUpdates,
    Promise,
)
from slackwater.errors import StateError
from slackwater.job.file.sections import Changes, Check, SourceConfig
from slackwater.job.store.manifest import Record, read_record, write_record
from slackwater.job.store.pins import FilePin
from slackwater.job.store.store import Store

VERSION = 1
NOT_JOINED = ("map<", "variant")
"""Types by which Spark groups rows, if at all, and does not join them."""


def promises_of(config: SourceConfig, fields: Sequence[Field] = ()) -> tuple[Promise, ...]:
    """All that a source promises, checked or not, in the order in which it makes sense to tell what is broken.

    Without the columns of the source promises can be named, and not checked. Upserts promise nothing: their key is what
    the table is made by, and records without one are refused there.
    """
    if config.changes is Changes.UPSERTS:
        return ()
    promises: list[Promise] = []
    columns = tuple(field.name for field in fields)
    is_feed = config.changes is Changes.FEED
    if is_feed:
        promises.append(KnownChanges())
    if config.never_null:
        promises.append(NotNull(config.never_null, columns))
    if is_feed:
        first = config.unique[0] if config.unique else ()
        alike = tuple(field.name for field in fields if not field.type.text.startswith(NOT_JOINED))
        promises += [PairedUpdates(first), ExactChanges(columns, first or alike, has_key=bool(first))]
    promises += map(Key, config.unique)
    return tuple(promises)


def references_of(config: SourceConfig) -> tuple[ArrivesWith, ...]:
    """What a source promises of rows of other sources; these are checked in every run: see `arrival_checks`."""
    together = (ArrivesWith(columns, name, ()) for name, columns in config.arrives_with.items())
    return (*together, *(ArrivesAfter(columns, name, ()) for name, columns in config.arrives_after.items()))


def is_trusted(config: SourceConfig) -> bool:
    """Whether a source promises something that is not checked, because its owner says so."""
    return config.check is Check.TRUST and bool(_promised(config))


def _promised(config: SourceConfig) -> list[str]:
    """What a source promises, in words; of upserts, what is found out when their records are put in order."""
    if config.changes is Changes.UPSERTS:
        return ["each record has a key, and of two records of a key one is later"]
    return [promise.name for promise in (*promises_of(config), *references_of(config))]


def trusted(sources: Mapping[str, SourceConfig]) -> list[str]:
    """What is not checked, in words, source by source."""
    return [
        f"source `{name}`: {', '.join(_promised(config))} trusted, not checked"
        for name, config in sources.items()
        if is_trusted(config)
    ]


# --- what has been checked -------------------------------------------------------------------------------------------


class CheckedFile(Record):
    """A file that was checked, and between which values its columns of keys lie, where its footer says so."""

    pin: FilePin
    rows: float
    ranges: dict[str, tuple[int, int] | tuple[str, str]]


class CheckedSource(Record):
    """The files of a source that keep its promises: together, and so do the first batches up to any."""

    promises: tuple[str, ...]
    read_as: str
    """A checksum of how its files are read: format, options, columns."""
    batches: tuple[tuple[CheckedFile, ...], ...]


class CheckedRecord(Record):
    """All that was checked, by source."""

    version: int = VERSION
    sources: dict[str, CheckedSource]


def read_checked(store: Store) -> dict[str, CheckedSource]:
    """What was checked before; a damaged record only means checking again."""
    try:
        record = read_record(store.promises_file, CheckedRecord)
    except StateError:
        return {}
    return dict(record.sources) if record is not None and record.version == VERSION else {}


def keep_checked(store: Store, checked: Mapping[str, CheckedSource]) -> None:
    write_record(store.promises_file, CheckedRecord(sources=dict(checked)))


Batches: TypeAlias = tuple[tuple[FilePin, ...], ...]


@dataclass(frozen=True)
class Unchecked:
    """The files of a run that are to be checked, beside those before them, which keep the promises."""

    run: int
    new: tuple[FilePin, ...]
    before: Batches

    @property
    def earlier(self) -> tuple[FilePin, ...]:
        return tuple(pin for batch in self.before for pin in batch)


def unchecked(by_run: Sequence[Sequence[FilePin]], checked: Batches) -> list[Unchecked]:
    """What is still to be checked of the files of some runs, run by run.

    `checked` were checked one after the other, so the first of them up to any keep the promises together. A run is
    checked beside the most of them that it can stand on: all files of the runs before it, and none that it has not.
    """
    unions = [frozenset(chain.from_iterable(checked[:number])) for number in range(1, len(checked) + 1)]
    batches: list[Unchecked] = []
    kept: Batches = ()
    upto: dict[FilePin, None] = {}
    for run, pins in enumerate(by_run, start=1):
        before, upto = upto, {**upto, **dict.fromkeys(pins)}
        standing = [union for union in unions if before.keys() <= union <= upto.keys()]
        checked_before = max(standing, key=len, default=frozenset(before))
        there = tuple(pin for pin in upto if pin in checked_before and pin not in before)
        new = tuple(pin for pin in upto if pin not in checked_before)
        kept = (*kept, there) if there else kept
        if new:
            batches.append(Unchecked(run, new, kept))
            kept = (*kept, new)
    return batches
