"""The small functions that pages and pictures are put together with, on values that can be read off by eye."""

from __future__ import annotations

from granite_xai.display.figures import grid_of
from granite_xai.report.effect_charts import as_drawn, limits_of
from granite_xai.report.svg import arrow, path, tag, text_box
from granite_xai.report.wording import stability_sentence, tentative_sentence


def test_an_element_escapes_its_text_and_writes_underscores_as_dashes():
    assert (
        tag("text", "b", "a < b", x=1.04, data_r=2)
        == '<text class="b" x="1" data-r="2">a &lt; b</text>'
    )


def test_a_path_is_broken_where_there_is_no_point():
    assert path([(0, 2), (10, 3), None, (5, 5)]) == "M0 2L10 3M5 5"


def test_an_arrow_ends_in_a_head_unless_both_ends_touch():
    assert arrow("a", (0.0, 0.0), (3.0, 0.0)) == ""
    assert arrow("a", (0.0, 0.0), (100.0, 0.0)).count("L") == 3


def test_lines_of_text_overlap_where_they_share_room():
    first = text_box(0.0, 20.0, 50.0)
    assert first.overlaps(text_box(49.0, 22.0, 10.0))
    assert not first.overlaps(text_box(51.0, 20.0, 10.0))
    assert not first.overlaps(text_box(0.0, 40.0, 50.0))


def test_panels_fill_lines_as_evenly_as_can_be():
    assert (grid_of(3), grid_of(9)) == ((1, 3), (2, 5))


def test_of_many_splits_a_sentence_tells_the_first_only():
    split = {"rule": "all rows", "feature": "hr", "times": 4, "instead": "temp"}
    assert stability_sentence([split] * 2, 6).count("4 split on hr again (otherwise temp)") == 2
    assert stability_sentence([split] * 4, 6) == (
        "Of 6 searches on half the rows, 4 split on hr first, as here (otherwise temp). "
        "The table has the splits below it."
    )


def test_a_finding_is_tentative_where_its_first_split_comes_back_in_fewer_than_half_of_the_searches():
    split = {"rule": "all rows", "feature": "hr", "times": 2, "instead": "temp"}
    assert tentative_sentence([split, {**split, "times": 6}], 6) == (
        "Tentative: the first split, on hr, came back in 2 of 6 searches on half the rows."
    )
    assert tentative_sentence([{**split, "times": 3}, split], 6) == ""
    assert tentative_sentence([], 6) == ""


def test_the_band_of_all_rows_moves_with_its_curve_and_fits_into_the_chart():
    panel = {
        "centre": 100.0,
        "mean": [90.0, 110.0],
        "curve": [90.0, 110.0],
        "low": [70.0, None],
        "high": [95.0, None],
        "error": None,
        "effect_error": None,
        "lines": [],
    }
    drawn = as_drawn({"style": "line", "panels": [panel]}, 2.0, centred=True)
    assert drawn["panels"][0]["low"] == [-30.0, None]
    assert drawn["panels"][0]["high"] == [-5.0, None]
    low, high = limits_of([drawn])
    assert low < -30.0
    assert high > 10.0
    without = as_drawn({"style": "line", "panels": [{**panel, "low": None, "high": None}]}, 2.0)
    assert without["panels"][0]["low"] is None
