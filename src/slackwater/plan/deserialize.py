"""A plan read from a value of JSON, field by field: what `serialize` has written. A damaged value is a ValueError."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

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
from slackwater.algebra.written import read_scalar
from slackwater.physical.bill import Bill
from slackwater.physical.unit import Unit
from slackwater.plan.identity import Identity
from slackwater.plan.plan import ONLY, Plan, Purpose, Step
from slackwater.rows.feedback import Subject
from slackwater.time.forms import Kind

T = TypeVar("T")


class PlanReader:
    """The columns and relations of a plan's value, and then the plan."""

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
            unit=Unit(_string(told.get("unit", Unit.CPU))),
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
            tuple(_passing(each) for each in _sequence(entry.get("passing", []))),
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


def _passing(told: object) -> tuple[str, float]:
    name, share = _sequence(told)
    return _string(name), _number(share)


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
