"""The page on decisions explains every reason for which a region is not split."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_reason_of_the_search_is_explained():
    page = (ROOT / "docs" / "decisions.rst").read_text(encoding="utf-8").partition("not split\n")[2]
    explained = dict(re.findall(r"\* - (.+)\n     - (.+)\n", page)[1:])
    source = (ROOT / "src" / "granite_xai" / "search" / "growth.py").read_text(encoding="utf-8")
    used = re.findall(r'_leaf\(node, (?:reason or )?"(.+?)"\)', source) + re.findall(
        r'^ +"([a-z ]+)": ', source, re.M
    )
    used += re.findall(r'^ONLY_CHANCE = "(.+?)"', source, re.M)
    assert len(set(used)) == 8
    assert {*used, "given"} == set(explained)
