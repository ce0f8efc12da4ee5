"""Generation is complete or absent, reused, and says what is missing on this machine."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from slackwater.bench.workloads import Dataset, default_cache, tpch
from slackwater.bench.workloads.generator import Generator
from slackwater.errors import MachineError, UserError


def test_parquet_types_are_the_declared_ones(tpch_data: Dataset, tpcds_data: Dataset) -> None:
    for data in (tpch_data, tpcds_data):
        for table in data.schema:
            stored = pq.read_schema(next(data.path(table.name).glob("*.parquet")))
            assert [(f.name, f.type) for f in stored] == [(f.name, f.type) for f in table.arrow_schema()]


def test_read_gives_declared_nullability(tpcds_data: Dataset) -> None:
    assert tpcds_data.read("store").schema == tpcds_data.schema["store"].arrow_schema()
    assert tpcds_data.read("store", ["s_state", "s_store_sk"]).column_names == ["s_state", "s_store_sk"]


def test_second_call_generates_nothing(tpch_data: Dataset, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("generated twice")

    monkeypatch.setattr(Generator, "generate", never)
    assert tpch().generate(tpch_data.scale_factor, cache) == tpch_data


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, OSError])
def test_interrupted_generation_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException]
) -> None:
    original = Generator.generate

    def interrupted(self: Generator, connection: object, scale_factor: float) -> None:
        original(self, connection, scale_factor)  # type: ignore[arg-type]
        raise interruption

    monkeypatch.setattr(Generator, "generate", interrupted)
    with pytest.raises((KeyboardInterrupt, MachineError)):
        tpch().generate(0.001, tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.name not in ("workloads", "tpch")] == []
    monkeypatch.undo()
    assert tpch().generate(0.001, tmp_path).rows("region") == 5


def test_whoever_finishes_first_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Generator.generate

    def overtaken(self: Generator, connection: object, scale_factor: float) -> None:
        monkeypatch.undo()
        tpch().generate(scale_factor, tmp_path)
        original(self, connection, scale_factor)  # type: ignore[arg-type]

    monkeypatch.setattr(Generator, "generate", overtaken)
    data = tpch().generate(0.001, tmp_path)
    assert data.rows("region") == 5
    assert list(data.directory.parent.iterdir()) == [data.directory]


def test_missing_package_says_how_to_install_it() -> None:
    with pytest.raises(MachineError, match=r"`duckdb-extension-tpcx` is not installed\n.*slackwater\[workloads\]"):
        Generator("tpcx", "xgen", "x_queries").open()


def test_package_for_another_duckdb_is_named() -> None:
    with pytest.raises(MachineError, match=r"but DuckDB 0\.1\.0 is installed"):
        tpch().generator.extension_file("0.1.0")


def test_unwritable_cache_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MachineError, match="cannot write to the cache directory"):
        tpch().generate(0.001, tmp_path / "file")


@pytest.mark.parametrize("scale_factor", [0, -1, float("nan")])
def test_scale_factor_without_data_is_refused(tmp_path: Path, scale_factor: float) -> None:
    with pytest.raises(UserError, match="has no data"):
        tpch().generate(scale_factor, tmp_path)


def test_default_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACKWATER_CACHE", "chosen")
    assert default_cache() == Path("chosen")
    monkeypatch.delenv("SLACKWATER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "users")
    assert default_cache() == Path("users/slackwater")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache() == Path.home() / ".cache" / "slackwater"
