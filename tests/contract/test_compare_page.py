"""The page "How does it compare?" says what was measured."""

import importlib.util
from pathlib import Path

import pytest
from experiments.peer_summary import summarize

SCRIPT = Path(__file__).parents[2] / "docs" / "make_compare.py"


@pytest.fixture(scope="module")
def maker():
    found = importlib.util.spec_from_file_location("make_compare", SCRIPT)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(maker):
    record = maker.measured()
    written = maker.PAGE.read_text(encoding="utf-8")
    assert written == maker.page(summarize(record["data"])), "run python docs/make_compare.py"


def test_every_figure_of_the_page_is_there(maker):
    page = maker.PAGE.read_text(encoding="utf-8")
    figures = [line.split("::")[1].strip() for line in page.splitlines() if "figure::" in line]
    assert len(figures) == 2
    assert all((maker.PAGE.parent / name).is_file() for name in figures)
