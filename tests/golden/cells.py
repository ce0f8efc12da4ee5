"""Cells of text: what planner tests are written in, and how they are read and written back.

    catalog
    sales(id int key, cat string, price double not null)    rows=7  arrives 14:00=4 24:00=3  distinct (cat=2)
    stores(region int, number int, key(region, number))     static
    stock(item int, number int)                             arrives 14:00=90 24:00=10-5~2
    lines(id int not null with sales, piece int)            arrives 14:00=9 24:00=3
    ----

    data
    sales (1, 'tea', 2.5), (2, null, 0.5)
    ----

    # Why this cell is here.
    normalize expect=merge_filters disable=fold_constants
    SELECT …
    ----
    …what the command prints…

A blank line ends a cell; where the answer itself has blank lines, it stands between two double rules. `catalog` holds
until the next one; `data` gives the rows to run its cells on instead of generated ones. An arrival `10-5~2` brings ten
rows, takes five and changes two. What the commands are is said in `commands.py`, `explore_commands.py`,
`plan_commands.py` and `replan_commands.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from slackwater.algebra.schema import KeyReference, TableSchema
from slackwater.catalog.table import Catalog, table

RULE = "----"
SETTINGS = ("catalog", "data")


@dataclass(frozen=True)
class TableNote:
    """What a catalog line says of a table beyond its schema; for commands that plan."""

    rows: int | None = None
    arrives: Mapping[str, int] = field(default_factory=dict)
    leaves: Mapping[str, int] = field(default_factory=dict)
    updates: Mapping[str, int] = field(default_factory=dict)
    distinct: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class World:
    """The tables that cells of one catalog see."""

    catalog: Catalog
    notes: Mapping[str, TableNote]
    data: Mapping[str, str] | None = None
    """Rows by table as the text of a VALUES list; None where they are generated."""


@dataclass(frozen=True)
class Cell:
    """One command with its question and the expected answer."""

    file: Path
    line: int
    comment: str
    command: str
    options: Mapping[str, tuple[str, ...]]
    text: str
    expected: str
    world: World

    @property
    def id(self) -> str:
        return f"{self.file.stem}:{self.line}"

    def option(self, name: str) -> tuple[str, ...]:
        return self.options.get(name, ())


@dataclass(frozen=True)
class _Block:
    line: int
    head: tuple[str, ...]
    answer: str

    def written(self, answer: str) -> str:
        fence = f"{RULE}\n{RULE}" if "\n\n" in answer else RULE
        close = f"\n{fence}" if "\n\n" in answer else ""
        return "\n".join([*self.head, fence]) + (f"\n{answer}{close}" if answer else "")


def read_cells(file: Path) -> list[Cell]:
    """The cells of a file, each with the catalog that holds there."""
    cells: list[Cell] = []
    world: World | None = None
    for block in _blocks(file.read_text(encoding="utf-8")):
        comment, lines = _without_comment(block.head)
        command, options = _command(lines[0])
        if command == "catalog":
            world = _catalog(lines[1:])
        elif world is None:
            raise ValueError(f"{file.name}:{block.line}: there is no catalog above this cell")
        elif command == "data":
            world = World(world.catalog, world.notes, dict(_rows(line) for line in lines[1:]))
        else:
            if not comment:
                raise ValueError(f"{file.name}:{block.line}: a cell says in a comment why it is there")
            text = "\n".join(lines[1:])
            cells.append(Cell(file, block.line, comment, command, options, text, block.answer, world))
    return cells


def rewrite_cell(file: Path, line: int, answer: str) -> None:
    """Replaces the expected answer of the cell that begins at a line (as read before any rewriting of it)."""
    blocks = list(_blocks(file.read_text(encoding="utf-8")))
    texts = [block.written(answer if block.line == line else block.answer) for block in blocks]
    file.write_text("\n\n".join(texts) + "\n", encoding="utf-8")


def _blocks(text: str) -> Iterator[_Block]:
    lines = text.split("\n")
    position = 0
    while position < len(lines):
        if not lines[position].strip():
            position += 1
            continue
        start = position
        while position < len(lines) and lines[position] != RULE:
            if not lines[position].strip():
                raise ValueError(f"line {start + 1}: a cell without `{RULE}`")
            position += 1
        head = tuple(lines[start:position])
        fenced = lines[position + 1 : position + 2] == [RULE]
        position += 2 if fenced else 1
        first = position
        while position < len(lines) and (lines[position : position + 2] != [RULE, RULE] if fenced else lines[position]):
            position += 1
        yield _Block(start + 1, head, "\n".join(lines[first:position]))
        position += 2 if fenced else 0


def _without_comment(head: tuple[str, ...]) -> tuple[str, list[str]]:
    notes = [line.removeprefix("#").strip() for line in head if line.startswith("#")]
    return " ".join(notes), [line for line in head if not line.startswith("#")]


def _command(line: str) -> tuple[str, dict[str, tuple[str, ...]]]:
    """`name key=a,b other=(c d)`; an option may be given once."""
    name, _, rest = line.partition(" ")
    options: dict[str, tuple[str, ...]] = {}
    for key, listed, plain in re.findall(r"([\w-]+)=(?:\(([^)]*)\)|(\S+))", rest):
        if key in options:
            raise ValueError(f"option {key} twice in `{line}`")
        options[key] = tuple(listed.split()) if listed else tuple(plain.split(","))
    return name, options


def _catalog(lines: list[str]) -> World:
    tables: list[TableSchema] = []
    notes: dict[str, TableNote] = {}
    for line in lines:
        name, _, rest = line.partition("(")
        inner, after = _balanced(rest)
        columns: dict[str, str] = {}
        keys: list[list[str]] = []
        together: list[KeyReference] = []
        later: list[KeyReference] = []
        for entry in _split(inner):
            if entry.startswith(("key(", "key (")):
                keys.append([part.strip() for part in entry.partition("(")[2].rstrip(")").split(",")])
                continue
            column, _, written = entry.partition(" ")
            for word, references in ((" with ", together), (" after ", later)):
                written, _, referred = written.partition(word)
                if referred:
                    (key,) = next(other.keys[0] for other in tables if other.name == referred)
                    references.append(KeyReference((column,), referred, (key,)))
            if written.endswith(" key"):
                keys.append([column])
            columns[column] = written.removesuffix(" key")
        note = _note(after)
        schema = table(name.strip(), columns, keys=keys, changing="static" not in after.split())
        schema = replace(schema, arrives_with=tuple(together), arrives_after=tuple(later))
        tables.append(replace(schema, append_only=not (note.leaves or note.updates or "feed" in after.split())))
        notes[name.strip()] = note
    return World(Catalog.of(tables), notes)


def _note(text: str) -> TableNote:
    listed = re.search(r"distinct \(([^)]*)\)", text)
    distinct = {key: int(value) for key, value in re.findall(r"(\S+)=(\d+)", listed[1] if listed else "")}
    outside = text.replace(listed[0], "") if listed else text
    rows: int | None = None
    arrives: dict[str, int] = {}
    leaves: dict[str, int] = {}
    updates: dict[str, int] = {}
    for key, come, go, change in re.findall(r"(\S+?)=(\d+)(?:-(\d+))?(?:~(\d+))?", outside):
        if key == "rows":
            rows = int(come)
            continue
        arrives[key] = int(come)
        leaves |= {key: int(go)} if go else {}
        updates |= {key: int(change)} if change else {}
    return TableNote(rows, arrives, leaves, updates, distinct)


def _balanced(text: str) -> tuple[str, str]:
    """Up to the parenthesis that closes, and what follows it."""
    depth = 1
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[:position], text[position + 1 :]
    raise ValueError(f"a parenthesis is not closed: {text}")


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "(<") - (character in ")>")
        if character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, text[start:].strip()]


def _rows(line: str) -> tuple[str, str]:
    name, _, rows = line.partition(" ")
    return name, rows.strip()
