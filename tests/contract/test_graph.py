"""The import graph as computed, counting also imports that only type checkers follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import grimp
import pytest

FACE = "granite_xai"
"""The public face: it imports no room before a name is used."""


def tangles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Modules that reach each other and themselves again."""

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        left = list(graph.get(start, ()))
        while left:
            module = left.pop()
            if module not in found:
                found.add(module)
                left.extend(graph.get(module, ()))
        return found

    reach = {module: reached(module) for module in graph}
    loops = {
        frozenset(other for other in reach[m] if m in reach.get(other, ()))
        for m in graph
        if m in reach[m]
    }
    return sorted(sorted(loop) for loop in loops)


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    found = grimp.build_graph(FACE, exclude_type_checking_imports=False, cache_dir=None)
    return {
        module: set(found.find_modules_directly_imported_by(module))
        for module in found.modules - {FACE}
    }


def test_no_module_imports_itself_by_way_of_others(graph):
    found = tangles(graph)
    assert not found, "\n".join(" <-> ".join(loop) for loop in found)


def test_a_tangle_is_found():
    assert tangles({"a": ["b"], "b": ["c"], "c": ["b"], "d": ["a"]}) == [["b", "c"]]


def test_imports_of_type_checkers_are_counted():
    """The counting works at all: figures name matplotlib for type checkers too."""
    ways = {"include_external_packages": True, "cache_dir": None}
    counted, plain = (
        grimp.build_graph(FACE, exclude_type_checking_imports=left_out, **ways)
        for left_out in (False, True)
    )
    way = {"importer": f"{FACE}.document.figure", "imported": "matplotlib"}
    assert len(counted.get_import_details(**way)) > len(plain.get_import_details(**way))
