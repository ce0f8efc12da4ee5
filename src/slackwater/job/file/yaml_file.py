"""YAML with the line and column of every entry, so that a mistake is shown where it was written.

Scalars follow YAML 1.2: `14:00` is a string and not 840 minutes, `no` is a string, `1e-9` is a number, a date is a
string. Underscores may group the digits of a whole number. Keys are always strings. A duplicate key is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from slackwater.errors import Place, UserError

Yaml: TypeAlias = "bool | int | float | str | list[Yaml] | dict[str, Yaml] | None"
Location: TypeAlias = tuple[str | int, ...]
"""The keys and indexes that lead from the top of the file to an entry."""

_TAG: Final = "tag:yaml.org,2002:"
_SPACES: Final = "YAML is indented with spaces"


DEEPEST: Final = 50
"""How many lists and mappings may lie within one another."""
LONGEST: Final = 100_000
"""How many entries a file may have; aliases of aliases can stand for any number."""


class _Loader(yaml.SafeLoader):
    """Resolves plain scalars as YAML 1.2 does, and goes only so deep."""

    depth = 0

    def compose_node(self, parent: Node | None, index: object) -> Node | None:
        self.depth += 1
        if self.depth > DEEPEST:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise _TooDeepError(problem=f"more than {DEEPEST} nested lists and mappings", problem_mark=mark)
        try:
            return super().compose_node(parent, index)  # type: ignore[arg-type]
        finally:
            self.depth -= 1


class _TooDeepError(yaml.MarkedYAMLError):
    """Lists and mappings lie within one another, deeper than a job file has them."""


_Loader.yaml_implicit_resolvers = {}

for _kind, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9][0-9_]*)", list("-+0123456789")),
    ("float", r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(f"^(?:{_pattern})$"), _first)


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something wrong at a place of a file."""

    place: Place
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    @property
    def order(self) -> tuple[int, int]:
        return self.place.line or 0, self.place.column or 0


