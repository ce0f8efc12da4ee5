"""A workload: a schema, a generator of its data, and its queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from slackwater.algebra.schema import Field, TableSchema
from slackwater.algebra.types import Type
from slackwater.bench.workloads import tpcds as _tpcds
from slackwater.bench.workloads import tpch as _tpch
from slackwater.bench.workloads.dataset import Dataset, default_cache, generate
from slackwater.bench.workloads.generator import Generator
from slackwater.bench.workloads.query import WorkloadQuery
from slackwater.bench.workloads.workload_schema import Schema
from slackwater.catalog.table import Catalog
from slackwater.errors import UserError, did_you_mean


@dataclass(frozen=True, slots=True)
class Workload:
    """Tables, data and queries under one name."""

    name: str
    tables: Schema
    generator: Generator

    def generate(self, scale_factor: float, cache: Path | None = None) -> Dataset:
        """The data as parquet in `cache`, reused where it lies there already; see `default_cache`."""
        return generate(self.name, self.tables, self.generator, scale_factor, cache or default_cache())

    def catalog(self, changing: frozenset[str] | None = None) -> Catalog:
        """The tables as the binder sees them; those that change are the workload's own choice unless named."""
        moving = frozenset(self.tables.changing) if changing is None else changing
        return Catalog.of(
            TableSchema(
                entry.name,
                tuple(Field(c.name, Type.parse(c.type), c.nullable) for c in entry.columns),
                (frozenset(entry.key),) if entry.key else (),
                entry.name in moving,
            )
            for entry in self.tables
        )

    def queries(self) -> Mapping[int, WorkloadQuery]:
        """Every query the generator's package has, by number, in order."""
        return _queries(self.name, self.generator)


@cache
def _queries(workload: str, generator: Generator) -> Mapping[int, WorkloadQuery]:
    texts = generator.query_texts()
    return MappingProxyType({n: WorkloadQuery(n, f"{workload}-q{n}", text) for n, text in texts.items()})


def tpch() -> Workload:
    """TPC-H: 8 tables, 22 queries."""
    return Workload("tpch", _tpch.SCHEMA, Generator("tpch", "dbgen", "tpch_queries"))


def tpcds() -> Workload:
    """TPC-DS: 24 tables, 99 queries."""
    return Workload("tpcds", _tpcds.SCHEMA, Generator("tpcds", "dsdgen", "tpcds_queries"))


def workload(name: str) -> Workload:
    """The workload of this name."""
    for each in (tpch(), tpcds()):
        if each.name == name:
            return each
    raise UserError(f"no workload `{name}`", hint=did_you_mean(name, ("tpch", "tpcds")))
