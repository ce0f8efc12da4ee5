"""The options that select a query and its tables, for every command that takes a query."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from slackwater.bench.workloads import Workload, workload
from slackwater.catalog.file import load_catalog
from slackwater.catalog.table import Catalog
from slackwater.errors import Place, UserError

WORKLOADS = ("tpch", "tpcds")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def takes_query(command: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """FILE or -e, --workload with --query, --catalog; the command gets `file, text, catalog_file, workload, number`."""
    for option in (
        click.option("--query", "number", type=int, metavar="N", help="The N-th query of the workload."),
        click.option("--workload", "workload_name", type=click.Choice(WORKLOADS), help="Use the tables of a workload."),
        click.option("--catalog", "catalog_file", type=click.Path(path_type=Path), help="The tables, as a JSON file."),
        click.option("-e", "text", metavar="TEXT", help="The query itself."),
    ):
        command = option(command)
    return click.argument("file", required=False, type=click.Path(path_type=Path, allow_dash=True))(command)


def read_query(file: Path | None, text: str | None, workload_name: str | None, number: int | None) -> tuple[str, str]:
    """The query's text and what errors call it."""
    if sum(given is not None for given in (file, text, number)) != 1:
        raise click.UsageError("give one query: a FILE, - for standard input, -e TEXT, or --workload with --query")
    if number is not None:
        if workload_name is None:
            raise click.UsageError("--query requires --workload")
        return _numbered(workload(workload_name), number)
    if text is not None:
        return text, "query"
    assert file is not None
    if str(file) == "-":
        return sys.stdin.read(), "standard input"
    try:
        return file.read_text(encoding="utf-8"), str(file)
    except OSError as error:
        raise UserError(f"cannot read the query: {error.strerror}", place=Place(str(file))) from error
    except UnicodeDecodeError:
        raise UserError("this file is not UTF-8 text", place=Place(str(file))) from None


def _numbered(work: Workload, number: int) -> tuple[str, str]:
    queries = work.queries()
    if number not in queries:
        hint = f"there are 1 to {max(queries)}"
        raise UserError(f"{work.name} has no query {number}", hint=hint)
    return queries[number].spark, queries[number].name


def read_catalog(catalog_file: Path | None, workload_name: str | None) -> Catalog:
    """The tables asked for; none at all when nothing names any."""
    if catalog_file is not None and workload_name is not None:
        raise click.UsageError("--catalog and --workload cannot be combined")
    if workload_name is not None:
        return workload(workload_name).catalog()
    return load_catalog(catalog_file) if catalog_file is not None else Catalog.of(())
