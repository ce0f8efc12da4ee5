"""Days of a gallery's job on disk, in the formats that its job file asks for; what is there is used again.

    <home>/gallery/retail-1-<digest>/standing/stores/all.csv      tables that do not change
    <home>/gallery/retail-1-<digest>/day-1/run-2/orders/day-1-run-2.parquet

A directory appears under its final name in one rename, after every file is written.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from slackwater.bench.gallery.jobs import GalleryJob
from slackwater.bench.gallery.sampling import Tables
from slackwater.errors import MachineError
from slackwater.job.file.file_format import Format

ROW_GROUP = 250_000
"""Rows of a row group, so that Spark reads a large file with several tasks."""


@dataclass(frozen=True)
class LandedData:
    """The data of a job at a scale."""

    job: GalleryJob
    scale: float
    directory: Path

    @classmethod
    def below(cls, home: Path, job: GalleryJob, scale: float) -> LandedData:
        return cls(job, scale, home / "gallery" / f"{job.name}-{scale:g}-{job.digest}")

    def standing(self) -> Path:
        """The tables that do not change, a directory for each."""
        target = self.directory / "standing"
        if not target.is_dir():
            with _appearing(target) as scratch:
                self._write(self.job.generator.standing(self.scale), scratch, "all")
        return target

    def day(self, number: int) -> Path:
        """A day, a directory for each run; in it one for each table of which something arrives."""
        target = self.directory / f"day-{number}"
        if not target.is_dir():
            with _appearing(target) as scratch:
                for run, tables in enumerate(self.job.generator.arrivals(self.scale, number), start=1):
                    self._write(tables, scratch / f"run-{run}", f"day-{number}-run-{run}")
        return target

    def _write(self, tables: Tables, directory: Path, name: str) -> None:
        for table, rows in tables.items():
            format = self.job.config.sources[table].format
            if rows.num_rows or format is Format.PARQUET:  # a text file without rows would say nothing
                (directory / table).mkdir(parents=True)
                write_rows(rows, directory / table / f"{name}.{format}", format)


class _appearing:
    """A scratch directory in a block, which takes its final name at the end."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def __enter__(self) -> Path:
        try:
            self._target.parent.mkdir(parents=True, exist_ok=True)
            self._scratch = Path(tempfile.mkdtemp(prefix=f".{self._target.name}-", dir=self._target.parent))
        except OSError as error:
            hint = "name a directory with `--data`"
            raise MachineError(f"cannot write to `{self._target.parent}`: {error.strerror}", hint=hint) from None
        return self._scratch

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and not self._target.is_dir():
                self._scratch.rename(self._target)
        finally:
            shutil.rmtree(self._scratch, ignore_errors=True)


def linked(source: Path, target: Path) -> None:
    """All files below a directory in another one, as links where that is possible; those that are there stay."""
    for file in _files_below(source):
        place = target / file.relative_to(source)
        if place.exists():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file, place)
        except OSError:
            shutil.copy2(file, place)


def _files_below(directory: Path) -> Iterator[Path]:
    return (file for file in sorted(directory.rglob("*")) if file.is_file())


# --- formats ---------------------------------------------------------------------------------------------------------


def write_rows(rows: pa.Table, path: Path, format: Format) -> None:
    match format:
        case Format.PARQUET:
            pq.write_table(rows, path, row_group_size=ROW_GROUP)
        case Format.CSV:
            pa.csv.write_csv(_with_iso_times(rows), path)
        case Format.JSON:
            _write_json(_with_iso_times(rows), path)
        case Format.ORC:
            raise NotImplementedError("no job of the gallery has ORC files")


def _with_iso_times(rows: pa.Table) -> pa.Table:
    """Timestamps as text: `2026-11-02T07:14:37.712000Z`."""
    for position, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            column = pc.strftime(rows.column(position).cast(pa.timestamp("us", tz="UTC")), "%Y-%m-%dT%H:%M:%SZ")
            rows = rows.set_column(position, field.name, column)
    return rows


def _write_json(rows: pa.Table, path: Path) -> None:
    """A line for each row. Fields that are NULL are written as null."""
    parts = [
        pc.binary_join_element_wise(f'"{field.name}":', pc.fill_null(_as_json(rows.column(n)), "null"), "")
        for n, field in enumerate(rows.schema)
    ]
    lines = pc.binary_join_element_wise("{", pc.binary_join_element_wise(*parts, ","), "}", "")
    path.write_text("\n".join(lines.to_pylist()) + "\n", encoding="utf-8")


def _as_json(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = column.cast(pa.string())
    if not (pa.types.is_string(column.type) or pa.types.is_date(column.type)):
        return text
    escaped = pc.replace_substring(pc.replace_substring(text, "\\", "\\\\"), '"', '\\"')
    return pc.binary_join_element_wise('"', escaped, '"', "")
