"""Relations as text: one operator a line, inputs below it, columns by readable names.

Two columns of one name get a number each in order of appearance, so the text is unambiguous and the same every time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import singledispatchmethod

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
from slackwater.algebra.scalar import Scalar, conjuncts
from slackwater.algebra.schema import Column

Leaf = Callable[[Relation], str | None]
"""What a leaf is called; None where its own line will do."""


def show(relation: Relation | Query, *, leaf: Leaf | None = None, brief: bool = False) -> str:
    """The relation as an indented tree; what is used twice is printed once and referred to.

    `leaf` may give names to leaves. A `brief` tree leaves out what only keeps columns or fixes the types of partial
    aggregates, and says of a projection only what it adds.
    """
    return _Printer(leaf, brief=brief).print(relation)


def operator(relation: Relation, *, brief: bool = False) -> str:
    """One operator on one line, without its inputs."""
    printer = _Printer(None, brief=brief)
    printer.name_columns(relation)
    return printer.line(relation)


def keeps_columns(relation: Relation) -> bool:
    """Whether a relation only keeps columns of its input as they are, or gives partial aggregates their types."""
    if not isinstance(relation, Project) or not relation.items:
        return False
    return all(scalar.column == column or _typing(column, scalar) is not None for column, scalar in relation.items)


def _typing(column: Column, scalar: Scalar) -> Column | None:
    """The untyped namesake that a column is a cast of."""
    if len(scalar.columns) != 1 or not scalar.text.startswith("CAST("):
        return None
    (source,) = scalar.columns
    is_namesake = not source.type.is_known and source.name == column.name
    return source if is_namesake and scalar.text.startswith(f"CAST(`{source.id}` AS ") else None


class _Printer:
    def __init__(self, leaf: Leaf | None = None, *, brief: bool = False) -> None:
        self._leaf = leaf
        self._brief = brief
        self._names: dict[Column, str] = {}
        self._taken: set[str] = set()
        self._shared: dict[int, str] = {}
        self._printed: set[int] = set()

    def print(self, root: Relation | Query) -> str:
        relation = root.relation if isinstance(root, Query) else root
        self.name_columns(relation)
        self._find_shared(relation)
        lines: list[str] = []
        if isinstance(root, Query):
            outputs = ", ".join(
                name if (name := self._name(o.column)) == o.name else f"{name} as {o.name}" for o in root.outputs
            )
            order = f"  order by {self._order(root.order)}" if root.order else ""
            lines.append(f"query {outputs}{order}")
            lines += self._tree(relation, "", "└─ ", "   ")
        else:
            lines += self._tree(relation, "", "", "")
        return "\n".join(lines)

    def name_columns(self, relation: Relation) -> None:
        """Names every column in order of appearance; a column and what only gives it its type share a name."""
        if self._brief:
            for node in relation.walk():
                for column, scalar in node.items if isinstance(node, Project) else ():
                    if (source := _typing(column, scalar)) is not None:
                        self._names[source] = self._name(column)
        for node in relation.walk():
            for column in node.columns:
                self._name(column)

    def _find_shared(self, relation: Relation) -> None:
        readers = [node for node in relation.walk() if not self._is_silent(node)]
        uses = Counter(id(self._shown(below)) for node in readers for below in node.inputs)
        for node in relation.walk():
            if uses[id(node)] > 1 and node.inputs:
                self._shared[id(node)] = f"#{len(self._shared) + 1}"

    def _is_silent(self, relation: Relation) -> bool:
        return self._brief and keeps_columns(relation)

    def _shown(self, relation: Relation) -> Relation:
        """The relation itself, or what it only keeps columns of."""
        while self._is_silent(relation):
            relation = relation.inputs[0]
        return relation

    def _tree(self, relation: Relation, indent: str, branch: str, rest: str) -> Iterator[str]:
        relation = self._shown(relation)
        mark = self._shared.get(id(relation))
        if mark and id(relation) in self._printed:
            yield f"{indent}{branch}{mark} (see above)"
            return
        self._printed.add(id(relation))
        yield f"{indent}{branch}{mark + ' ' if mark else ''}{self.line(relation)}"
        for position, below in enumerate(relation.inputs):
            last = position == len(relation.inputs) - 1
            yield from self._tree(below, indent + rest, "└─ " if last else "├─ ", "   " if last else "│  ")

    def _name(self, column: Column) -> str:
        if column not in self._names:
            name, number = column.name, 1
            while name in self._taken:
                number += 1
                name = f"{column.name}_{number}"
            self._taken.add(name)
            self._names[column] = name
        return self._names[column]

    def _scalar(self, scalar: Scalar) -> str:
        if self._brief and scalar.is_literal and scalar.text.startswith("CAST(NULL AS "):
            return "NULL"
        return scalar.show(self._name)

    def _columns(self, columns: tuple[Column, ...]) -> str:
        return ", ".join(self._name(c) for c in columns)

    def _order(self, keys: tuple[SortKey, ...]) -> str:
        def one(key: SortKey) -> str:
            default = key.nulls_first is not key.descending
            nulls = "" if default else " nulls first" if key.nulls_first else " nulls last"
            return f"{self._name(key.column)}{' desc' if key.descending else ''}{nulls}"

        return ", ".join(one(key) for key in keys)

    def _items(self, items: tuple[tuple[Column, Scalar], ...]) -> str:
        return ", ".join(self._name(c) if s.column == c else f"{self._name(c)} := {self._scalar(s)}" for c, s in items)

    def _call(self, call: AggregateCall) -> str:
        inner = ", ".join(self._scalar(a) for a in call.arguments) or ("*" if call.function == "count" else "")
        order = ", ".join(f"{self._scalar(key)}{' desc' if descending else ''}" for key, descending in call.order)
        parts = [
            f"{call.function}({'distinct ' if call.distinct else ''}{inner})",
            f"within ({order})" if order else "",
            "ignoring nulls" if call.ignore_nulls else "",
            f"filter ({self._scalar(call.filter)})" if call.filter else "",
        ]
        return " ".join(part for part in parts if part)

    def _window(self, call: WindowCall) -> str:
        parts = [f"by {self._columns(call.partition)}" if call.partition else ""]
        parts += [f"order {self._order(call.order)}" if call.order else "", call.frame or ""]
        return f"{self._scalar(call.function)} over ({' '.join(p for p in parts if p)})"

    def line(self, relation: Relation) -> str:
        """The operator itself."""
        called = self._leaf(relation) if self._leaf is not None and not relation.inputs else None
        return self._line(relation) if called is None else called

    @singledispatchmethod
    def _line(self, relation: Relation) -> str:
        return type(relation).__name__.lower()

    @_line.register
    def _(self, relation: Scan) -> str:
        return f"scan {relation.table.name}"

    @_line.register
    def _(self, relation: Values) -> str:
        rows = ", ".join("(" + ", ".join(self._scalar(v) for v in row) + ")" for row in relation.rows[:5])
        more = f", … {len(relation.rows)} rows" if len(relation.rows) > 5 else ""
        return f"values [{self._columns(relation.names)}] {rows}{more}".rstrip()

    @_line.register
    def _(self, relation: Filter) -> str:
        return "filter " + " and ".join(self._parts(relation.predicate))

    def _parts(self, predicate: Scalar) -> list[str]:
        parts = conjuncts(predicate)
        texts = [self._scalar(part) for part in parts]
        return [f"({t})" if " OR " in t and len(parts) > 1 else t for t in texts] or ["true"]

    @_line.register
    def _(self, relation: Project) -> str:
        if not self._brief:
            return f"project {self._items(relation.items)}"
        added = tuple((c, s) for c, s in relation.items if s.column != c)
        if added and relation.definitions.keys() >= set(relation.input.columns):
            return f"with {self._items(added)}"
        return f"project {self._items(relation.items)}"

    @_line.register
    def _(self, relation: Join) -> str:
        return f"{relation.kind} join on " + " and ".join(self._parts(relation.condition))

    @_line.register
    def _(self, relation: Aggregate) -> str:
        if relation.is_distinct:
            return f"distinct {self._columns(relation.keys)}"
        calls = ", ".join(f"{self._name(c)} := {self._call(call)}" for c, call in relation.calls)
        return f"aggregate {calls}" + (f" by {self._columns(relation.keys)}" if relation.keys else "")

    @_line.register
    def _(self, relation: Expand) -> str:
        keys = ", ".join(f"{self._name(copy)} := {self._name(source)}" for copy, source in relation.keys)
        width = len(relation.keys)
        return f"expand {keys} for sets {', '.join(format(s, f'0{width}b') for s in relation.sets)}"

    @_line.register
    def _(self, relation: Window) -> str:
        return "window " + ", ".join(f"{self._name(c)} := {self._window(call)}" for c, call in relation.calls)

    @_line.register
    def _(self, relation: Union) -> str:
        if self._brief and all(source == relation.names for source in relation.sources):
            return "union all"
        return f"union all {self._columns(relation.names)}"

    @_line.register
    def _(self, relation: Limit) -> str:
        count = "" if relation.count is None else f" {relation.count}"
        offset = f" offset {relation.offset}" if relation.offset else ""
        return f"limit{count}{offset}" + (f" by {self._order(relation.order)}" if relation.order else "")

    @_line.register
    def _(self, relation: Generate) -> str:
        outer = " keeping empty" if relation.keep_empty else ""
        return f"generate {self._columns(relation.names)} := {self._scalar(relation.generator)}{outer}"
