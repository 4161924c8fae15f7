"""Tests of what the package promises name nothing but its public face, so that they outlive its modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import granite_xai

TESTS = Path(__file__).parents[1]
FOLDERS = ("spec", "use", "words", "page")
PATHS = (TESTS, TESTS / "spec")
"""Where tests look for helpers, as in `pyproject.toml`."""
OPEN = {"granite_xai", "granite_xai.datasets", "granite_xai.frameworks", "granite_xai.partitioners"}
PUBLIC = {f"granite_xai.{name}" for name in granite_xai.__all__} | OPEN
ENTRY = "granite_xai.cli.main"
"""The program `granite`; a process of its own runs the module of it."""
INSIDE = re.compile(r"granite_xai(?:\.[a-zA-Z_]+)+")


def private_names(text: str) -> Iterator[str]:
    """What a file names of the package that is not public.

    By import, in a chain such as gx.search, in a text, or by an underscore.
    """
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    words = {id(node.body[0].value) for node in nodes if is_documented(node)}
    called_gx = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "granite_xai"
    }
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if in_package(a.name) and a.name not in OPEN)
        elif isinstance(node, ast.ImportFrom) and in_package(node.module or ""):
            full = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (
                name
                for name in full
                if name != ENTRY and (node.module not in OPEN or is_hidden(name))
            )
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in called_gx:
            if is_hidden(f"granite_xai.{node.attr}"):
                yield f"granite_xai.{node.attr}"
        elif isinstance(node, ast.Attribute) and re.fullmatch("_[a-z].*[^_]", node.attr):
            if getattr(node.value, "id", "") not in ("self", "cls"):
                yield node.attr
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in words
        ):
            yield from (
                name
                for name in INSIDE.findall(node.value)
                if ".".join(name.split(".")[:2]) not in {*PUBLIC, "granite_xai.cli"}
            )


def is_documented(node: ast.AST) -> bool:
    """Whether a node begins with a docstring."""
    has_one = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    return has_one and ast.get_docstring(node, clean=False) is not None


def in_package(module: str) -> bool:
    return module.partition(".")[0] == "granite_xai"


def is_hidden(name: str) -> bool:
    """Whether a name right below the package is not one of its public ones."""
    below = name.split(".")
    return len(below) == 2 and name not in PUBLIC and not below[1].startswith("__")


def helpers(text: str) -> Iterator[Path]:
    """Files of the tests that a file imports."""
    for node in ast.walk(ast.parse(text)):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or "", *(f"{node.module}.{a.name}" for a in node.names)]
        places = (path / f"{name.replace('.', '/')}.py" for name in modules for path in PATHS)
        yield from (place for place in places if place.is_file())


def files_of_promises() -> dict[Path, str]:
    """The files of the public folders and every helper that they reach."""
    found: dict[Path, str] = {}
    left = [path for folder in FOLDERS for path in sorted((TESTS / folder).rglob("*.py"))]
    while left:
        path = left.pop()
        if path not in found:
            found[path] = path.read_text(encoding="utf-8")
            left.extend(helpers(found[path]))
    return found


def test_tests_of_promises_name_only_what_is_public():
    found = [
        f"{path.relative_to(TESTS)}: {name}"
        for path, text in files_of_promises().items()
        for name in private_names(text)
    ]
    assert not found, "\n".join(sorted(found))


def test_helpers_are_looked_at_too():
    read = {path.relative_to(TESTS).as_posix() for path in files_of_promises()}
    assert {"spec/oracle.py", "spec/strategies.py", "counted.py"} <= read


def test_private_names_are_found():
    text = """
import granite_xai as gx
import granite_xai.search.growth
from granite_xai import Granite, search
from granite_xai.base.errors import InputError
from granite_xai.partitioners import Clusters
def plant(monkeypatch):
    "As granite_xai.search does."
    monkeypatch.setattr("granite_xai.report.report.Meter", gx.Resources)
    return gx.search.growth, gx.__version__, gx.Granite._made, self._own
"""
    assert sorted(private_names(text)) == [
        "_made",
        "granite_xai.base.errors.InputError",
        "granite_xai.report.report.Meter",
        "granite_xai.search",
        "granite_xai.search",
        "granite_xai.search.growth",
    ]
