"""Checks across the keys of a job file, after each section has been checked by itself.

Every check is a generator of what it finds, so that one reading shows all mistakes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from slackwater.errors import UserError, did_you_mean
from slackwater.job.file.messages import EXAMPLES
from slackwater.job.file.places import APART, overlaps
from slackwater.job.file.sections import Changes, ExpectConfig, JobConfig, Refresh, SourceConfig
from slackwater.job.file.values import TABLE_NAME, Amount
from slackwater.job.file.yaml_file import Location, Yaml
from slackwater.time.clock import is_mistaken
from slackwater.time.timeline import Timeline

ROUNDING = 0.1
"""By how much percentages may miss 100 in all: 33.33 % three times is meant as a third each."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """What does not fit, and at which entry to show it: at its value, or at its key."""

    location: Location
    message: str
    hint: str | None = None
    of_key: bool = False


def wrong_form(entries: Mapping[str, Yaml]) -> Iterator[Wrong]:
    """A job has one query, as `query` and `output`, or several, each with its own: told by the keys that are there."""
    for key in ("query", "output"):
        if "queries" in entries and key in entries:
            yield Wrong((key,), f"`{key}` stands beside `queries`", f"each of them has its own `{key}`", of_key=True)
        if "queries" not in entries and key not in entries:
            yield Wrong((), f"`{key}` is missing", f"e.g. `{EXAMPLES[key]}`")
    if "schedule" not in entries and "window" not in entries:
        hint = f"e.g. `{EXAMPLES['schedule']}`; or a window and a goal"
        yield Wrong((), "`schedule` is missing", hint)
    if "schedule" in entries and "window" in entries:
        yield Wrong(("window",), "`window` stands beside `schedule`", "leave one of them out", of_key=True)


def wrong_between_keys(job: JobConfig) -> Iterator[Wrong]:
    """All that does not fit together."""
    yield from _timeline(job)
    yield from _sources(job)
    yield from _queries(job)
    for name, source in job.sources.items():
        yield from _source(name, source, job)
    yield from _spark(job)
    yield from _directories(job)


def _timeline(job: JobConfig) -> Iterator[Wrong]:
    """Each of the three keys is tried with what is right so far, so that the error stands at the key it is about."""
    mistaken = {index: time for index, time in enumerate(job.schedule) if is_mistaken(time)}
    for index, time in mistaken.items():
        yield from _tried(("schedule", index), partial(Timeline.of, [time]))
    if not mistaken:
        yield from _tried(("schedule",), lambda: Timeline.of(job.schedule))
    if job.weights is not None:
        weights = job.weights
        yield from _tried(("weights",), lambda: Timeline.of(_numbered(job), weights))
    yield from _goals(job)
    yield from _window(job)
    yield from _deliver(("deliver",), job.deliver, job)
    for name, query in job.several.items():
        if query.deliver is not None:
            yield from _deliver(("queries", name, "deliver"), query.deliver, job)


def _goals(job: JobConfig) -> Iterator[Wrong]:
    """Goals on the last run: there must be earlier ones, and it must have an answer to deliver."""
    delivers = [query.deliver for query in job.queries.values()]
    for key in (key for key in ("final_work", "latency") if getattr(job, key) is not None):
        if len(job.schedule) == 1:
            yield Wrong((key,), f"`{key}` of a schedule with one run", "add an earlier run to `schedule`")
        if job.refresh is Refresh.FULL:
            yield Wrong((key,), f"`{key}` beside `refresh: full`, which does nothing early")
        if not any(isinstance(deliver, str) or job.schedule[-1] in deliver for deliver in delivers):
            yield Wrong((key,), f"`{key}`, but the last run delivers nothing", "deliver: final")


def _window(job: JobConfig) -> Iterator[Wrong]:
    """A window says when runs may be; only a goal says what they are for."""
    if job.window is None:
        for key in ("most", "least_gap"):
            if job.pace.states(key):
                yield Wrong(("pace", key), f"`{key}` is about a window, and the file has a schedule", of_key=True)
        return
    if job.final_work is None and job.latency is None:
        yield Wrong(("window",), "`window` without a goal", "add `final_work: 30%` or `latency: 90s`", of_key=True)
    if job.weights is not None:
        hint = "a goal is the price of the last run; for prices of hours, write a `schedule`"
        yield Wrong(("weights",), "`weights` beside `window`", hint, of_key=True)
    if len(job.schedule) == 1:
        yield Wrong(("window",), "`window` has no room for an early run", "a shorter `least_gap`", of_key=True)


def _deliver(at: Location, deliver: str | tuple[str, ...], job: JobConfig) -> Iterator[Wrong]:
    if isinstance(deliver, str):
        return
    for index, time in enumerate(deliver):
        if time not in job.schedule:
            message = f"`deliver` names {time}, which is not in the schedule"
            word = time in ("final", "every")
            hint = f"write `deliver: {time}`, without a list" if word else did_you_mean(time, job.schedule)
            yield Wrong((*at, index), message, hint)


def _numbered(job: JobConfig) -> list[str]:
    """A schedule of as many runs that is right in itself."""
    return [str(run) for run, _ in enumerate(job.schedule, start=1)]


def _tried(location: Location, make: Callable[[], Timeline]) -> Iterator[Wrong]:
    try:
        make()
    except UserError as error:
        yield Wrong(location, error.message, error.hint)


def _sources(job: JobConfig) -> Iterator[Wrong]:
    for name in job.sources:
        if not re.fullmatch(TABLE_NAME, name):
            hint = "use letters, digits and `_`, the name that the query uses"
            yield Wrong(("sources", name), f"`{name}` is not a name of a table", hint, of_key=True)
    for name, other in _alike(job.sources):
        message = f"`{name}` and `{other}` are the same table to Spark, which ignores case"
        yield Wrong(("sources", name), message, of_key=True)


def _queries(job: JobConfig) -> Iterator[Wrong]:
    """Names of queries become names of steps and, where their text is run as it is, of views."""
    for name in job.several:
        if not re.fullmatch(TABLE_NAME, name):
            hint = "use letters, digits and `_`; the name is used for steps and views"
            yield Wrong(("queries", name), f"`{name}` is not a name of a query", hint, of_key=True)
    for name, other in _alike(job.several):
        message = f"`{name}` and `{other}` are the same query: case is ignored"
        yield Wrong(("queries", name), message, of_key=True)
    for name, source in product(job.several, job.sources):
        if source.lower() == f"query_{name}".lower():
            message = f"the answer of `{name}` is called `{source}` in plans, and so is a source"
            yield Wrong(("queries", name), message, "give the query another name", of_key=True)


def _alike(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names that were there before in another case."""
    seen: dict[str, str] = {}
    for name in names:
        if name.lower() in seen:
            yield name, seen[name.lower()]
        seen.setdefault(name.lower(), name)


