"""What operators cost, as a vector of resources, reduced to one number by prices.

`EngineCost` is a Spark-like machine: CPU per row and operator, bytes read and written, bytes moved between workers,
bytes held in memory, and fixed prices for statements, sources and exchanges. Its unit is the microsecond; its rates
were fitted to what Spark 4.3 was measured to need (docs/cost.md). `RowsCost` is the papers' example: only rows that
enter a join or an aggregate count, and what an incremental join has in its state already is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from slackwater.algebra.effort import effort
from slackwater.algebra.relation import (
    Aggregate,
    AggregateCall,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Scan,
    Union,
    Window,
)
from slackwater.algebra.scalar import Scalar
from slackwater.algebra.types import BIGINT, sum_type
from slackwater.physical.bill import EVEN, Bill, Item
from slackwater.physical.by_itself import seems_small
from slackwater.physical.distribution import Columns, by_each, meets
from slackwater.physical.layouts import Layouts, Rows
from slackwater.physical.operators import (
    NO_COLUMNS,
    REDUCES,
    WORTH_REDUCING,
    Demand,
    Operator,
    Resources,
    Way,
    Work,
    is_consolidation,
    may_reduce,
)
from slackwater.physical.unit import Unit
from slackwater.rows.estimate import Estimate
from slackwater.rows.join_selectivity import has_equality, join_selectivity
from slackwater.rows.width import row_width, type_width
from slackwater.time.forms import Form, Kind
from slackwater.time.version import OLD

Given = Mapping[Relation, Columns]
"""By the hash of which columns leaves lie already; of what is not listed nothing is known."""

_HELD = dict.fromkeys(("avg", "mean", "try_avg"), 2) | dict.fromkeys(
    ("std", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"), 3
)
"""Numbers that an aggregate holds for a group, where it is more than one: an average is a sum and a count."""

_SUMMING = frozenset({"sum", "try_sum", "avg", "mean", "try_avg"})


@dataclass(frozen=True, slots=True)
class Prices:
    """Microseconds that a unit of each resource costs: of CPU, a byte of files, of shuffles, in memory, of waiting."""

    cpu: float = 1.0
    io: float = 0.0005
    network: float = 0.005
    memory: float = 0.0002
    fixed: float = 1.0

    def of(self, used: Resources) -> float:
        return self.work(used) + self.waiting(used)

    def work(self, used: Resources) -> float:
        """What is used for rows."""
        return self.cpu * used.cpu + self.io * used.io + self.network * used.network + self.memory * used.memory

    def waiting(self, used: Resources) -> float:
        """What no row count shortens."""
        return self.fixed * used.fixed


@dataclass(frozen=True, slots=True)
class Rates:
    """Microseconds of CPU for a row, or a byte, at each kind of work."""

    read: float = 0.02
    read_byte: float = 0.0006
    write: float = 0.1
    write_byte: float = 0.006
    part: float = 0.4
    """More for each written row of a state that is saved by key."""
    test: float = 0.015
    search: float = 0.5
    find: float = 0.1
    compute: float = 0.008
    product: float = 0.08
    """Two decimals multiplied or divided."""
    probe: float = 0.015
    emit: float = 0.04
    broadcast: float = 1.0
    shuffle: float = 0.2
    build: float = 0.2
    pair: float = 0.005
    group: float = 0.02
    group_key_byte: float = 0.004
    group_call: float = 0.015
    group_wide: float = 0.04
    """More for each number that is a decimal of more than 18 digits, as sums of decimals often are."""
    merge: float = 0.45
    sort: float = 0.8
    window_call: float = 0.06
    top: float = 0.08
    union: float = 0.005
    compressed: float = 0.4
    """What files weigh of what rows weigh."""
    partials: float = 4.0
    """Tasks that each may have a partial row of a group."""


class CostModel(Protocol):
    """Prices an alternative, and keeping a form from one run to another.

    `ways` are those to compute an expression over leaves of which some can lie as they are asked to; `save_by` and
    `load_by` are for a state that lies by the hash of some columns, None where the engine has no such states. `bill` is
    what a whole statement costs, item by item, by the built-in rates.
    """

    @property
    def factors(self) -> Bill: ...

    @property
    def unit(self) -> Unit: ...

    def compute(self, tree: Relation, rows: Rows) -> float: ...

    def ways(self, tree: Relation, rows: Rows, may_be_asked: Callable[[Relation], bool]) -> Sequence[Way]: ...

    def scan(self, form: Form, rows: Estimate) -> float: ...

    def save(self, form: Form, rows: Estimate) -> float: ...

    def save_by(self, form: Form, rows: Estimate) -> float | None: ...

    def load(self, form: Form, rows: Estimate) -> float: ...

    def load_by(self, form: Form, rows: Estimate) -> float: ...

    def deliver(self, rows: Estimate) -> float: ...

    def bill(self, tree: Relation, rows: Rows, given: Given, *, by_key: bool) -> Bill: ...


class WhereverItLies:
    """A base for models that take rows wherever they lie: one way for an expression, no states by key, no bills."""

    @property
    def factors(self) -> Bill:
        return EVEN

    @property
    def unit(self) -> Unit:
        return Unit.NONE

    def compute(self, tree: Relation, rows: Rows) -> float:
        raise NotImplementedError

    def ways(self, tree: Relation, rows: Rows, may_be_asked: Callable[[Relation], bool]) -> Sequence[Way]:
        return (Way((), (), self.compute(tree, rows)),)

    def save_by(self, form: Form, rows: Estimate) -> float | None:
        return None

    def load_by(self, form: Form, rows: Estimate) -> float:
        raise NotImplementedError

    def bill(self, tree: Relation, rows: Rows, given: Given, *, by_key: bool) -> Bill:
        return Bill()


@dataclass(frozen=True)
class EngineCost:
    """A Spark-like engine. `statement`, `source` and `exchanging` are waiting that no row count shortens."""

    prices: Prices = field(default_factory=Prices)
    statement: float = 40_000.0
    broadcast_rows: float = 5_000_000.0
    source: float = 3_000.0
    exchanging: float = 8_000.0
    rates: Rates = field(default_factory=Rates)
    declaring: float = 16_000.0
    """To tell the engine how a state lies, when it is saved and when it is loaded."""
    states_by_key: bool = True
    """Whether states can be saved by key; else only rows of the same statement lie by one."""
    told: bool = True
    """Whether joins are told which side to send; else the engine goes by what it knows itself: see `by_itself`."""
    factors: Bill = EVEN
    """By how much each item costs more or less on this cluster than by the rates: see `calibration`."""

    @property
    def unit(self) -> Unit:
        return Unit.CPU

    def compute(self, tree: Relation, rows: Rows, given: Given | None = None) -> float:
        """What an expression costs, every exchange that it needs included; `given` says how leaves lie already."""
        return self.layout(tree, rows, given).price

    def layout(self, tree: Relation, rows: Rows, given: Given | None = None) -> Way:
        """The cheapest way to compute an expression over leaves that lie so."""
        known = given or {}
        return cheapest(self.ways(tree, rows, known.__contains__), known)

    def ways(self, tree: Relation, rows: Rows, may_be_asked: Callable[[Relation], bool]) -> list[Way]:
        """The ways to compute an expression, the first over leaves as they lie; see `Layouts.ways`."""
        return Layouts(self, rows, may_be_asked).ways(tree)

    def used(self, tree: Relation, rows: Rows) -> Resources:
        """The resources of all work on an expression; leaves lie anyhow and are paid for where they are made."""
        return sum((work.used for work in self.layout(tree, rows).works), Resources())

    def physical(self, node: Relation, rows: Rows) -> Operator:
        """How the engine would do an operator."""
        way = self.layout(node, rows)
        return next((work.operator for work in reversed(way.works) if work.of is node), Operator.SCAN)

    # --- work ------------------------------------------------------------------------------------------------------

    def _work(self, operator: Operator, of: Relation, used: Resources, by: Columns = NO_COLUMNS) -> Work:
        return Work(operator, of, used, self._price(operator.item, used), by, waiting=self._waiting(used))

    def _price(self, item: Item, used: Resources) -> float:
        return self.factors[item] * self.prices.work(used) + self._waiting(used)

    def _waiting(self, used: Resources) -> float:
        return self.factors.fixed * self.prices.waiting(used)

    def _charged(self, item: Item, used: Resources) -> Bill:
        """The same by the built-in rates, on a bill."""
        return Bill.of({item: self.prices.work(used)}) + Bill(fixed=self.prices.waiting(used))

    def bill(self, tree: Relation, rows: Rows, given: Given, *, by_key: bool) -> Bill:
        """A statement that computes an expression over sources and states and writes it, by the built-in rates."""
        found = Bill()
        for work in self.layout(tree, rows, given).works:
            found += self._charged(work.operator.item, work.used)
        for leaf in dict.fromkeys(node for node in tree.walk() if isinstance(node, Scan)):
            declared = Resources(fixed=self.declaring if leaf in given else 0.0)
            found += self._charged(Item.READ, self._reading(_width(leaf, rows(leaf)), rows(leaf)) + declared)
        size = rows(tree)
        parted = Resources(cpu=self.rates.part * size.rows, fixed=self.declaring) if by_key else Resources()
        return found + self._charged(Item.WRITE, self._writing(_width(tree, size), size) + parted)

    def on_rows(self, node: Relation, rows: Rows) -> Work:
        """What an operator does to the rows of its input where they lie."""
        rate = self.rates
        match node:
            case Aggregate():
                return self._aggregate(node, rows)
            case Filter():
                each = rate.test + self._evaluating([node.predicate])
                return self._work(Operator.FILTER, node, Resources(cpu=each * rows(node.input).rows))
            case Project():
                each = self._evaluating(scalar for _, scalar in node.items)
                return self._work(Operator.PROJECT, node, Resources(cpu=each * rows(node.input).rows))
            case Union():
                return self._work(Operator.UNION, node, Resources(cpu=rate.union * rows(node).rows))
            case Window():
                cpu = (rate.sort + rate.window_call * len(node.calls)) * rows(node.input).rows
                return self._work(Operator.WINDOW, node, Resources(cpu=cpu))
            case Limit():
                used = Resources(cpu=rate.top * rows(node.input).rows, fixed=self.exchanging)
                return self._work(Operator.TOP, node, used)
            case Expand():
                return self._work(Operator.EXPAND, node, Resources(cpu=rate.emit * rows(node).rows))
            case Generate():
                return self._work(Operator.GENERATE, node, Resources(cpu=rate.emit * rows(node).rows))
            case _:
                return self._work(Operator.SCAN, node, Resources(cpu=rate.read * rows(node).rows))

    def _aggregate(self, node: Aggregate, rows: Rows) -> Work:
        """Partial rows by task, merged; what moves them by key is apart."""
        rate = self.rates
        below, out = rows(node.input).rows, rows(node).rows
        each = rate.group + rate.group_key_byte * sum(type_width(key.type) for key in node.keys)
        for _, call in node.calls:
            held = _HELD.get(call.function, 1)
            each += (rate.group_call + (rate.group_wide if _is_wide(call) else 0.0)) * held
            each += self._evaluating(call.scalars)
        used = Resources(cpu=each * below + rate.merge * out, memory=row_width(node) * out)
        return self._work(Operator.CONSOLIDATE if is_consolidation(node) else Operator.AGGREGATE, node, used)

    def _evaluating(self, scalars: Iterable[Scalar]) -> float:
        """Microseconds to evaluate some expressions on a row."""
        rate = self.rates
        found = 0.0
        for done in map(effort, scalars):
            found += rate.search * done.searches + rate.find * done.finds
            found += rate.product * done.products + rate.compute * done.others
        return found

    def exchange(self, node: Relation, by: Columns, rows: Rows) -> Work:
        """All rows moved to where the hash of some columns says."""
        return self._moved(node, row_width(node), rows(node).rows, by)

    def exchange_of_partials(self, node: Aggregate, rows: Rows) -> Work:
        """Partial rows moved by key. Rows that arrive together lie together: one task has all of a group."""
        entering = rows(node.input)
        out = rows(node).rows
        together = any(entering.spread(key).cluster is not None for key in node.keys)
        partial = min(entering.rows, out if together else self.rates.partials * out)
        return self._moved(node, row_width(node), partial, frozenset(node.keys))

    def _moved(self, node: Relation, width: float, rows: float, by: Columns) -> Work:
        used = Resources(cpu=self.rates.shuffle * rows, network=width * rows, fixed=self.exchanging)
        return self._work(Operator.EXCHANGE, node, used, by)

    def may_send(self, join: Join, sent: Relation, rows: Rows) -> bool:
        """Whether a side is small enough to be with every worker; without a key to meet by there is no other way."""
        if join.kind is JoinKind.INNER and not has_equality(join):
            return True
        if not self.told:
            return seems_small(sent, rows, self.rates.compressed)
        return rows(sent).rows <= self.broadcast_rows

    def send(self, join: Join, sent: Relation, rows: Rows) -> Work:
        """A copy of a side for every worker, as a hash table by the join's columns."""
        small = rows(sent).rows
        used = Resources(cpu=self.rates.broadcast * small, memory=row_width(sent) * small, fixed=self.exchanging)
        return self._work(Operator.BROADCAST, sent, used, join.condition.columns & frozenset(sent.columns))

    def build(self, join: Join, rows: Rows) -> Work:
        """A hash table of the smaller side, on each worker of what lies there."""
        left, right = rows(join.left).rows, rows(join.right).rows
        small = join.left if left < right else join.right
        held = min(row_width(join.left) * left, row_width(join.right) * right)
        used = Resources(cpu=self.rates.build * min(left, right), memory=held)
        return self._work(Operator.BUILD, small, used, join.condition.columns & frozenset(small.columns))

    def probe(self, join: Join, sent: Relation | None, rows: Rows) -> Work:
        """The other side looks for its partners, by hash or one by one."""
        left, right, rate = rows(join.left).rows, rows(join.right).rows, self.rates
        equal = has_equality(join)
        cpu = rate.emit * rows(join).rows
        if sent is not None:
            large = left if sent is join.right else right
            cpu += rate.probe * large if equal else rate.pair * left * right
            return self._work(Operator.BROADCAST_JOIN if equal else Operator.NESTED_LOOP_JOIN, join, Resources(cpu=cpu))
        cpu += rate.probe * max(left, right) + (0.0 if equal else rate.pair * left * right)
        return self._work(Operator.SHUFFLED_JOIN if equal else Operator.NESTED_LOOP_JOIN, join, Resources(cpu=cpu))

    def reduce(self, join: Join, rows: Rows) -> tuple[Work, ...]:
        """A small left side sent to find the rows of the right one that it meets; these are moved, and so is it."""
        left, right, rate = rows(join.left), rows(join.right), self.rates
        few = left.rows <= min(self.broadcast_rows, REDUCES * right.rows) and right.rows >= WORTH_REDUCING
        if not (self.told and few and may_reduce(join)):
            return ()
        met = right.rows * join_selectivity(join, left, right).right_hit
        cpu = rate.probe * (right.rows + left.rows) + (rate.emit + rate.shuffle + rate.build) * met
        held = row_width(join.right) * met
        used = Resources(cpu + rate.emit * rows(join).rows, network=held, memory=held, fixed=self.exchanging)
        return (
            self.send(join, join.left, rows),
            self.exchange(join.left, join.condition.columns & frozenset(join.left.columns), rows),
            self._work(Operator.REDUCED_JOIN, join, used),
        )

    # --- keeping ---------------------------------------------------------------------------------------------------

    def scan(self, form: Form, rows: Estimate) -> float:
        return self.load(form, rows)

    def save(self, form: Form, rows: Estimate) -> float:
        return self._price(Item.WRITE, self._writing(_width(form, rows), rows))

    def _writing(self, width: float, rows: Estimate) -> Resources:
        size = width * rows.rows
        cpu = self.rates.write * rows.rows + self.rates.write_byte * size
        return Resources(cpu=cpu, io=self.rates.compressed * size, fixed=self.statement)

    def save_by(self, form: Form, rows: Estimate) -> float | None:
        """Rows are sorted by the file that the hash of their key puts them into."""
        if not self.states_by_key:
            return None
        parted = Resources(cpu=self.rates.part * rows.rows, fixed=self.declaring)
        return self.save(form, rows) + self._price(Item.WRITE, parted)

    def load_by(self, form: Form, rows: Estimate) -> float:
        return self.load(form, rows) + self._price(Item.READ, Resources(fixed=self.declaring))

    def load(self, form: Form, rows: Estimate) -> float:
        return self._price(Item.READ, self._reading(_width(form, rows), rows))

    def _reading(self, width: float, rows: Estimate) -> Resources:
        size = width * rows.rows
        cpu = self.rates.read * rows.rows + self.rates.read_byte * size
        return Resources(cpu=cpu, io=self.rates.compressed * size, fixed=self.source)

    def deliver(self, rows: Estimate) -> float:
        return self._price(Item.WRITE, self._writing(rows.width or 1.0, rows))


