"""Messages for the mistakes that pydantic finds in a job file."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from slackwater.errors import did_you_mean
from slackwater.job.file.file_format import Format
from slackwater.job.file.price_basis import Basis
from slackwater.job.file.section import Section
from slackwater.job.file.sections import (
    Arriving,
    Changes,
    Check,
    ExpectConfig,
    JobConfig,
    OutputConfig,
    QueryConfig,
    Refresh,
    SourceConfig,
    SparkConfig,
    VerifyConfig,
    When,
)
from slackwater.job.file.values import Refused, shown
from slackwater.job.file.window import PaceConfig
from slackwater.job.file.yaml_file import Location, Mistake, YamlFile

EXAMPLE: Final = "`name: revenue`, `query: revenue.sql`, `schedule: [14:00, 24:00]`, `sources: ...`, `output: ...`"

EXAMPLES: Final = {
    "name": "name: revenue",
    "query": "query: revenue.sql",
    "queries": "queries: {revenue: {query: revenue.sql, output: {path: out/revenue}}}",
    "schedule": "schedule: [14:00, 24:00]",
    "timezone": "timezone: Europe/Berlin",
    "weights": "weights: [0.25, 1]",
    "final_work": "final_work: 30%",
    "latency": "latency: 90s",
    "window": "window: [06:00, 24:00]",
    "pace": "pace: {most: 6, least_gap: 15m}",
    "refresh": "refresh: auto",
    "prices": "prices: process",
    "sources": "sources: {sales: {path: data/sales}}",
    "output": "output: {path: out/revenue}",
    "path": "path: data/sales",
    "spark": "spark: {master: 'local[*]'}",
    "conf": "conf: {spark.sql.shuffle.partitions: 200}",
    "options": "options: {header: true}",
    "keys": "keys: [[o_id], [region, number]]",
    "not_null": "not_null: [region, number]",
    "expect": "expect: {rows: 7000000}",
    "arrives": "arrives: {14:00: 60%, 24:00: 40%}",
    "distinct": "distinct: {category: 12}",
    "static": "static: true",
    "sequence": "sequence: updated_at",
    "deletes": "deletes: op = 'd'",
    "tolerance": "tolerance: 1e-9",
    "verify": "verify: {after: each run, sample: 1%}",
}

SECTIONS: Final[tuple[tuple[Location, type[Section]], ...]] = (
    ((), JobConfig),
    (("sources", "*"), SourceConfig),
    (("sources", "*", "expect"), ExpectConfig),
    (("sources", "*", "expect", "arrives", "*"), Arriving),
    (("output",), OutputConfig),
    (("queries", "*"), QueryConfig),
    (("queries", "*", "output"), OutputConfig),
    (("pace",), PaceConfig),
    (("spark",), SparkConfig),
    (("verify",), VerifyConfig),
)

CHOICES: Final = {
    "refresh": Refresh,
    "changes": Changes,
    "format": Format,
    "check": Check,
    "after": When,
    "prices": Basis,
}

OTHER_WORDS: Final = {
    "costs": "weights",
    "times": "schedule",
    "runs": "schedule",
    "time_zone": "timezone",
    "tz": "timezone",
    "sql": "query",
    "tables": "sources",
    "inputs": "sources",
    "target": "output",
    "primary_key": "key",
    "unique": "key",
    "config": "conf",
    "remote": "connect",
    "arrivals": "arrives",
    "location": "path",
    "order_by": "sequence",
    "operation": "deletes",
}

BOUNDS: Final = {
    "greater_than_equal": ("at least", "ge"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}

_KINDS: Final = {
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "dict": "made of `key: value` entries",
    "mapping": "made of `key: value` entries",
    "model": "made of `key: value` entries",
    "finite": "a finite number",
}


def described(kind: str) -> str:
    """What a value should be, by the name that pydantic has for it."""
    return _KINDS.get(kind, _KINDS["model"])


def keys_of(section: type[Section]) -> list[str]:
    """The keys that a section may have."""
    return [field.alias or name for name, field in section.model_fields.items()]


def mistakes_of(error: ValidationError, yaml: YamlFile) -> Iterator[Mistake]:
    """Each error once, with its place."""
    for details in error.errors(include_url=False):
        yield _mistake(details, yaml)


def _mistake(details: ErrorDetails, yaml: YamlFile) -> Mistake:
    location = details["loc"]
    kind = details["type"]
    if kind == "extra_forbidden":
        return _unknown_key(location, yaml)
    if kind == "missing":
        *above, key = location
        name = f" in `{_name(tuple(above))}`" if above else ""
        return Mistake(yaml.place(tuple(above)), f"`{key}` is missing{name}", _example(str(key)))
    part = yaml.nearest(location)
    name, place = _name(part), yaml.place(part)
    value: object = details["input"]
    context = details.get("ctx", {})
    refused: object = context.get("error")
    if isinstance(refused, Refused):
        return Mistake(
            place,
            f"`{name}` {refused.message}" if _continues(refused) else f"`{name}`: {refused.message}",
            refused.hint,
        )
    last = str(part[-1]) if part else ""
    if kind == "enum":
        choices = [str(choice.value) for choice in CHOICES[last]]
        message = f"`{name}` cannot be {shown(value)}"
        return Mistake(place, message, _choice(str(value), choices))
    if value is None:
        return Mistake(place, f"`{name}` has no value", _example(last))
    if kind == "string_pattern_mismatch":
        hint = "use at most 100 letters, digits, `_`, `-` and `.`; the name is used for files"
        return Mistake(place, f"`{name}` cannot be {shown(value)}", hint)
    if kind in ("too_short", "string_too_short"):
        return Mistake(place, f"`{name}` is empty", _example(last))
    if kind in BOUNDS:
        words, bound = BOUNDS[kind]
        return Mistake(place, f"`{name}` must be {words} {context.get(bound):g}, not {shown(value)}")
    expected = described(kind.partition("_")[0])
    return Mistake(place, f"`{name}` must be {expected}, not {shown(value)}", _example(last))


def _unknown_key(location: Location, yaml: YamlFile) -> Mistake:
    *above, key = location
    section = next(model for pattern, model in SECTIONS if _matches(pattern, tuple(above)))
    keys = keys_of(section)
    other = OTHER_WORDS.get(str(key).lower())
    hint = f"did you mean `{other}`?" if other in keys else did_you_mean(str(key), keys)
    where = f" in `{_name(tuple(above))}`" if above else ""
    elsewhere = [_name(pattern) or "the top" for pattern, model in SECTIONS if key in keys_of(model)]
    if elsewhere and other not in keys and not get_close_matches(str(key), keys):
        hint = f"it belongs to {' or '.join(f'`{name}`' if name != 'the top' else name for name in elsewhere)}"
    return Mistake(yaml.place_of_key(location), f"unknown key `{key}`{where}", hint)


def _matches(pattern: Location, location: Location) -> bool:
    return len(pattern) == len(location) and all(p in ("*", at) for p, at in zip(pattern, location, strict=True))


def _continues(refused: Refused) -> bool:
    """Whether the message goes on after the name of the key."""
    return refused.message.partition(" ")[0] in ("is", "must", "cannot", "names", "has")


def _choice(text: str, choices: list[str]) -> str:
    close = get_close_matches(text.lower(), choices, n=1)
    others = ", ".join(f"`{choice}`" for choice in choices)
    return f"did you mean `{close[0]}`? There is {others}" if close else f"there is {others}"


def _example(key: str) -> str | None:
    return f"e.g. `{EXAMPLES[key]}`" if key in EXAMPLES else None


def _name(location: Location) -> str:
    """`sources.sales.key`, `weights[2]`; people count from one."""
    name = ""
    for part in location:
        name += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if name else part
    return name
