"""Plans as JSON, and back: `plan_from_json(plan_to_json(plan)) == plan`, every field and every relation.

Columns and relations stand in two lists, numbered from zero; inputs come before the relations that read them, and what
is shared stays shared. The version of the format is part of the text and is raised with every change of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import singledispatchmethod
from typing import TypeAlias, TypeVar

from slackwater.algebra.relation import (
    Aggregate,
    AggregateCall,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Output,
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
from slackwater.algebra.schema import Column, ColumnId, Field, TableSchema
from slackwater.algebra.types import Type
from slackwater.algebra.written import read_scalar, write_scalar
from slackwater.cost.bill import Bill
from slackwater.cost.feedback import Subject
from slackwater.errors import InternalError, Place, SlackwaterError, UserError
from slackwater.plan.identity import Identity
from slackwater.plan.plan import ONLY, Plan, Purpose, Step
from slackwater.time.forms import Kind

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
        told = json.loads(text)
    except json.JSONDecodeError as error:
        where = Place(file or "plan", error.lineno, error.colno)
        raise UserError(f"a plan that is not JSON: {error.msg}", place=where) from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise UserError("this JSON is not a plan", place=place, hint=f'a plan begins with "format": "{FORMAT}"')
    if told.get("version") != VERSION:
        hint = f"this Slackwater reads version {VERSION}: plan the query again"
        raise UserError(f"a plan of version {told.get('version')!r}", place=place, hint=hint)
    try:
        return _Reader(told).plan()
    except (KeyError, ValueError, TypeError, IndexError, SlackwaterError) as error:
        what = f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error)
        raise UserError(f"a damaged plan: {what}", place=place, hint="plan the query again") from None


def plan_to_value(plan: Plan) -> Entry:
    """The plan as a value of JSON."""
    writer = _Writer()
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
        "rules": list(plan.rules),
        "limits": list(plan.limits),
        "factors": list(plan.factors),
        "steps": steps,
        "relations": writer.relations,
        "columns": writer.columns,
    }


# --- writing ---------------------------------------------------------------------------------------------------------


class _Writer:
    def __init__(self) -> None:
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


# --- reading ---------------------------------------------------------------------------------------------------------


class _Reader:
    def __init__(self, told: dict[str, object]) -> None:
        self.told = told
        self.columns = [
            Column(ColumnId(_text(entry, "id")), _text(entry, "name"), Type(_text(entry, "type")))
            for entry in _entries(told, "columns")
        ]
        self.relations: list[Relation] = []
        for entry in _entries(told, "relations"):
            self.relations.append(self._relation(entry))

    def plan(self) -> Plan:
        told = self.told
        plan = Plan(
            times=_texts(told, "times"),
            steps=tuple(self._step(entry) for entry in _entries(told, "steps")),
            cost=_numbers(told, "cost"),
            batch_cost=_numbers(told, "batch_cost"),
            objective=_text(told, "objective"),
            rank=_number(told["rank"]),
            batch_rank=_number(told["batch_rank"]),
            rules=_texts(told, "rules"),
            limits=_texts(told, "limits"),
            weights=_numbers(told, "weights"),
            factors=Bill(*_numbers(told, "factors")),
        )
        for vector in (plan.cost, plan.batch_cost, *((plan.weights,) if plan.weights else ())):
            if len(vector) != len(plan.times):
                raise ValueError(f"{len(vector)} numbers for {len(plan.times)} runs")
        return plan

    def _step(self, entry: dict[str, object]) -> Step:
        purpose = {p.name.lower(): p for p in Purpose}[_text(entry, "purpose")]
        query = entry["query"]
        run = _integer(entry["run"])
        if not 1 <= run <= len(_texts(self.told, "times")):
            raise ValueError(f"a step of run {run}")
        relation = self._numbered(entry["relation"])
        return Step(
            run,
            _text(entry, "name"),
            purpose,
            relation,
            _text(entry, "meaning"),
            _texts(entry, "rules"),
            _number(entry["rows"]),
            _number(entry["cost"]),
            None if query is None else self._query(_entry(query)),
            _number(entry["size"]),
            _number(entry["benefit"]),
            _string(entry.get("answers", ONLY)),
            tuple(relation.columns[_integer(position)] for position in _sequence(entry.get("by", []))),
            self._identity(_entry(entry["identity"])) if "identity" in entry else None,
            None if entry["subject"] is None else self._subject(_entry(entry["subject"])),
            _number(entry.get("by_history", 1.0)),
            Bill(*_numbers(entry, "bill")),
            _number(entry["entering"]),
        )

    def _subject(self, entry: dict[str, object]) -> Subject:
        return Subject(
            _text(entry, "identity"),
            Kind(_text(entry, "kind")),
            _truth(entry["partial"]),
            _integer(entry["interval"]),
            _texts(entry, "since"),
            _texts(entry, "until"),
        )

    def _identity(self, entry: dict[str, object]) -> Identity:
        return Identity(
            self._numbered(entry["relation"]),
            Kind(_text(entry, "kind")),
            _texts(entry, "since"),
            _texts(entry, "until"),
            _truth(entry["partial"]),
            _truth(entry["signed"]),
            self._list(entry["names"]),
            _integer(entry["interval"]),
        )

    def _query(self, entry: dict[str, object]) -> Query:
        outputs = (
            Output(_text(o, "name"), self._column(o["column"]), Type(_text(o, "type")))
            for o in _entries(entry, "outputs")
        )
        return Query(self._numbered(entry["relation"]), tuple(outputs), self._order(entry))

    def _numbered(self, told: object) -> Relation:
        number = _integer(told)
        if not 0 <= number < len(self.relations):
            raise ValueError(f"no relation {number} up to here")
        return self.relations[number]

    def _column(self, told: object) -> Column:
        number = _integer(told)
        if not 0 <= number < len(self.columns):
            raise ValueError(f"no column {number}")
        return self.columns[number]

    def _list(self, told: object) -> tuple[Column, ...]:
        return tuple(self._column(each) for each in _sequence(told))

    def _scalar(self, told: object) -> Scalar:
        if isinstance(told, str):
            return read_scalar(told, ())
        entry = _entry(told)
        return read_scalar(entry["sql"] if "sql" in entry else entry["tree"], self._list(entry["columns"]))

    def _order(self, entry: dict[str, object]) -> tuple[SortKey, ...]:
        return tuple(
            SortKey(self._column(k["column"]), _truth(k["descending"]), _truth(k["nulls_first"]))
            for k in _entries(entry, "order")
        )

    def _pairs(self, told: object, read: Callable[[object], T]) -> tuple[tuple[Column, T], ...]:
        found = []
        for pair in _sequence(told):
            column, value = _sequence(pair)
            found.append((self._column(column), read(value)))
        return tuple(found)

    def _relation(self, entry: dict[str, object]) -> Relation:
        inputs = [self._numbered(number) for number in _sequence(entry.get("inputs", []))]
        operator = _text(entry, "operator")
        match operator, inputs:
            case "scan", []:
                return self._scan(entry)
            case "values", []:
                rows = tuple(tuple(self._scalar(v) for v in _sequence(row)) for row in _sequence(entry["rows"]))
                return Values(self._list(entry["names"]), rows)
            case "filter", [below]:
                return Filter(below, self._scalar(entry["predicate"]))
            case "project", [below]:
                return Project(below, self._pairs(entry["items"], self._scalar))
            case "join", [left, right]:
                return Join(JoinKind(_text(entry, "kind")), left, right, self._scalar(entry["condition"]))
            case "aggregate", [below]:
                return Aggregate(below, self._list(entry["keys"]), self._pairs(entry["calls"], self._call))
            case "expand", [below]:
                sets = tuple(_integer(each) for each in _sequence(entry["sets"]))
                return Expand(below, self._pairs(entry["keys"], self._column), sets, self._column(entry["number"]))
            case "window", [below]:
                return Window(below, self._pairs(entry["calls"], self._window))
            case "union", [*branches]:
                sources = tuple(self._list(source) for source in _sequence(entry["sources"]))
                return Union(tuple(branches), self._list(entry["names"]), sources)
            case "limit", [below]:
                count = entry["count"]
                limit = None if count is None else _integer(count)
                return Limit(below, self._order(entry), limit, _integer(entry["offset"]))
            case "generate", [below]:
                names, kept = self._list(entry["names"]), _truth(entry["keep_empty"])
                return Generate(below, self._scalar(entry["generator"]), names, kept)
            case _:
                raise ValueError(f"no operator `{operator}` of {len(inputs)} inputs")

    def _scan(self, entry: dict[str, object]) -> Scan:
        fields = tuple(
            Field(_text(f, "name"), Type(_text(f, "type")), _truth(f["nullable"])) for f in _entries(entry, "fields")
        )
        keys = tuple(frozenset(_string(name) for name in _sequence(key)) for key in _sequence(entry["keys"]))
        changing, append_only = _truth(entry["changing"]), _truth(entry["append_only"])
        table = TableSchema(_text(entry, "table"), fields, keys, changing, append_only)
        return Scan(table, self._list(entry["names"]))

    def _call(self, told: object) -> AggregateCall:
        entry = _entry(told)
        order = []
        for pair in _sequence(entry["order"]):
            scalar, descending = _sequence(pair)
            order.append((self._scalar(scalar), _truth(descending)))
        return AggregateCall(
            _text(entry, "function"),
            tuple(self._scalar(argument) for argument in _sequence(entry["arguments"])),
            Type(_text(entry, "type")),
            _truth(entry["distinct"]),
            None if entry["filter"] is None else self._scalar(entry["filter"]),
            tuple(order),
            _truth(entry["ignore_nulls"]),
        )

    def _window(self, told: object) -> WindowCall:
        entry = _entry(told)
        frame = entry["frame"]
        return WindowCall(
            self._scalar(entry["function"]),
            self._list(entry["partition"]),
            self._order(entry),
            None if frame is None else _string(frame),
        )


def _entry(told: object) -> dict[str, object]:
    if not isinstance(told, dict):
        raise ValueError(f"an object was expected, not {str(told)[:60]}")
    return told


def _sequence(told: object) -> list[object]:
    if not isinstance(told, list):
        raise ValueError(f"a list was expected, not {str(told)[:60]}")
    return told


def _entries(told: dict[str, object], name: str) -> list[dict[str, object]]:
    return [_entry(each) for each in _sequence(told[name])]


def _string(told: object) -> str:
    if not isinstance(told, str):
        raise ValueError(f"a text was expected, not {str(told)[:60]}")
    return told


def _text(told: dict[str, object], name: str) -> str:
    return _string(told[name])


def _texts(told: dict[str, object], name: str) -> tuple[str, ...]:
    return tuple(_string(each) for each in _sequence(told[name]))


def _number(told: object) -> float:
    if isinstance(told, bool) or not isinstance(told, (int, float)):
        raise ValueError(f"a number was expected, not {str(told)[:60]}")
    return told


def _numbers(told: dict[str, object], name: str) -> tuple[float, ...]:
    return tuple(_number(each) for each in _sequence(told[name]))


def _integer(told: object) -> int:
    if isinstance(told, bool) or not isinstance(told, int):
        raise ValueError(f"a whole number was expected, not {str(told)[:60]}")
    return told


def _truth(told: object) -> bool:
    if not isinstance(told, bool):
        raise ValueError(f"true or false was expected, not {str(told)[:60]}")
    return told
