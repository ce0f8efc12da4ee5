"""The TPC generators and query texts, as the PyPI packages of DuckDB's extensions ship them.

Nothing here goes to the network: an extension is loaded from the file inside its installed package. Both packages
are optional; whoever calls without them gets a `MachineError` that says how to install them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slackwater.errors import MachineError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

INSTALL: Final = "pip install slackwater[workloads]"


@dataclass(frozen=True, slots=True)
class Generator:
    """One of DuckDB's benchmark extensions: its package, its data function and its query function."""

    extension: str
    data_function: str
    query_function: str

    @property
    def package(self) -> str:
        return f"duckdb_extension_{self.extension}"

    @property
    def version(self) -> str:
        """The installed version, which is DuckDB's own."""
        return self.extension_file(_duckdb_version()).parent.name.removeprefix("v")

    def open(self, database: Path | None = None) -> DuckDBPyConnection:
        """A DuckDB connection, in memory unless `database` names a file, with the extension loaded."""
        path = self.extension_file(_duckdb_version())
        import duckdb

        connection = duckdb.connect(str(database) if database else ":memory:")
        try:
            connection.execute("SET enable_progress_bar = false")
            connection.execute(f"LOAD {quoted(path)}")
        except duckdb.Error as error:
            connection.close()
            raise MachineError(f"DuckDB cannot load `{path.name}`: {error}", hint=INSTALL) from error
        return connection

    def extension_file(self, duckdb_version: str) -> Path:
        """The extension built for this DuckDB, inside the installed package."""
        spec = find_spec(self.package)
        roots = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
        if not roots:
            raise MachineError(f"the package `{self.package.replace('_', '-')}` is not installed", hint=INSTALL)
        paths = sorted(path for root in roots for path in root.rglob(f"{self.extension}.duckdb_extension"))
        for path in paths:
            if path.parent.name == f"v{duckdb_version}":
                return path
        built_for = ", ".join(path.parent.name.removeprefix("v") for path in paths) or "no version"
        raise MachineError(
            f"the package `{self.package.replace('_', '-')}` is built for DuckDB {built_for}, "
            f"but DuckDB {duckdb_version} is installed",
            hint=INSTALL,
        )

    def generate(self, connection: DuckDBPyConnection, scale_factor: float) -> None:
        """Create and fill the tables of the benchmark in the connection's database."""
        connection.execute(f"CALL {self.data_function}(sf = {scale_factor!r})")

    def query_texts(self) -> Mapping[int, str]:
        """Every query the package has, by number."""
        with self.open() as connection:
            rows = connection.execute(f"SELECT query_nr, query FROM {self.query_function}() ORDER BY 1").fetchall()
        return {int(number): str(text) for number, text in rows}


def quoted(path: Path) -> str:
    """A path as an SQL string."""
    return "'" + str(path).replace("'", "''") + "'"


def _duckdb_version() -> str:
    try:
        return version("duckdb")
    except PackageNotFoundError:
        raise MachineError("the package `duckdb` is not installed", hint=INSTALL) from None