class FileError(UserError):
    """All mistakes of a file, in the order of its lines; the error is placed at the first."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(sorted(dict.fromkeys(mistakes), key=lambda mistake: mistake.order))
        first, *others = self.mistakes
        if not others:
            super().__init__(first.message, place=first.place, hint=first.hint)
            return
        more = (f"\n  line {m.place.line}, column {m.place.column}: {m}" for m in others)
        super().__init__(str(first) + "".join(more), place=first.place)


@dataclass(frozen=True)
class YamlFile:
    """The value of a file, and where each of its entries stands: its key, and its value."""

    file: str
    value: Yaml
    keys: Mapping[Location, Place]
    values: Mapping[Location, Place]

    def nearest(self, location: Location) -> Location:
        """The longest part of a location that the file has."""
        while location and location not in self.values:
            location = location[:-1]
        return location

    def place(self, location: Location) -> Place:
        """Where a value stands, or the nearest entry around it."""
        return self.values.get(self.nearest(location), Place(self.file, 1, 1))

    def place_of_key(self, location: Location) -> Place:
        return self.keys.get(location) or self.place(location)


def read_yaml(text: str, file: str) -> YamlFile:
    """Reads a text; `file` is what errors call it."""
    if bad := yaml.reader.Reader.NON_PRINTABLE.search(text):
        place = _at(file, text, bad.start())
        raise FileError([Mistake(place, f"the character {bad.group()!r} is not allowed in YAML")])
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        raise FileError([_syntax(error, text, file)]) from None
    finally:
        loader.dispose()
    if root is None:
        return YamlFile(file, None, {}, {})
    reader = _YamlReader(file)
    value = reader.read(root, ())
    if reader.mistakes:
        raise FileError(reader.mistakes)
    return YamlFile(file, value, reader.keys, reader.values)


def _at(file: str, text: str, index: int) -> Place:
    before = text[:index]
    return Place(file, before.count("\n") + 1, index - before.rfind("\n"))


def _syntax(error: yaml.MarkedYAMLError, text: str, file: str) -> Mistake:
    mark = error.problem_mark or error.context_mark
    place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
    line = text.splitlines()[mark.line] if mark and mark.line < len(text.splitlines()) else ""
    problem = error.problem or "it cannot be read"
    if isinstance(error, _TooDeepError):
        return Mistake(place, problem)
    if "\t" in line[: len(line) - len(line.lstrip())] or "'\\t'" in problem:
        column = line.find("\t") + 1
        return Mistake(Place(file, place.line, column or place.column), "there is a tab in the indentation", _SPACES)
    if "expected a single document" in (error.context or ""):
        return Mistake(place, "a second document begins here", "a job file is one document: leave out `---`")
    if "undefined alias" in problem or "undefined alias" in (error.context or ""):
        return Mistake(place, f"this is not YAML: {problem}", "quote a text that begins with `*`")
    if "mapping values are not allowed" in problem:
        return Mistake(
            place, "this is not YAML: a `:` where none can be", "quote a text with `: ` in it; check the indentation"
        )
    within = f" ({error.context})" if error.context else ""
    return Mistake(place, f"this is not YAML: {problem}{within}", "check indentation, brackets and quotes")


@dataclass
class _YamlReader:
    """Walks the nodes of a file, noting places; goes on after a mistake, to find them all."""

    file: str
    keys: dict[Location, Place] = field(default_factory=dict)
    values: dict[Location, Place] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    above: list[Node] = field(default_factory=list)

    def read(self, node: Node, location: Location) -> Yaml:
        self.values[location] = self._place(node)
        if len(self.values) > LONGEST:
            self._refuse(node, f"more than {LONGEST} entries", "aliases of aliases may stand for very many")
            raise FileError(self.mistakes)
        if any(node is other for other in self.above):
            self._refuse(node, "this alias stands for something that contains it")
            return None
        self.above.append(node)
        try:
            match node:
                case ScalarNode():
                    return self._scalar(node)
                case SequenceNode():
                    return [self.read(each, (*location, index)) for index, each in enumerate(node.value)]
                case MappingNode():
                    return self._mapping(node, location)
                case _:
                    return None
        finally:
            self.above.pop()

    def _scalar(self, node: ScalarNode) -> Yaml:
        text = str(node.value)
        match node.tag.removeprefix(_TAG):
            case "str" | "merge":
                return text
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int":
                return _number(text, int)
            case "float":
                return _number(text, float)
            case _:
                self._refuse(node, f"the tag `{node.tag}` is not supported", "write the value itself")
                return None

    def _mapping(self, node: MappingNode, location: Location) -> dict[str, Yaml]:
        entries: dict[str, Yaml] = {}
        merged: list[Node] = []
        first: dict[str, Place] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                self._refuse(key, "a key must be a plain text")
                continue
            if key.tag == _TAG + "merge":
                merged += value.value if isinstance(value, SequenceNode) else [value]
                continue
            name, place = str(key.value), self._place(key)
            if name in first:
                self._refuse(key, f"`{name}` stands here twice", f"first on line {first[name].line}")
                continue
            first[name] = place
            self.keys[(*location, name)] = place
            entries[name] = self.read(value, (*location, name))
        for other in merged:
            if not isinstance(other, MappingNode):
                self._refuse(other, "`<<` takes the entries of a mapping", "e.g. `<<: *name`")
                continue
            self._merge(other, entries, location)
        return entries

    def _merge(self, node: MappingNode, entries: dict[str, Yaml], location: Location) -> None:
        """Entries of another mapping, where there is none yet; their places are where they are written."""
        other = _YamlReader(self.file, mistakes=self.mistakes, above=self.above)
        value = other.read(node, location)
        assert isinstance(value, dict) or self.mistakes
        for name in (value.keys() - entries.keys()) if isinstance(value, dict) else ():
            assert isinstance(value, dict)
            entries[name] = value[name]
            below = (*location, name)
            for mine, theirs in ((self.keys, other.keys), (self.values, other.values)):
                mine.update({at: place for at, place in theirs.items() if at[: len(below)] == below})

    def _place(self, node: Node) -> Place:
        return Place(self.file, node.start_mark.line + 1, node.start_mark.column + 1)

    def _refuse(self, node: Node, message: str, hint: str | None = None) -> None:
        self.mistakes.append(Mistake(self._place(node), message, hint))


def _number(text: str, kind: type[int] | type[float]) -> int | float | str:
    """A number, or the text where underscores do not stand between digits."""
    try:
        return kind(text)
    except ValueError:
        return text
