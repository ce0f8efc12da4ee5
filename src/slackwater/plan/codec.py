"""Plans as JSON, and back: `plan_from_json(plan_to_json(plan)) == plan`, every field and every relation.

The JSON form of a value follows from its type: a dataclass is an object of its fields, a tuple or a set is a list, an
enumeration is one of its values, and a relation is an object with the name of its operator. Columns and relations are
in two lists, numbered from zero; inputs come before the relations that read them, and shared relations stay shared. The
version of the format is part of the text, and every incompatible change increases it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from types import UnionType
from typing import Final, NewType, TypeVar, cast, get_args, get_origin, get_type_hints

from slackwater.algebra.relation import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    Limit,
    Project,
    Relation,
    Scan,
    Union,
    Values,
    Window,
)
from slackwater.algebra.scalar import Scalar
from slackwater.algebra.scalar_codec import read_scalar, write_scalar
from slackwater.algebra.schema import Column, TableSchema
from slackwater.algebra.types import Type
from slackwater.errors import InternalError, Place, SlackwaterError, UserError
from slackwater.json_text import Json, read_json
from slackwater.physical.bill import Bill
from slackwater.physical.memory import USUAL
from slackwater.physical.unit import Unit
from slackwater.plan.identity import Identity
from slackwater.plan.plan import Plan, Purpose, Step

FORMAT: Final = "slackwater-plan"
VERSION: Final = 5
OPERATORS: Final = {
    kind.__name__.lower(): kind
    for kind in (Scan, Values, Filter, Project, Join, Aggregate, Expand, Window, Union, Limit, Generate)
}
"""The operators that a plan may contain; others exist only in the memo."""
PURPOSES: Final = {purpose.name.lower(): purpose for purpose in Purpose}
OMITTED: Final[Mapping[type, Mapping[str, object]]] = {
    Plan: {"memory": USUAL},
    Step: {"answers": "", "identity": None, "by_history": 1.0, "passing": ()},
    TableSchema: {"arrives_with": (), "arrives_after": ()},
    Identity: {"span": 1},
}
"""Fields that are left out if they have their default."""
PLAIN: Final = (bool, int, float, str)
EXPECTED: Final[Mapping[type, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}
_HINTS: Final[dict[type, Mapping[str, object]]] = {}

Entry = dict[str, Json]
T = TypeVar("T")


def plan_to_json(plan: Plan, *, indent: int | None = 1) -> str:
    """The plan as text."""
    return json.dumps(plan_to_value(plan), indent=indent, ensure_ascii=False)


def plan_to_value(plan: Plan) -> Entry:
    """The plan as a JSON value. Costs in CPU seconds are for other programs; reading a plan ignores them."""
    writer = _PlanWriter()
    steps: list[Json] = [{**writer.step(step), **_cpu_seconds(plan.unit, cost=step.cost)} for step in plan.steps]
    return {
        "format": FORMAT,
        "version": VERSION,
        **writer.record(replace(plan, steps=()), *_defaults(plan)),
        **_cpu_seconds(plan.unit, rank=plan.rank, batch_rank=plan.batch_rank, cost=plan.cost),
        "steps": steps,
        "relations": writer.relations,
        "columns": writer.columns,
    }


def plan_from_json(text: str, *, file: str | None = None) -> Plan:
    """The plan in a text; a text that is damaged or of another version is refused with the reason."""
    place = Place(file) if file else None
    try:
        value = read_json(text, file or "plan")
    except UserError as error:
        raise UserError(f"a plan that cannot be read: {error.message}", place=error.place) from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise UserError("this JSON is not a plan", place=place, hint=f'a plan begins with "format": "{FORMAT}"')
    if value.get("version") != VERSION:
        hint = f"this Slackwater reads version {VERSION}: plan the query again"
        raise UserError(f"a plan of version {value.get('version')!r}", place=place, hint=hint)
    try:
        return _PlanReader(value).plan()
    except (ValueError, TypeError, LookupError, RecursionError, SlackwaterError) as error:
        raise UserError(f"a damaged plan: {error}", place=place, hint="plan the query again") from None


def _cpu_seconds(unit: Unit, **costs: float | tuple[float, ...]) -> Entry:
    """Costs in CPU seconds, if that is their unit."""
    if unit is not Unit.CPU:
        return {}
    return {
        f"{name}_cpu_s": [unit.cpu_s(run_cost) for run_cost in cost] if isinstance(cost, tuple) else unit.cpu_s(cost)
        for name, cost in costs.items()
    }


def _hints(kind: type) -> Mapping[str, object]:
    """The fields of a dataclass and their types, in order."""
    if kind not in _HINTS:
        hints = get_type_hints(kind)
        _HINTS[kind] = {field.name: hints[field.name] for field in fields(kind)}
    return _HINTS[kind]


def _defaults(value: object) -> list[str]:
    """The fields of a value that are left out."""
    return [name for name, default in OMITTED[type(value)].items() if getattr(value, name) == default]


def _inputs(kind: type) -> list[str]:
    """The fields of an operator that are relations."""
    return [name for name, hint in _hints(kind).items() if hint in (Relation, tuple[Relation, ...])]


class _PlanWriter:
    """Writes values by their types, and numbers columns and relations."""

    def __init__(self) -> None:
        self.columns: list[Json] = []
        self.relations: list[Json] = []
        self._column_numbers: dict[tuple[str, str, str], int] = {}
        self._relation_numbers: dict[int, int] = {}
        self._alive: list[Relation] = []

    def json(self, value: object) -> Json:
        match value:
            case Column():
                return self._column(value)
            case Relation():
                return self._relation(value)
            case Scalar():
                return self._scalar(value)
            case Type():
                return value.text
            case Bill():
                return list(value)
            case Purpose():
                return value.name.lower()
            case Enum():
                return self.json(value.value)
            case None | bool() | int() | float() | str():
                return value
            case tuple() | list():
                return [self.json(item) for item in value]
            case frozenset():
                return [self.json(item) for item in sorted(value)]
            case dict():
                return {str(key): self.json(item) for key, item in value.items()}
            case _:
                if not is_dataclass(value):
                    raise InternalError(f"{type(value).__name__} has no place in a plan's JSON")
                return self.record(value, *(_defaults(value) if type(value) in OMITTED else ()))

    def record(self, value: object, *left_out: str) -> Entry:
        """A dataclass as an object of its fields."""
        names = (name for name in _hints(type(value)) if name not in left_out)
        return {name: self.json(getattr(value, name)) for name in names}

    def step(self, step: Step) -> Entry:
        """A step; the columns that its state is partitioned by are positions in its relation."""
        return {
            **self.record(step, "by", *_defaults(step)),
            "by": [step.relation.columns.index(column) for column in step.by],
        }

    def _relation(self, root: Relation) -> int:
        """The number of a relation; its inputs are written first, each object once."""
        for node in root.walk():
            if id(node) not in self._relation_numbers:
                entry = self._operator(node)
                self._relation_numbers[id(node)] = len(self.relations)
                self.relations.append(entry)
                self._alive.append(node)
        return self._relation_numbers[id(root)]

    def _operator(self, node: Relation) -> Entry:
        name = type(node).__name__.lower()
        if name not in OPERATORS:
            raise InternalError(f"a plan's relation holds {type(node).__name__}, which has no place outside the memo")
        inputs = [self._relation_numbers[id(below)] for below in node.inputs]
        rest = self.record(node, *_inputs(type(node)))
        if isinstance(node, Scan):  # the fields of its table are next to the table's name
            table = self.record(node.table, "name", *_defaults(node.table))
            rest = {**rest, "table": node.table.name, **table}
        return {"operator": name, **({"inputs": inputs} if inputs else {}), **rest}

    def _column(self, column: Column) -> int:
        key = (str(column.id), column.name, column.type.text)
        if key not in self._column_numbers:
            self._column_numbers[key] = len(self.columns)
            self.columns.append(self.record(column))
        return self._column_numbers[key]

    def _scalar(self, scalar: Scalar) -> Json:
        written = self.json(write_scalar(scalar))
        if isinstance(written, str) and not scalar.columns:
            return written
        columns = [self._column(column) for column in sorted(scalar.columns, key=lambda c: c.id)]
        return {"sql" if isinstance(written, str) else "tree": written, "columns": columns}


class _PlanReader:
    """Reads values by their types. Damage is a ValueError that names its place in the plan."""

    def __init__(self, value: Mapping[str, object]) -> None:
        self._value = {"unit": Unit.CPU.value, **value}
        self._columns: list[Column] = []
        self._relations: list[Relation] = []
        self._own: Mapping[object, Callable[[object, str], object]] = {
            Column: self._column,
            Relation: lambda value, place: self._relations[_position(value, len(self._relations), "relation", place)],
            Scalar: self._scalar,
            Type: lambda value, place: Type(_plain(value, str, place)),
            Bill: self._bill,
            Purpose: lambda value, place: _choice(value, PURPOSES, place),
            Step: self._step,
        }

    def plan(self) -> Plan:
        for number, entry in enumerate(_plain(_member(self._value, "columns", ""), list, "columns")):
            self._columns.append(self._record(entry, Column, f"columns[{number}]"))
        for number, entry in enumerate(_plain(_member(self._value, "relations", ""), list, "relations")):
            self._relations.append(self._operator(entry, f"relations[{number}]"))
        plan = self._record(self._value, Plan, "")
        for vector in (plan.cost, plan.batch_cost, *((plan.weights,) if plan.weights else ())):
            if len(vector) != len(plan.times):
                raise ValueError(f"{len(vector)} numbers for {len(plan.times)} runs")
        for step in plan.steps:
            if step.run not in plan.runs:
                raise ValueError(f"a step of run {step.run}, there are {len(plan.times)}")
        return plan

    def _read(self, value: object, hint: object, place: str) -> object:
        if own := self._own.get(hint):
            return own(value, place)
        if isinstance(hint, NewType):
            return self._read(value, hint.__supertype__, place)
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (tuple, frozenset):
            items = self._items(value, arguments, place)
            return tuple(items) if origin is tuple else frozenset(items)
        if origin is UnionType:
            return None if value is None else self._read(value, arguments[0], place)
        if not isinstance(hint, type):
            raise InternalError(f"{hint} has no place in a plan's JSON")
        if issubclass(hint, Enum):
            return _choice(value, {str(member.value): member for member in hint}, place)
        return _plain(value, hint, place) if hint in PLAIN else self._record(value, hint, place)

    def _items(self, value: object, hints: tuple[object, ...], place: str) -> list[object]:
        """The items of a list: of one type, or each of its own."""
        items = _plain(value, list, place)
        own = hints if len(hints) > 1 and hints[-1] is not Ellipsis else hints[:1] * len(items)
        if len(items) != len(own):
            raise ValueError(f"{place}: {len(items)} values in place of {len(own)}")
        return [self._read(item, hint, f"{place}[{n}]") for n, (item, hint) in enumerate(zip(items, own, strict=True))]

    def _record(self, value: object, kind: type[T], place: str) -> T:
        entry = _plain(value, dict, place)
        omitted = OMITTED.get(kind, {})
        names = {name: hint for name, hint in _hints(kind).items() if name in entry or name not in omitted}
        inside = f"{place}." if place else ""
        members = {n: self._read(_member(entry, n, place), hint, f"{inside}{n}") for n, hint in names.items()}
        with _at(place):
            return kind(**members)

    def _step(self, value: object, place: str) -> Step:
        entry = _plain(value, dict, place)
        step = self._record({**entry, "by": []}, Step, place)
        columns, by = step.relation.columns, _plain(entry.get("by", []), list, place)
        return replace(step, by=tuple(columns[_position(position, len(columns), "column", place)] for position in by))

    def _operator(self, value: object, place: str) -> Relation:
        entry = _plain(value, dict, place)
        kind: type[Relation] = _choice(_member(entry, "operator", place), OPERATORS, place)
        inputs, names = _plain(entry.get("inputs", []), list, place), _inputs(kind)
        if kind is Union:
            return self._record({**entry, "branches": inputs}, Union, place)
        if len(inputs) != len(names):
            raise ValueError(f"{place}: {len(inputs)} inputs, {kind.__name__.lower()} has {len(names)}")
        if kind is Scan:
            entry = {**entry, "table": {**entry, "name": _member(entry, "table", place)}}
        return self._record({**entry, **dict(zip(names, inputs, strict=True))}, kind, place)

    def _column(self, value: object, place: str) -> Column:
        return self._columns[_position(value, len(self._columns), "column", place)]

    def _scalar(self, value: object, place: str) -> Scalar:
        entry = {"sql": value, "columns": []} if isinstance(value, str) else _plain(value, dict, place)
        columns = [self._column(number, place) for number in _plain(_member(entry, "columns", place), list, place)]
        with _at(place):
            return read_scalar(_member(entry, "sql" if "sql" in entry else "tree", place), columns)

    def _bill(self, value: object, place: str) -> Bill:
        with _at(place):
            return Bill(*(_plain(amount, float, place) for amount in _plain(value, list, place)))


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Adds the place to the error of a constructor."""
    try:
        yield
    except (TypeError, SlackwaterError) as error:
        raise ValueError(f"{place}: {error}") from None


def _wrong(expected: str, value: object, place: str) -> ValueError:
    return ValueError(f"{place}: {expected} was expected, not {str(value)[:60]}")


def _plain(value: object, kind: type[T], place: str) -> T:
    kinds = (int, float) if kind is float else kind
    if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
        raise _wrong(EXPECTED[kind], value, place)
    return cast(T, value)


def _choice(value: object, choices: Mapping[str, T], place: str) -> T:
    if not isinstance(value, str) or value not in choices:
        raise _wrong(f"one of {', '.join(choices)}", value, place)
    return choices[value]


def _position(value: object, count: int, what: str, place: str) -> int:
    number = _plain(value, int, place)
    if not 0 <= number < count:
        raise ValueError(f"{place}: no {what} {number}, there are {count}")
    return number


def _member(entry: Mapping[str, object], name: str, place: str) -> object:
    if name not in entry:
        raise ValueError(f"{place}: `{name}` is missing" if place else f"`{name}` is missing")
    return entry[name]
