"""The page on architecture shows the rooms as they are."""

from __future__ import annotations

import pytest

from contract.doc_programs import doc_program


@pytest.fixture(scope="module")
def maker():
    return doc_program("make_architecture")


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
