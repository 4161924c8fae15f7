"""The page on architecture shows the rooms as they are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "make_architecture.py"


@pytest.fixture(scope="module")
def maker():
    found = importlib.util.spec_from_file_location("make_architecture", SCRIPT)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_page_and_the_picture_are_up_to_date(maker):
    hint = "run python docs/make_architecture.py"
    assert maker.PAGE.read_text(encoding="utf-8") == maker.page(), hint
    assert maker.PICTURE.read_text(encoding="utf-8") == maker.picture(), hint


def test_every_room_has_its_line_and_its_layer(maker):
    there = set(maker.imports())
    assert sorted(maker.ROOMS) == sorted(maker.rooms())
    assert there == set(maker.ROOMS)


def test_every_room_in_the_picture_exists(maker):
    drawn = {name for _, _, _, names, words in maker.BOXES for name in names.split(", ")}
    assert drawn <= set(maker.ROOMS)
