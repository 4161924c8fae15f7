"""The page on decisions explains every reason for which a region is not split."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SEARCH = ROOT / "src" / "granite_xai" / "search"


def strings_in(node: ast.AST) -> set[str]:
    return {
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    }


def reasons_of_the_search() -> set[str]:
    """The reasons to stop, constants among them, and those that a leaf is made with."""
    opening = ast.parse((SEARCH / "node_opening.py").read_text(encoding="utf-8"))
    growth = ast.parse((SEARCH / "growth.py").read_text(encoding="utf-8"))
    constants = {
        node.targets[0].id: node.value.value
        for node in opening.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }
    found: set[str] = set()
    for node in ast.walk(opening):
        if isinstance(node, ast.FunctionDef) and node.name == "reason_to_stop":
            for answer in ast.walk(node):
                if isinstance(answer, ast.Return) and isinstance(answer.value, ast.Name):
                    found.add(constants[answer.value.id])
                elif isinstance(answer, ast.Return):
                    found |= strings_in(answer)
    for node in ast.walk(growth):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "_leaf":
            found |= strings_in(node.args[1])
    return found


def test_every_reason_of_the_search_is_explained():
    page = (ROOT / "docs" / "decisions.rst").read_text(encoding="utf-8").partition("not split\n")[2]
    explained = dict(re.findall(r"\* - (.+)\n     - (.+)\n", page)[1:])
    used = reasons_of_the_search()
    assert len(used) == 8
    assert {*used, "given"} == set(explained)
