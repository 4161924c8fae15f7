"""The page on reliability lists every code that an error may have, and none twice."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = re.compile(r'code="([A-Z][0-9]{2})"')


def test_every_code_of_an_error_is_on_the_page_and_none_twice():
    page = (ROOT / "docs" / "reliability.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   \* - ([A-Z][0-9]{2})$", page, re.MULTILINE)
    raised = {
        code
        for path in (ROOT / "src").rglob("*.py")
        for code in CODE.findall(path.read_text(encoding="utf-8"))
    }
    assert len(raised) > 50
    assert raised <= set(listed), sorted(raised - set(listed))
    assert len(listed) == len(set(listed))
