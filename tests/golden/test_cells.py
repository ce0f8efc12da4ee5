"""The harness itself: what it reads, what it refuses, and that a rewritten file reads as before."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.cells import read_cells, rewrite_cell
from tests.golden.commands import COMMANDS, answer, command
from tests.golden.datasets import SIZES, connections

CATALOG = """\
catalog
sales(id int key, cat string, price decimal(8,2) not null)    rows=7  arrives 14:00=4 24:00=3
stores(region int, number int, name string, key(region, number))    static
----
"""


def written(directory: Path, *cells: str) -> Path:
    file = directory / "some.test"
    file.write_text("\n".join([CATALOG, *cells]), encoding="utf-8")
    return file


def test_reads_catalog_options_and_answer(tmp_path: Path) -> None:
    text = (
        "# Why.\nnormalize expect=merge_filters,merge_projects disable=(fold_constants)\nSELECT 1\nAS x\n----\na\nb\n"
    )
    (cell,) = read_cells(written(tmp_path, text))
    assert (cell.comment, cell.command, cell.text, cell.expected) == ("Why.", "normalize", "SELECT 1\nAS x", "a\nb")
    assert cell.options == {"expect": ("merge_filters", "merge_projects"), "disable": ("fold_constants",)}
    sales, stores = cell.world.catalog
    assert (sales.keys, stores.keys) == ((frozenset({"id"}),), (frozenset({"region", "number"}),))
    assert [f.nullable for f in sales.fields] == [False, True, False]
    assert sales.fields[2].type.text == "decimal(8,2)"
    assert (sales.changing, stores.changing) == (True, False)
    assert cell.world.notes["sales"].rows == 7
    assert cell.world.notes["sales"].arrives == {"14:00": 4, "24:00": 3}


def test_an_answer_with_blank_lines_is_fenced(tmp_path: Path) -> None:
    file = written(tmp_path, "# One.\nbind\nSELECT 1\n----\nold\n", "# Two.\nbind\nSELECT 2\n----\nsame\n")
    rewrite_cell(file, read_cells(file)[0].line, "first\n\nsecond")
    one, two = read_cells(file)
    assert (one.expected, two.expected) == ("first\n\nsecond", "same")
    before = file.read_text(encoding="utf-8")
    rewrite_cell(file, one.line, "first\n\nsecond")
    assert file.read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    "cell, told",
    [
        ("bind\nSELECT 1\n----\n", "says in a comment why"),
        ("# Why.\nbind\nSELECT 1\n\n", "without `----`"),
        ("# Why.\nbindd\nSELECT 1\n----\n", "did you mean `bind`"),
        ("# Why.\nnormalize expects=merge_filters\nSELECT 1\n----\n", "did you mean `expect`"),
        ("# Why.\nnormalize expect=merge_filter\nSELECT 1\n----\n", "did you mean `merge_filters`"),
        ("# Why.\nnormalize expect=a expect=b\nSELECT 1\n----\n", "twice"),
    ],
)
def test_refuses_what_it_does_not_know(cell: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=told):
        answer(read_cells(written(tmp_path, cell))[0])


def test_a_rule_that_should_fire_and_does_not_is_named(tmp_path: Path) -> None:
    (cell,) = read_cells(written(tmp_path, "# Why.\nnormalize expect=merge_filters\nSELECT id FROM sales\n----\n"))
    with pytest.raises(AssertionError, match="merge_filters did not fire; these did: merge_projects"):
        answer(cell)


def test_a_command_is_added_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "shout", COMMANDS["bind"])  # forgotten when the test ends
    command("shout")(lambda cell: cell.text.upper())
    assert answer(read_cells(written(tmp_path, "# Why.\nshout\nselect 1\n----\n"))[0]) == "SELECT 1"


def test_data_has_nulls_duplicates_empty_tables_and_keeps_keys(tmp_path: Path) -> None:
    (cell,) = read_cells(written(tmp_path, "# Why.\nbind\nSELECT id FROM sales WHERE id > 100\n----\n"))
    worlds = connections(cell.world, cell.text)
    assert len(worlds) == len(SIZES)
    counts = [world.execute("SELECT count(*) FROM sales").fetchall()[0][0] for world in worlds]
    assert 0 in counts
    assert max(counts) > 3
    asked = "SELECT count(DISTINCT id) = count(*), coalesce(max(id) > 100, false), count(cat) < count(*) FROM sales"
    unique, beyond, nulls = zip(*(world.execute(asked).fetchall()[0] for world in worlds), strict=True)
    assert all(unique)
    assert any(beyond), "no row on the other side of the condition"
    assert any(nulls)


def test_given_data_replaces_the_generated(tmp_path: Path) -> None:
    data = "data\nsales (1, 'x', 2.5), (2, null, 3)\n----\n"
    (cell,) = read_cells(written(tmp_path, data, "# Why.\nbind\nSELECT id FROM sales\n----\n"))
    (only,) = connections(cell.world, cell.text)
    assert only.execute("SELECT id, cat FROM sales ORDER BY id").fetchall() == [(1, "x"), (2, None)]
