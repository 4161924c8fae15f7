"""The page "How does it compare?" says what was measured."""

import pytest
from experiments.peer_summary import summarize

from contract.doc_programs import doc_program


@pytest.fixture(scope="module")
def maker():
    return doc_program("make_compare")


def test_the_page_is_up_to_date(maker):
    record = maker.measured()
    written = maker.PAGE.read_text(encoding="utf-8")
    assert written == maker.page(summarize(record["data"])), "run python docs/make_compare.py"


def test_every_figure_of_the_page_is_there(maker):
    page = maker.PAGE.read_text(encoding="utf-8")
    figures = [line.split("::")[1].strip() for line in page.splitlines() if "figure::" in line]
    assert len(figures) == 2
    assert all((maker.PAGE.parent / name).is_file() for name in figures)
