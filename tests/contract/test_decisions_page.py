"""The page on decisions lists every reason for which a region is not split, in the words of the package."""

import re
from pathlib import Path

from granite_xai.regions.nodes import REASONS

ROOT = Path(__file__).parents[2]


def test_every_reason_is_explained():
    page = (ROOT / "docs" / "decisions.rst").read_text(encoding="utf-8").partition("not split\n")[2]
    listed = re.findall(r"\* - (.+)\n     - (.+)\n", page)[1:]
    assert dict(listed) == REASONS


def test_every_reason_of_the_search_has_words():
    source = (ROOT / "src" / "granite_xai" / "search" / "tree.py").read_text(encoding="utf-8")
    used = re.findall(r'_leaf\(node, "(.+?)"\)', source) + re.findall(r'            return "([a-z ]+)"\n', source)
    assert used
    assert set(used) <= set(REASONS)
