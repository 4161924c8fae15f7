"""Codes in the source have a home: C1 to C22 on the page of the method, the others on the page on reliability."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
CODE = re.compile(r"(?<![\w#.-])(?:C\d\d?|[DTMPNRFS]\d\d)(?![\w.-]|°)")
PAGE_NUMBER = re.compile(
    r"(?<=\w )\(1?[1-9]\.[1-9]\)|[a-z], 1?[1-9]\.[1-9]\)|\b(?:design|page) 1?\d\b"
)


def defined() -> set[str]:
    """Headings of the decisions, and the cases of the tables."""
    method = (ROOT / "docs" / "method.rst").read_text(encoding="utf-8")
    cases = (ROOT / "docs" / "reliability.rst").read_text(encoding="utf-8")
    decisions = re.findall(r"^(C\d+) · ", method, re.MULTILINE)
    return {*decisions, *re.findall(r"^   \* - ([A-Z]\d\d)$", cases, re.MULTILINE)}


def lines_with(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """What the pattern finds in the source, with the place."""
    return [
        (match[0], f"{path.relative_to(ROOT)}:{number}")
        for path in SOURCES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for match in pattern.finditer(line)
    ]


def test_every_code_in_the_source_is_defined_on_a_page():
    cited = lines_with(CODE)
    assert {code for code, _ in cited} >= {"C15", "C22", "M09"}, "the search finds no codes"
    known = defined()
    homeless = [f"{place}: {code}" for code, place in cited if code not in known]
    assert not homeless, "\n".join(homeless)


def test_no_source_cites_a_page_that_a_reader_does_not_have():
    assert PAGE_NUMBER.search("the noise floor (1.5)")
    assert PAGE_NUMBER.search("(design 1.5)")
    assert PAGE_NUMBER.search("(design page 11.4)")
    found = [f"{place}: {text}" for text, place in lines_with(PAGE_NUMBER)]
    assert not found, "\n".join(found)


def test_the_decisions_are_numbered_without_gaps_and_have_anchors():
    text = (ROOT / "docs" / "method.rst").read_text(encoding="utf-8")
    found = re.findall(r"^\.\. _(c\d+):\n\n(C\d+) · .+\n~+$", text, re.MULTILINE)
    assert found == [(f"c{i}", f"C{i}") for i in range(1, 23)]