def cheapest(ways: Iterable[Way], given: Given) -> Way:
    """The cheapest of the ways whose demands are met by how leaves lie."""

    def met(demand: Demand) -> bool:
        hashed = given.get(demand[0])
        return hashed is not None and meets(by_each(hashed), demand[1])

    return min((way for way in ways if all(map(met, way.demands))), key=lambda way: way.price)


def physical(node: Relation, rows: Rows, model: EngineCost | None = None) -> str:
    """The name of what the engine does for an operator, such as `broadcast hash join`."""
    return str((model or EngineCost()).physical(node, rows))


def _is_wide(call: AggregateCall) -> bool:
    """Whether what an aggregate holds is a decimal that does not fit into 8 bytes."""
    if call.function not in _SUMMING or not call.arguments:
        return False
    return type_width(sum_type(call.arguments[0].type)) > type_width(BIGINT)


def _width(of: Relation, rows: Estimate) -> float:
    return rows.width if rows.width is not None else row_width(of)


@dataclass(frozen=True)
class RowsCost(WhereverItLies):
    """Only rows that enter a join or an aggregate; an incremental join's state is free.   [Tempura §2.2]"""

    @property
    def unit(self) -> Unit:
        return Unit.ROWS

    def compute(self, tree: Relation, rows: Rows) -> float:
        leaves = [node for node in tree.walk() if isinstance(node, Form)]
        incremental = any(leaf.kind is not Kind.SNAPSHOT for leaf in leaves)
        entering: dict[int, float] = {}
        total = 0.0
        for node in tree.walk():
            if isinstance(node, Join):
                for leaf in node.walk():
                    if isinstance(leaf, Form) and not leaf.partial:
                        news = self._news(leaf, rows) if incremental else rows(leaf).rows
                        entering[leaf.group] = max(entering.get(leaf.group, 0.0), news)
            elif isinstance(node, Aggregate) and node.calls and not _reads_partials(node):
                total += rows(node.input).rows
        return total + sum(entering.values())

    def _news(self, leaf: Form, rows: Rows) -> float:
        """Rows that an incremental join has not seen in an earlier run."""
        if leaf.kind is not Kind.SNAPSHOT:
            return rows(leaf).rows
        return max(0.0, rows(leaf).rows - rows(replace(leaf, until=OLD)).rows) if leaf.until else 0.0

    def scan(self, form: Form, rows: Estimate) -> float:
        return 0.0

    def save(self, form: Form, rows: Estimate) -> float:
        return 0.0

    def load(self, form: Form, rows: Estimate) -> float:
        return 0.0

    def deliver(self, rows: Estimate) -> float:
        return 0.0


def _reads_partials(node: Aggregate) -> bool:
    return any(isinstance(leaf, Form) and leaf.partial for leaf in node.walk())
