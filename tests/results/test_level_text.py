"""Values of a column as a person would write them."""

from __future__ import annotations

import pandas as pd

from granite_xai.results.level_text import level_text
from granite_xai.tables import read_table


def test_numbers_have_no_separators_and_labels_are_cut():
    frame = pd.DataFrame({"year": [2011.0, 2012.0], "job": ["a" * 60, "b\nc"]})
    year, job = read_table(frame, missing="allow").columns
    assert level_text(year, 2011.0) == "2011"
    assert level_text(year, 0.123456789) == "0.123457"
    assert level_text(job, "a" * 60) == "a" * 39 + "…"
    assert "\n" not in level_text(job, "b\nc")
