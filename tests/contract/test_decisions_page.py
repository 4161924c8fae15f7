"""The page on decisions explains every reason for which a region is not split."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
GROWTH = ROOT / "src" / "granite_xai" / "search" / "growth.py"


def strings_in(node: ast.AST) -> set[str]:
    return {
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    }


def reasons_of_the_search() -> set[str]:
    """The reasons to stop, constants among them, and those that a leaf is made with."""
    tree = ast.parse(GROWTH.read_text(encoding="utf-8"))
    constants = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "_reason_to_stop":
            (reasons,) = (each for each in ast.walk(node) if isinstance(each, ast.Dict))
            for key in reasons.keys:
                found |= {constants[key.id]} if isinstance(key, ast.Name) else strings_in(key)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "_leaf":
            found |= strings_in(node.args[1])
    return found


def test_every_reason_of_the_search_is_explained():
    page = (ROOT / "docs" / "decisions.rst").read_text(encoding="utf-8").partition("not split\n")[2]
    explained = dict(re.findall(r"\* - (.+)\n     - (.+)\n", page)[1:])
    used = reasons_of_the_search()
    assert len(used) == 8
    assert {*used, "given"} == set(explained)
