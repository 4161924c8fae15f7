"""HTML for notebooks."""

from __future__ import annotations

import pytest

from granite_xai.base import notebook
from granite_xai.base.notebook import Bar, RegionLabel


def test_text_is_escaped():
    assert "&lt;b&gt;" in notebook.paragraph("<b>")
    assert "<b>" not in notebook.table([["<b>"], ["<b>"]])


def test_an_empty_sentence_is_nothing():
    assert notebook.paragraph("") == ""


def test_a_table_has_headings_and_columns_at_the_left():
    text = notebook.table([["rule", "rows"], ["a", 3], ["b", 4]], left=(0,))
    assert text.count("<th") == 3  # with thead
    assert text.count('<td class="left">') == 2
    assert "<td>3</td>" in text


@pytest.mark.parametrize(
    ("fraction", "width"), [(0.5, "50%"), (-1.0, "0%"), (7.0, "100%"), (0.0, "0%")]
)
def test_a_bar_stays_on_its_track(fraction, width):
    text = notebook.table([["a"], [Bar("x", fraction)]])
    assert f"width: {width}" in text
    assert 'aria-hidden="true"' in text


def test_bars_and_labels_are_their_text_elsewhere():
    assert str(Bar("12%", 0.12)) == "12%"
    assert str(RegionLabel(2, "hr > 6")) == "2  hr > 6"
    assert str(RegionLabel(None, "all rows")) == "all rows"


def test_a_region_has_its_number_and_colour():
    text = notebook.table([["region"], [RegionLabel(1, "hr > 6", depth=2)]])
    assert notebook.region_color(1) in text
    assert ">1</span>" in text
    assert "padding-left: 3.5em" in text


def test_colours_are_distinct_and_end():
    colours = [notebook.region_color(number) for number in range(8)]
    assert len(set(colours)) == 8
    assert notebook.region_color(8) == notebook.region_color(-1) == ""


def test_a_document_has_its_style():
    assert notebook.document(["<p>x</p>"]).startswith('<div class="granite-xai"><style>')