def _source(name: str, source: SourceConfig, job: JobConfig) -> Iterator[Wrong]:
    at: Location = ("sources", name)
    if source.path is None and source.table is None:
        yield Wrong(at, f"source `{name}` has neither `path` nor `table`", f"e.g. {name}: {{path: data/{name}}}")
    if source.path is not None and source.table is not None:
        yield Wrong((*at, "table"), f"source `{name}` has both `path` and `table`", "leave out one of them")
    if source.table is not None and source.path is None:
        if not all(re.fullmatch(TABLE_NAME, part) for part in source.table.split(".")):
            yield Wrong((*at, "table"), f"`{source.table}` is not a name of a table", "e.g. db.sales")
        for key, field in (("format", "format"), ("options", "options"), ("schema", "schema_text")):
            if source.states(field):
                yield Wrong((*at, key), f"source `{name}` is a table, so `{key}` says nothing", "leave it out")
    if source.key is not None and source.keys:
        yield Wrong((*at, "keys"), f"source `{name}` has both `key` and `keys`", "put every key into `keys`")
    if source.schema_text is not None and not source.schema_text.strip():
        yield Wrong((*at, "schema"), f"source `{name}` has an empty `schema`", "e.g. o_id INT, price DOUBLE")
    if source.static and source.states("changes"):
        yield Wrong((*at, "changes"), f"source `{name}` is static, so it has no `changes`", "leave out one of them")
    yield from _upserts(name, source)
    yield from _references(name, source, job)
    if source.static and source.expect.arrives:
        yield Wrong((*at, "expect", "arrives"), f"source `{name}` is static: nothing arrives", "leave out one of them")
    else:
        yield from _arrivals(name, source, job)


def _upserts(name: str, source: SourceConfig) -> Iterator[Wrong]:
    at: Location = ("sources", name)
    if source.changes is Changes.UPSERTS:
        if source.keys:
            yield Wrong((*at, "keys"), f"source `{name}` brings upserts, which have one key", "write `key: [o_id]`")
        elif source.key is None:
            message = f"source `{name}` has upserts, but no `key`"
            yield Wrong((*at, "changes"), message, "name the columns by which a later record replaces an earlier one")
        if source.states("not_null"):
            message = f"source `{name}` brings upserts, of which `not_null` says nothing"
            hint = "a delete may contain NULLs, and a record without a key is always refused; remove it"
            yield Wrong((*at, "not_null"), message, hint, of_key=True)
        return
    for key in ("sequence", "deletes"):
        if source.states(key):
            message = f"`{key}` is about upserts, and source `{name}` is `changes: {source.changes}`"
            yield Wrong((*at, key), message, "say `changes: upserts`, or leave it out", of_key=True)


