"""Window functions of a SELECT: they leave their expressions and become Window operators, one a partitioning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from slackwater.algebra.functions import WINDOW_ONLY
from slackwater.algebra.relation import SortKey, Window, WindowCall
from slackwater.algebra.scalar import Scalar, function_name
from slackwater.algebra.schema import Column
from slackwater.sql.bind_groups import unwrapped
from slackwater.sql.scope import leaf
from slackwater.sql.workbench import Workbench


@dataclass
class Windows:
    """The window functions of one SELECT."""

    bench: Workbench
    _columns: dict[exp.Expr, Column] = field(default_factory=dict)

    def build(self, trees: Sequence[exp.Expr]) -> None:
        """Puts one Window in place for each partitioning that the trees ask for."""
        computed: dict[Column, Scalar] = {}
        by_partition: dict[tuple[Column, ...], list[tuple[Column, WindowCall]]] = {}
        for written in dict.fromkeys(w for tree in trees for w in tree.find_all(exp.Window)):
            call = self._call(written, computed)
            name = function_name(unwrapped(call.function.tree))
            kind = call.function.type if call.function.type.is_known else self.bench.type_of(written)
            column = self.bench.context.factory.new(name, kind)
            by_partition.setdefault(call.partition, []).append((column, call))
            self._columns[written] = column
        self.bench.extend(computed)
        for calls in by_partition.values():
            self.bench.relation = Window(self.bench.relation, tuple(calls))
        self.bench.note(*self.bench.relation.columns)

    def above(self, tree: exp.Expr) -> exp.Expr:
        """The tree with each window function replaced by its column."""

        def replace(node: exp.Expr) -> exp.Expr:
            return leaf(self._columns[node]) if isinstance(node, exp.Window) else node

        return tree.transform(replace) if self._columns else tree

    def _call(self, window: exp.Window, computed: dict[Column, Scalar]) -> WindowCall:
        context, function = self.bench.context, unwrapped(window.this)
        name = function_name(function)
        if name not in WINDOW_ONLY and not context.is_aggregate(function):
            raise context.wrong(f"`{name or function.sql('spark')}` cannot stand before OVER", window)
        if any(isinstance(part, exp.Window) for part in window.walk() if part is not window):
            raise context.wrong("a window function inside a window function", window)
        partition = (
            self.bench.as_column(key, "part", computed)
            for key in window.args.get("partition_by") or []
            if key.find(exp.Column, exp.Func)
        )
        order, spec = window.args.get("order"), window.args.get("spec")
        keys = tuple(self._sort_key(entry, computed) for entry in (order.expressions if order else []))
        frame = spec.sql(dialect="spark") if spec else None
        return WindowCall(self.bench.call(window.this), tuple(dict.fromkeys(partition)), keys, frame)

    def _sort_key(self, entry: exp.Ordered, computed: dict[Column, Scalar]) -> SortKey:
        column = self.bench.as_column(entry.this, "sort", computed)
        return SortKey(column, bool(entry.args.get("desc")), bool(entry.args.get("nulls_first")))
