from __future__ import annotations

import io
import json
from pathlib import Path

import duckdb
import pytest
from rich.console import Console

from slackwater.cli.main import DONE, FAILED, WRONG_USAGE, main
from slackwater.cli.text import RelationTree, sql

CATALOG = {
    "sales": {"columns": {"id": "int", "cat": "string", "price": "double not null"}, "keys": [["id"]]},
    "stores": {"columns": {"cat": "string"}, "changing": False},
}


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    file = tmp_path / "tables.json"
    file.write_text(json.dumps(CATALOG), encoding="utf-8")
    return file


def test_shows_relation_properties_and_sql(catalog: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "SELECT cat, sum(price) AS total FROM (SELECT * FROM sales) s WHERE id > 1 + 2 GROUP BY cat"
    assert main(["parse", "-e", text, "--catalog", str(catalog)]) == DONE
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out == (
        "relation\n"
        "query cat, total\n"
        "└─ aggregate total := sum(price) by cat\n"
        "   └─ project cat, price\n"
        "      └─ filter id > 3\n"
        "         └─ scan sales\n"
        "\n"
        "known\n"
        "key (cat); changes with sales; inserts may take rows back\n"
        "\n"
        "sql\n"
        "SELECT\n  cat,\n  sum(price) AS total\nFROM sales\nWHERE\n  id > 3\nGROUP BY\n  cat\n"
    )


def test_raw_is_before_normalization(catalog: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "SELECT id FROM sales WHERE id > 1 + 2"
    assert main(["parse", "--raw", "-e", text, "--catalog", str(catalog)]) == DONE
    assert "filter id > 1 + 2" in capsys.readouterr().out


def test_json(catalog: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "--json", "-e", "SELECT id AS number, cat FROM sales", "--catalog", str(catalog)]) == DONE
    shown = json.loads(capsys.readouterr().out)
    assert shown["columns"] == [{"name": "number", "type": "int"}, {"name": "cat", "type": "string"}]
    assert shown["relation"].splitlines()[0] == "query id as number, cat"
    assert "AS number" in shown["sql"]
    assert shown["properties"] == {
        "not_null": ["number"],
        "keys": [["number"]],
        "at_most_one_row": False,
        "changing_tables": ["sales"],
        "monotone": True,
    }


@pytest.mark.parametrize(
    "text, told",
    [
        ("SELECT count(*) FROM sales", "at most one row; changes with sales; inserts may take rows back"),
        ("SELECT cat FROM stores", "no key; never changes"),
        ("SELECT id, cat FROM sales", "key (id); changes with sales; inserts only add rows"),
    ],
)
def test_says_what_is_known(text: str, told: str, catalog: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "-e", text, "--catalog", str(catalog)]) == DONE
    assert f"\n{told}\n" in capsys.readouterr().out


def test_a_file_and_another_dialect(catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "daily.sql"
    file.write_text("SELECT cat\nFROM sales WHERE price <=> 1", encoding="utf-8")
    assert main(["parse", str(file), "--catalog", str(catalog), "--dialect", "duckdb", "--json"]) == DONE
    text = json.loads(capsys.readouterr().out)["sql"]
    assert "IS NOT DISTINCT FROM" in text
    assert duckdb.extract_statements(text)


def test_standard_input(catalog: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT id FROM sales"))
    assert main(["parse", "-", "--catalog", str(catalog)]) == DONE
    assert "scan sales" in capsys.readouterr().out


def test_a_query_of_a_workload(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "--workload", "tpch", "--query", "4"]) == DONE
    assert "semi join on l_orderkey = o_orderkey" in capsys.readouterr().out


def test_no_tables_are_needed_for_a_query_without(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "-e", "SELECT 1 AS one"]) == DONE
    assert "one := 1" in capsys.readouterr().out


def test_a_mistake_is_shown_where_it_is(catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "daily.sql"
    file.write_text("SELECT cat,\n       prise\nFROM sales", encoding="utf-8")
    assert main(["parse", str(file), "--catalog", str(catalog)]) == FAILED
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error: {file}, line 2, column 8: ")
    assert "did you mean `price`?" in printed.err


def test_a_mistake_as_json(catalog: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "--json", "-e", "SELECT id FROM sale", "--catalog", str(catalog)]) == FAILED
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["place"]["line"] == 1
    assert "did you mean `sales`?" in error["hint"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["parse"],
        ["parse", "daily.sql", "-e", "SELECT 1"],
        ["parse", "--query", "3"],
        ["parse", "-e", "SELECT 1", "--catalog", "x.json", "--workload", "tpch"],
        ["parse", "-e", "SELECT 1", "--dialect", "oracle"],
    ],
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == WRONG_USAGE
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["parse", "missing.sql"], "missing.sql: cannot read the query: No such file or directory"),
        (["parse", "-e", "SELECT 1", "--catalog", "missing.json"], "missing.json: no such catalog file"),
        (["parse", "--workload", "tpch", "--query", "23"], "tpch has no query 23"),
        (["parse", "-e", "SELECT FROM WHERE"], "is not valid Spark SQL"),
    ],
)
def test_what_cannot_be_read_fails(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == FAILED
    assert told in capsys.readouterr().err


def test_bytes_that_are_no_text_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "daily.sql"
    file.write_bytes(b"SELECT '\xff'")
    assert main(["parse", str(file)]) == FAILED
    assert "not UTF-8" in capsys.readouterr().err


TREE = """\
query a
├─ filter aaaaaaaaaaaaaaaa = 1 and bbbbbbbbbbbbbbbb = 2 and cccccccccc = 3
│  └─ scan t
└─ inner join on true"""


def printed_on(width: int, *, terminal: bool) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=terminal, no_color=True, soft_wrap=True)
    with console.capture() as capture:
        console.print(RelationTree(TREE))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def test_long_lines_keep_their_place_in_the_tree() -> None:
    lines = [Console().render_str(line, markup=False).plain for line in printed_on(50, terminal=True).splitlines()]
    plain = [_without_style(line) for line in lines]
    assert plain == [
        "query a",
        "├─ filter aaaaaaaaaaaaaaaa = 1",
        "│      and bbbbbbbbbbbbbbbb = 2 and cccccccccc = 3",
        "│  └─ scan t",
        "└─ inner join on true",
    ]


def _without_style(line: str) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", line)


def test_nothing_is_broken_where_there_is_no_terminal() -> None:
    assert printed_on(50, terminal=False) == TREE


def test_sql_is_coloured_but_says_the_same() -> None:
    text = "SELECT\n  count(*) AS n\nFROM t"
    assert sql(text).plain == text
    assert sql(text).spans
