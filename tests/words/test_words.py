"""What fits say is what is recorded.

The files of the folder ``recorded`` were written by ``python tests/words/record.py``; a change of them is read as a
difference, like one of the source.
"""

from __future__ import annotations

import json

import pytest

import granite_xai as gx
from words.fits import FITS, SHOWN
from words.transcripts import RECORDED, brief, json_lines, recorded, transcripts


@pytest.mark.parametrize("name", FITS)
def test_a_fit_says_what_is_recorded(name):
    said = transcripts(name)
    kept = recorded(name)
    assert said.keys() == kept.keys()
    for file, text in said.items():
        assert text == kept[file], (
            f"{file}: python tests/words/record.py {name}, and read the difference"
        )


def test_every_folder_belongs_to_a_fit():
    assert {folder.name for folder in RECORDED.iterdir()} == FITS.keys()


def test_every_question_and_six_fits_in_every_way():
    assert gx.questions().keys() <= FITS.keys()
    assert len(SHOWN) == 6


def test_long_lists_of_figures_are_told_by_their_ends():
    story = {"curve": [0.5, 1e-17, 3, 4, 5, 6, 123.456], "few": [1.23456, "a"], "made": "now"}
    told = {"curve": "7 numbers from 0.0 to 123.5", "few": [1.235, "a"], "made": "DATE"}
    assert brief(story) == told
    assert brief({"names": list("abcdefg")}) == {"names": "7 entries from a to g"}
    assert json.loads(json_lines(told)) == told
