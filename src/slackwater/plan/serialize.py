"""Plans as JSON, and back: `plan_from_json(plan_to_json(plan)) == plan`, every field and every relation.

Columns and relations stand in two lists, numbered from zero; inputs come before the relations that read them, and what
is shared stays shared. The version of the format is part of the text and is raised with every change after which older
plans cannot be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatchmethod
from typing import TypeAlias, TypeVar

from slackwater.algebra.relation import (
    Aggregate,
    AggregateCall,
    Expand,
    Filter,
    Generate,
    Join,
    Limit,
    Project,
    Query,
    Relation,
    Scan,
    SortKey,
    Union,
    Values,
    Window,
    WindowCall,
)
from slackwater.algebra.scalar import Scalar
from slackwater.algebra.schema import Column
from slackwater.algebra.written import write_scalar
from slackwater.errors import InternalError, Place, SlackwaterError, UserError
from slackwater.json_text import read_json
from slackwater.physical.unit import Unit
from slackwater.plan.deserialize import PlanReader
from slackwater.plan.identity import Identity
from slackwater.plan.plan import Plan, Step
from slackwater.rows.feedback import Subject

FORMAT = "slackwater-plan"
VERSION = 5

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Entry = dict[str, Json]
T = TypeVar("T")


def plan_to_json(plan: Plan, *, indent: int | None = 1) -> str:
    """The plan as text."""
    return json.dumps(plan_to_value(plan), indent=indent, ensure_ascii=False)


def plan_from_json(text: str, *, file: str | None = None) -> Plan:
    """The plan that a text holds; a text that is damaged or of another version is refused with the reason."""
    place = Place(file) if file else None
    try:
        told = read_json(text, file or "plan")
    except UserError as error:
        raise UserError(f"a plan that cannot be read: {error.message}", place=error.place) from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise UserError("this JSON is not a plan", place=place, hint=f'a plan begins with "format": "{FORMAT}"')
    if told.get("version") != VERSION:
        hint = f"this Slackwater reads version {VERSION}: plan the query again"
        raise UserError(f"a plan of version {told.get('version')!r}", place=place, hint=hint)
    try:
        return PlanReader(told).plan()
    except (KeyError, ValueError, TypeError, IndexError, RecursionError, SlackwaterError) as error:
        what = f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error)
        raise UserError(f"a damaged plan: {what}", place=place, hint="plan the query again") from None


def plan_to_value(plan: Plan) -> Entry:
    """The plan as a value of JSON."""
    writer = _Writer(plan.unit)
    steps: list[Json] = [writer.step(step) for step in plan.steps]
    return {
        "format": FORMAT,
        "version": VERSION,
        "times": list(plan.times),
        "weights": list(plan.weights),
        "objective": plan.objective,
        "cost": list(plan.cost),
        "batch_cost": list(plan.batch_cost),
        "rank": plan.rank,
        "batch_rank": plan.batch_rank,
        "unit": plan.unit.value,
        **_in_seconds(plan.unit, {"rank": plan.rank, "batch_rank": plan.batch_rank}),
        **({"cost_cpu_s": [each / 1e6 for each in plan.cost]} if plan.unit is Unit.CPU else {}),
        "rules": list(plan.rules),
        "limits": list(plan.limits),
        "factors": list(plan.factors),
        "steps": steps,
        "relations": writer.relations,
        "columns": writer.columns,
    }


def _in_seconds(unit: Unit, costs: Mapping[str, float]) -> Entry:
    """Costs in seconds of CPU, where that is what they count."""
    return {f"{name}_cpu_s": unit.cpu_s(cost) for name, cost in costs.items()} if unit is Unit.CPU else {}


class _Writer:
    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self.columns: list[Json] = []
        self.relations: list[Json] = []
        self._column_numbers: dict[tuple[str, str, str], int] = {}
        self._relation_numbers: dict[int, int] = {}
        self._alive: list[Relation] = []

    def step(self, step: Step) -> Entry:
        return {
            "run": step.run,
            "name": step.name,
            "purpose": step.purpose.name.lower(),
            "meaning": step.meaning,
            "rules": list(step.rules),
            "rows": step.rows,
            "cost": step.cost,
            **_in_seconds(self._unit, {"cost": step.cost}),
            "size": step.size,
            "benefit": step.benefit,
            "relation": self.relation(step.relation),
            "query": None if step.query is None else self._query(step.query),
            **({"answers": step.answers} if step.answers else {}),
            "by": [step.relation.columns.index(column) for column in step.by],
            **({} if step.identity is None else {"identity": self._identity(step.identity)}),
            "subject": None if step.subject is None else self._subject(step.subject),
            **({"by_history": step.by_history} if step.by_history != 1.0 else {}),
            "bill": list(step.bill),
            "entering": step.entering,
            **({"passing": [list(each) for each in step.passing]} if step.passing else {}),
        }

    def _subject(self, subject: Subject) -> Entry:
        return {
            "identity": subject.identity,
            "kind": subject.kind.value,
            "partial": subject.partial,
            "interval": subject.interval,
            "since": list(subject.since),
            "until": list(subject.until),
        }

    def _identity(self, identity: Identity) -> Entry:
        return {
            "relation": self.relation(identity.relation),
            "kind": identity.kind.value,
            "since": list(identity.since),
            "until": list(identity.until),
            "partial": identity.partial,
            "signed": identity.signed,
            "names": self._list(identity.names),
            "interval": identity.interval,
        }

    def _query(self, query: Query) -> Entry:
        outputs: list[Json] = [
            {"name": o.name, "column": self._column(o.column), "type": o.type.text} for o in query.outputs
        ]
        return {"relation": self.relation(query.relation), "outputs": outputs, "order": self._order(query.order)}

    def relation(self, root: Relation) -> int:
        """The number of a relation; its inputs are written first, each object once."""
        for node in root.walk():
            if id(node) not in self._relation_numbers:
                entry: Entry = {"operator": type(node).__name__.lower()}
                if node.inputs:
                    entry["inputs"] = [self._relation_numbers[id(below)] for below in node.inputs]
                entry.update(self._entry(node))
                self._relation_numbers[id(node)] = len(self.relations)
                self.relations.append(entry)
                self._alive.append(node)
        return self._relation_numbers[id(root)]

    def _column(self, column: Column) -> int:
        key = (str(column.id), column.name, column.type.text)
        if key not in self._column_numbers:
            self._column_numbers[key] = len(self.columns)
            self.columns.append({"id": key[0], "name": key[1], "type": key[2]})
        return self._column_numbers[key]

    def _list(self, columns: Iterable[Column]) -> list[Json]:
        return [self._column(column) for column in columns]

    def _scalar(self, scalar: Scalar) -> Json:
        told: Json = _plain(write_scalar(scalar))
        if isinstance(told, str) and not scalar.columns:
            return told
        columns = self._list(sorted(scalar.columns, key=lambda c: c.id))
        return {"sql" if isinstance(told, str) else "tree": told, "columns": columns}

    def _order(self, keys: tuple[SortKey, ...]) -> list[Json]:
        return [
            {"column": self._column(k.column), "descending": k.descending, "nulls_first": k.nulls_first} for k in keys
        ]

    def _items(self, items: Iterable[tuple[Column, Scalar]]) -> list[Json]:
        return [[self._column(column), self._scalar(scalar)] for column, scalar in items]

    @singledispatchmethod
    def _entry(self, node: Relation) -> Entry:
        raise InternalError(f"a plan's relation holds {type(node).__name__}, which has no place outside the memo")

    @_entry.register
    def _(self, node: Scan) -> Entry:
        fields: list[Json] = [{"name": f.name, "type": f.type.text, "nullable": f.nullable} for f in node.table.fields]
        return {
            "table": node.table.name,
            "fields": fields,
            "keys": [sorted(key) for key in node.table.keys],
            "changing": node.table.changing,
            "append_only": node.table.append_only,
            "names": self._list(node.names),
        }

    @_entry.register
    def _(self, node: Values) -> Entry:
        return {"names": self._list(node.names), "rows": [[self._scalar(v) for v in row] for row in node.rows]}

    @_entry.register
    def _(self, node: Filter) -> Entry:
        return {"predicate": self._scalar(node.predicate)}

    @_entry.register
    def _(self, node: Project) -> Entry:
        return {"items": self._items(node.items)}

    @_entry.register
    def _(self, node: Join) -> Entry:
        return {"kind": node.kind.value, "condition": self._scalar(node.condition)}

    @_entry.register
    def _(self, node: Aggregate) -> Entry:
        return {"keys": self._list(node.keys), "calls": [[self._column(c), self._call(call)] for c, call in node.calls]}

    def _call(self, call: AggregateCall) -> Entry:
        return {
            "function": call.function,
            "arguments": [self._scalar(argument) for argument in call.arguments],
            "type": call.type.text,
            "distinct": call.distinct,
            "filter": None if call.filter is None else self._scalar(call.filter),
            "order": [[self._scalar(scalar), descending] for scalar, descending in call.order],
            "ignore_nulls": call.ignore_nulls,
        }

    @_entry.register
    def _(self, node: Expand) -> Entry:
        keys: list[Json] = [[self._column(copy), self._column(source)] for copy, source in node.keys]
        return {"keys": keys, "sets": list(node.sets), "number": self._column(node.number)}

    @_entry.register
    def _(self, node: Window) -> Entry:
        return {"calls": [[self._column(column), self._window(call)] for column, call in node.calls]}

    def _window(self, call: WindowCall) -> Entry:
        return {
            "function": self._scalar(call.function),
            "partition": self._list(call.partition),
            "order": self._order(call.order),
            "frame": call.frame,
        }

    @_entry.register
    def _(self, node: Union) -> Entry:
        return {"names": self._list(node.names), "sources": [self._list(source) for source in node.sources]}

    @_entry.register
    def _(self, node: Limit) -> Entry:
        return {"order": self._order(node.order), "count": node.count, "offset": node.offset}

    @_entry.register
    def _(self, node: Generate) -> Entry:
        return {
            "generator": self._scalar(node.generator),
            "names": self._list(node.names),
            "keep_empty": node.keep_empty,
        }


def _plain(value: object) -> Json:
    """A value that holds nothing but what JSON has."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [_plain(each) for each in value]
        case dict():
            return {str(key): _plain(each) for key, each in value.items()}
        case _:
            raise InternalError(f"{type(value).__name__} has no place in JSON")
