"""From choices to steps: saved and shared cells get steps of their own, all others are inlined into their readers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from slackwater.algebra.relation import Project, Relation, Values
from slackwater.algebra.scalar import reference
from slackwater.algebra.schema import Column
from slackwater.errors import InternalError
from slackwater.physical.statement_price import Statement
from slackwater.plan.identity import Identity
from slackwater.plan.plan import Purpose, Step, answer_of
from slackwater.plan.proposals import Delivery, ProposedPlan
from slackwater.rows.bounds import most_rows
from slackwater.rows.cardinality import Estimator
from slackwater.rows.estimate import Estimate
from slackwater.rows.width import row_width
from slackwater.search.cells import Cell, Cells
from slackwater.search.space import Key
from slackwater.sql.names import output_names
from slackwater.time.forms import Form, Kind, forms_of
from slackwater.time.source_names import state_source
from slackwater.time.version import OLD, Mask


class StepBuilder:
    """Turns a proposed plan into the steps of every run. Shared cells are loaded even by their own run.

    `kept` are cells that exist already, with the steps that saved them; `past` are the steps of completed runs, whose
    names are taken.
    """

    def __init__(
        self, cells: Cells, proposed: ProposedPlan, kept: Mapping[Key, Step], past: Collection[Step] = ()
    ) -> None:
        self.cells, self.memo = cells, cells.memo
        self.proposed, self.choices = proposed, proposed.choices
        self.rows: dict[Relation, Estimate] = {}
        """The estimates of every part of every step; filled by `steps`."""
        self._names = {key: step.name for key, step in kept.items()}
        self._taken = {delivery.step for delivery in proposed.deliveries} | {step.name for step in past}

    def steps(self) -> list[Step]:
        """All steps, run by run, each after the steps it reads."""
        order, deliveries = self._in_order(), self.proposed.deliveries
        steps: list[Step] = []
        for run in sorted({run for _, run in order} | {delivery.run for delivery in deliveries}):
            due = [delivery for delivery in deliveries if delivery.run == run]
            for key in order:
                if key[1] != run:
                    continue
                if self.proposed.has_step(key):
                    steps.append(self._step(key, Purpose.STATE if key in self.proposed.read_later else Purpose.SCRATCH))
                steps.extend(self._output(delivery) for delivery in due if delivery.key == key)
            steps.extend(self._output(delivery) for delivery in due if delivery.key[1] < run)
        return steps

    def _in_order(self) -> list[Key]:
        """The computed cells, inputs first."""
        done: dict[Key, None] = {}

        def visit(key: Key) -> None:
            if key in done:
                return
            for source in self.choices[key].inputs:
                visit(source)
            done[key] = None

        for delivery in self.proposed.deliveries:
            visit(delivery.key)
        return list(done)

    def _step(self, key: Key, purpose: Purpose) -> Step:
        relation, rules, cost = self._written_out(key)
        relation = in_order(relation, key[0].form.columns)
        name = self._name(key)
        size = self.rows[relation] = self._bounded(relation, self.cells.estimate(key[0]))
        return Step(
            key[1],
            name,
            purpose,
            relation,
            self._meaning(key[0]),
            rules,
            size.rows,
            cost,
            size=size.rows * (size.width or row_width(key[0].form)),
            benefit=self.proposed.worth.get(key, 0.0),
            identity=Identity.of(self.memo, key[0]),
            subject=self.cells.subject(key[0]),
            by_history=self.cells.by_history(key[0]),
        )

    def _output(self, delivery: Delivery) -> Step:
        relation, rules, cost = self._read(delivery.key, delivery.run)
        cell = delivery.key[0]
        query = delivery.query.with_relation(relation)
        return Step(
            delivery.run,
            delivery.step,
            Purpose.OUTPUT,
            relation,
            answer_of(delivery.name),
            rules,
            self.cells.estimate(cell).rows,
            cost,
            query,
            answers=delivery.name,
            subject=self.cells.subject(cell),
            by_history=self.cells.by_history(cell),
        )

    def _read(self, key: Key, run: int) -> tuple[Relation, tuple[str, ...], float]:
        """A cell as a run reads it: from its state, or inlined."""
        if key in self._names and (key[1] < run or key in self.proposed.shared):
            state = state_source(self._names[key], key[0].form.columns)
            self.rows[state] = self.cells.estimate(key[0]).counted()
            return state, (), 0.0
        if key[1] < run and not isinstance(self.choices[key].tree, Values):
            raise InternalError(f"{key[0].form} of run {key[1]} is read at run {run} but not saved")
        return self._written_out(key)

    def _written_out(self, key: Key) -> tuple[Relation, tuple[str, ...], float]:
        """The expression of a cell with its inputs inlined, down to sources, states and kept cells."""
        cell, run = key
        choice = self.choices[key]
        tree = choice.tree
        if tree is None:
            source_rows = self.cells.at_hand(cell)
            self.rows[source_rows] = self.cells.estimate(cell)
            return source_rows, (), choice.own
        rules = list(choice.rules)
        cost = choice.own
        by_leaf: dict[Form, Relation] = {}
        inputs = dict(choice.inputs)
        for leaf in forms_of(tree):
            source = self.cells.cell(leaf, choice.frame)
            relation, more, price = self._read((source, inputs[source]), run)
            by_leaf[leaf] = relation
            rules += more
            cost += price
        relation = self._replaced(tree, by_leaf, self.cells.estimator(choice.frame, bounded=False))
        self.rows[relation] = self._bounded(relation, self.cells.estimate(cell))  # whichever rule computes it
        return relation, tuple(dict.fromkeys(rules)), cost

    def _replaced(self, tree: Relation, by_leaf: Mapping[Form, Relation], estimator: Estimator) -> Relation:
        if isinstance(tree, Form):
            return by_leaf[tree]
        relation = tree.with_inputs(*(self._replaced(below, by_leaf, estimator) for below in tree.inputs))
        self.rows[relation] = self._bounded(relation, estimator(tree))
        return relation

    def _bounded(self, relation: Relation, rows: Estimate) -> Estimate:
        """The estimate, with the upper bound that follows from what the step really reads."""
        estimate = self.rows.get(relation, rows)
        if not relation.inputs:
            return estimate
        most = most_rows(relation, [self.rows[below] for below in relation.inputs])
        return replace(rows, most=most, right_hit=estimate.right_hit)

    def statement(self, step: Step) -> Statement:
        """A step as the cost model sees it."""
        saved = {name: cell for (cell, _), name in self._names.items()}
        loads = tuple(
            (saved[scan.table.name].form, self.rows[scan])
            for scan in dict.fromkeys(step.relation.scans())
            if scan.table.name in saved
        )
        saves = saved[step.name].form if step.query is None else None
        return Statement(step.relation, self.rows.__getitem__, step.cost, loads, saves)

    # --- names -------------------------------------------------------------------------------------------------------

    def _name(self, key: Key) -> str:
        if key not in self._names:
            cell, run = key
            base = "_".join(self._tables(cell)[:2]) or "rows"
            partial = "_partial" if cell.form.partial else ""
            reach = cell.frame.until if cell.frame.is_step else f"{cell.frame.runs[0]}_{cell.frame.until}"
            kind = {Kind.SNAPSHOT: "v", Kind.DELTA: "d", Kind.COMPLETION: "c"}[cell.form.kind]
            name = stem = f"{base}{partial}_{kind}{reach}" + (f"_at{run}" if run != cell.first_run else "")
            number = 1
            while name in self._taken:
                number += 1
                name = f"{stem}_{number}"
            self._taken.add(name)
            self._names[key] = name
        return self._names[key]

    def _tables(self, cell: Cell) -> list[str]:
        scans = self.memo.written(self.memo[cell.form.group].leaf).scans()
        return list(dict.fromkeys(scan.table.name.replace(".", "_") for scan in scans))

    def _meaning(self, cell: Cell) -> str:
        what = {Kind.SNAPSHOT: "rows", Kind.DELTA: "change", Kind.COMPLETION: "completion"}[cell.form.kind]
        node = type(self.memo[cell.form.group].expressions[0]).__name__.lower()
        shape = "partial " if cell.form.partial else ""
        tables = ", ".join(self._tables(cell))
        when = f"after run {cell.frame.until}" if cell.form.kind is Kind.SNAPSHOT else f"at {cell.frame}"
        if not cell.changes:
            return f"{node} over {tables}"
        return f"{shape}{node} over {tables}: {what}{self._step_of(cell.form)} {when}"

    def _step_of(self, form: Form) -> str:
        """The tables of a form, if they are not all changing tables."""

        def named(mask: Mask) -> str:
            return ", ".join(self.memo.tables.tables(mask))

        everything = self.memo[form.group].tables
        if (form.since, form.until) == (OLD, everything):
            return ""
        if form.kind is Kind.SNAPSHOT:
            return f" with only {named(form.until)} new"
        after = f" once {named(form.since)} is in" if form.since else ""
        return f" by {named(Mask(form.since ^ form.until))}{after}"


def in_order(relation: Relation, columns: tuple[Column, ...]) -> Relation:
    """The relation with its columns in the order in which they are read back, which distinguishes equal names."""
    if output_names(relation.columns) == output_names(columns):
        return relation
    return Project(relation, tuple((column, reference(column)) for column in columns))
