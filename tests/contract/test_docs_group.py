"""``make docs`` runs in a fresh clone: its group of packages has what the programs of the gallery import."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = {"sklearn": "scikit-learn", "granite_xai": "granite-xai"}


def imported(path: Path) -> set[str]:
    """Top packages that a program imports, but for those of Python."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found - set(sys.stdlib_module_names)


def test_the_group_docs_has_what_the_gallery_imports():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*settings["project"]["dependencies"], *settings["dependency-groups"]["docs"]]
    installed = {re.match(r"[\w-]+", text)[0] for text in wanted} | {"granite-xai"}
    programs = sorted((ROOT / "examples").rglob("*.py"))
    assert len(programs) > 5
    for path in programs:
        names = {DISTRIBUTIONS.get(name, name) for name in imported(path)}
        assert names <= installed, f"{path.name}: {names - installed}"
