"""The page on architecture tells the way of a fit as it is."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def walk():
    return runpy.run_path(str(DOCS / "make_walk.py"))


def test_the_page_is_up_to_date(walk):
    assert walk["PAGE"].read_text(encoding="utf-8") == walk["page"](), (
        "run python docs/make_walk.py"
    )


def test_a_fit_comes_to_the_steps_in_this_order(walk):
    calls = walk["watch_fit"]().first_calls
    places = [calls.index(step) for step in walk["STEPS"]]
    assert places == sorted(places)
