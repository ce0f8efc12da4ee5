"""Prints the numbers of the source code and fails where one is worse than its limit: `make numbers`.

The limits are in `code_numbers.toml`, beside this file. A number may only get smaller. `--tighten` writes the smaller
ones as the new limits; a limit is raised by hand, in a commit that says why.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parent.parent

# The planner: from a query as algebra to the plan of a cycle. Its neighbours: sql and catalog above it, compile below.
PLANNER_CORE = ("algebra", "rows", "physical", "rules", "memo", "time", "search", "plan")
OPERATORS = Path("algebra/relation.py")
OPERATOR_BASE = "Relation"

MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 60
MOST_PARAMETERS = 6
FEWEST_OPERATORS_OF_A_BRANCH = 5


@dataclass(frozen=True)
class Module:
    """A source file and its syntax tree; its path is relative to the package."""

    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=str(self.path))

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))

    @cached_property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @property
    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        return (node for node in self.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))

    @property
    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in self.nodes if isinstance(node, ast.ClassDef))


@dataclass(frozen=True)
class Number:
    """One number of the code: what it counts, how much, and where."""

    name: str
    value: int
    places: tuple[str, ...] = ()


def read_package(package: Path) -> list[Module]:
    """Every module of a package, in order of its path."""
    paths = sorted(package.rglob("*.py"))
    return [Module(path.relative_to(package), path.read_text(encoding="utf-8")) for path in paths]


def numbers(modules: Sequence[Module]) -> list[Number]:
    """All numbers of the code, in the order in which they are printed."""
    core = [module for module in modules if module.path.parts[0] in PLANNER_CORE]
    return [
        Number("planner_core_lines", sum(module.lines for module in core)),
        _counted("files_over_400_lines", _long_files(modules)),
        _counted("functions_over_60_lines", _long_functions(modules)),
        _counted("functions_over_6_parameters", _wide_functions(modules)),
        _counted("class_names_used_twice", _names_used_twice(_class_places(modules))),
        _counted("module_names_used_twice", _names_used_twice(_module_places(modules))),
        _counted("files_branching_over_5_operators", _branching_files(modules)),
    ]


def _counted(name: str, places: Iterable[str]) -> Number:
    listed = tuple(places)
    return Number(name, len(listed), listed)


def _long_files(modules: Iterable[Module]) -> Iterator[str]:
    return (f"{it.path}: {it.lines} lines" for it in modules if it.lines > MOST_LINES_OF_A_FILE)


def _long_functions(modules: Iterable[Module]) -> Iterator[str]:
    for module in modules:
        for function in module.functions:
            lines = (function.end_lineno or function.lineno) - function.lineno + 1
            if lines > MOST_LINES_OF_A_FUNCTION:
                yield f"{module.path}:{function.lineno} {function.name}: {lines} lines"


def _wide_functions(modules: Iterable[Module]) -> Iterator[str]:
    for module in modules:
        for function in module.functions:
            parameters = len(_parameters(function.args))
            if parameters > MOST_PARAMETERS:
                yield f"{module.path}:{function.lineno} {function.name}: {parameters} parameters"


def _parameters(arguments: ast.arguments) -> list[str]:
    rest = [it for it in (arguments.vararg, arguments.kwarg) if it is not None]
    named = [it.arg for it in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest)]
    return named[1:] if named and named[0] in ("self", "cls") else named


def _class_places(modules: Iterable[Module]) -> Iterator[tuple[str, str]]:
    return ((it.name, f"{module.path}:{it.lineno}") for module in modules for it in module.classes)


def _module_places(modules: Iterable[Module]) -> Iterator[tuple[str, str]]:
    return ((it.path.stem, str(it.path)) for it in modules if not it.path.stem.startswith("__"))


def _names_used_twice(places: Iterable[tuple[str, str]]) -> Iterator[str]:
    places_of: dict[str, list[str]] = defaultdict(list)
    for name, place in places:
        places_of[name].append(place)
    return (f"{name}: {', '.join(where)}" for name, where in sorted(places_of.items()) if len(where) > 1)


def _branching_files(modules: Sequence[Module]) -> Iterator[str]:
    operators = {name for module in modules if module.path == OPERATORS for name in _operators(module)}
    for module in modules:
        branches = operators & {name for node in module.nodes for name in _tested_classes(node)}
        if len(branches) >= FEWEST_OPERATORS_OF_A_BRANCH:
            yield f"{module.path}: {', '.join(sorted(branches))}"


def _operators(module: Module) -> Iterator[str]:
    """The classes below the base, directly or not."""
    bases = {OPERATOR_BASE}
    for it in sorted(module.classes, key=lambda each: each.lineno):
        if not bases.isdisjoint(map(_last_name, it.bases)):
            bases.add(it.name)
            yield it.name


def _tested_classes(node: ast.AST) -> Iterator[str]:
    """The classes that a `case` or an `isinstance` tests for."""
    match node:
        case ast.MatchClass(cls=tested):
            yield _last_name(tested)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, tested]):
            yield from (_last_name(it) for it in ast.walk(tested) if isinstance(it, ast.Name | ast.Attribute))
        case _:
            pass


def _last_name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def worse(counts: Iterable[Number], limits: Mapping[str, int]) -> list[Number]:
    """The numbers that are above their limits; a number without a limit is above it."""
    return [it for it in counts if it.value > limits.get(it.name, -1)]


def tightened(text: str, counts: Iterable[Number]) -> str:
    """The text of the limits with every limit that can be lower as low as it can be; comments stay."""
    values = {it.name: it.value for it in counts}
    return "".join(_tightened_line(line, values) for line in text.splitlines(keepends=True))


def _tightened_line(line: str, values: Mapping[str, int]) -> str:
    name, _, limit = (part.strip() for part in line.partition("="))
    return f"{name} = {values[name]}\n" if name in values and values[name] < int(limit) else line


def _lines(number: Number, limits: Mapping[str, int], with_places: bool) -> list[str]:
    limit = f"{limits[number.name]:,}" if number.name in limits else "missing"
    line = f"{number.name:<34}{number.value:>7,}   limit {limit:>7}"
    return [line, *(f"    {place}" for place in number.places)] if with_places else [line]


def _error(number: Number, limits: Mapping[str, int]) -> str:
    limit = limits.get(number.name, "missing")
    return "\n    ".join((f"error: {number.name} is {number.value}, its limit is {limit}", *number.places))


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the numbers; 1 where one is worse than its limit."""
    parser = argparse.ArgumentParser(prog="code_numbers", description=__doc__.splitlines()[0])
    parser.add_argument("--package", type=Path, default=ROOT / "src/slackwater", help="the package to count")
    parser.add_argument("--limits", type=Path, default=ROOT / "tools/code_numbers.toml", help="the file of the limits")
    parser.add_argument("--list", action="store_true", help="also print each place that is counted")
    parser.add_argument("--tighten", action="store_true", help="write numbers below their limits as the new limits")
    options = parser.parse_args(arguments)

    text = options.limits.read_text(encoding="utf-8")
    limits: dict[str, int] = tomllib.loads(text)
    results = numbers(read_package(options.package))
    for number in results:
        print(*_lines(number, limits, options.list), sep="\n")

    too_many = worse(results, limits)
    for number in too_many:
        print(_error(number, limits), file=sys.stderr)
    if options.tighten:
        options.limits.write_text(tightened(text, results), encoding="utf-8")
    return 1 if too_many else 0


if __name__ == "__main__":
    sys.exit(main())