def _references(name: str, source: SourceConfig, job: JobConfig) -> Iterator[Wrong]:
    """`with` and `after` name sources whose rows only arrive, and columns here that have a key of theirs.

    Rows that come after others may be those of a feed.
    """
    for word, references in (("with", source.arrives_with), ("after", source.arrives_after)):
        stay = source.append_only or (word == "after" and source.changes is Changes.FEED)
        if references and (source.static or not stay):
            kind = "is static" if source.static else f"is `changes: {source.changes}`"
            message = (
                f"source `{name}` {kind}, and `{word}` is about rows that arrive{' and stay' if word == 'with' else ''}"
            )
            yield Wrong(("sources", name, word), message, "leave it out", of_key=True)
        for other, columns in references.items():
            yield from _reference(name, word, other, columns, job)
    for other in source.arrives_with.keys() & source.arrives_after.keys():
        message = f"source `{name}` arrives with `{other}`, so it need not promise `after` of it"
        yield Wrong(("sources", name, "after", other), message, "leave it out", of_key=True)


def _reference(name: str, word: str, other: str, columns: Sequence[str], job: JobConfig) -> Iterator[Wrong]:
    at: Location = ("sources", name, word, other)
    partner = job.sources.get(other)
    if partner is None or other == name:
        others = [each for each in job.sources if each != name]
        yield Wrong(at, f"`{word}` names no other source `{other}`", did_you_mean(other, others), of_key=True)
    elif partner.static or not partner.append_only:
        kind = "is static" if partner.static else f"is `changes: {partner.changes}`"
        yield Wrong(at, f"source `{other}` {kind}, and `{word}` is about rows that arrive and stay", of_key=True)
    elif not any(len(key) == len(columns) for key in partner.unique):
        number = "one column" if len(columns) == 1 else f"{len(columns)} columns"
        message = f"source `{other}` has no key of {number}"
        yield Wrong(at, message, "rows refer to it by its `key`, all of its columns", of_key=True)


def _arrivals(name: str, source: SourceConfig, job: JobConfig) -> Iterator[Wrong]:
    at: Location = ("sources", name, "expect", "arrives")
    expect = source.expect
    for time, arriving in expect.arrives.items():
        if time not in job.schedule:
            yield Wrong(
                (*at, time),
                f"rows of `{name}` arrive at {time}, which is not in the schedule",
                did_you_mean(time, job.schedule),
            )
        if source.changes is Changes.APPEND and (arriving.updates.number or arriving.deletes.number):
            message = f"source `{name}` only appends, but at {time} rows are updated or deleted"
            yield Wrong((*at, time), message, "say `changes: feed` or `changes: upserts`")
    yield from (Wrong(at, message, hint) for message, hint in _total(name, expect))


def _total(name: str, expect: ExpectConfig) -> Iterator[tuple[str, str]]:
    """Percentages make 100, and numbers make the rows stated."""
    amounts = [amount for arriving in expect.arrives.values() for amount in arriving.amounts if amount.number]
    if not amounts:
        return
    if all(amount.percent for amount in amounts):
        percent = _grown(expect, 100.0)
        if abs(percent - 100) > ROUNDING:
            yield f"the percentages of `{name}` add up to {percent:g}, not to 100", "deletes count against inserts"
        return
    if expect.rows is None:
        if any(amount.percent for amount in amounts):
            yield f"`{name}` has percentages beside numbers of rows", "say in `rows` what they are percentages of"
        return
    rows = _grown(expect, float(expect.rows))
    if abs(rows - expect.rows) > max(0.5, expect.rows * ROUNDING / 100):
        yield f"`{name}` has {expect.rows} rows, but its arrivals leave {rows:.0f}", "leave out `rows`, or mend one"


def _grown(expect: ExpectConfig, total: float) -> float:
    def of(amount: Amount) -> float:
        return amount.rows(total)

    return sum(of(arriving.inserts) - of(arriving.deletes) for arriving in expect.arrives.values())


def _spark(job: JobConfig) -> Iterator[Wrong]:
    spark = job.spark
    if spark.connect is not None:
        if spark.states("master"):
            yield Wrong(("spark", "connect"), "`connect` and `master` exclude each other", "leave out one of them")
        if not re.match(r"sc://[^/\s]+", spark.connect):
            yield Wrong(
                ("spark", "connect"), f"`{spark.connect}` is no address of Spark Connect", "e.g. sc://host:15002"
            )
    for key in ("spark.master", "spark.remote"):
        if key in spark.conf:
            other = "connect" if key == "spark.remote" else "master"
            yield Wrong(("spark", "conf", key), f"`{key}` is not a setting here", f"say `spark: {{{other}: ...}}`")


def _directories(job: JobConfig) -> Iterator[Wrong]:
    return (Wrong(overlap.location, overlap.message, APART) for overlap in overlaps(job))
