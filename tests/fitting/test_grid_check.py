"""How far gaps on a grid are from exact ones."""

from __future__ import annotations

import numpy as np
from granite_xai.fitting.grid_check import grid_check_in_words

import granite_xai as gx

X = np.random.default_rng(15).normal(size=(300, 2))


def note_of(model, max_grid):
    limits = gx.Resources(max_grid=max_grid)
    g = gx.Granite(model, confidence_level=None, max_depth=0, resources=limits).fit(X)
    return g.diagnostics_["max_grid"]


def smooth(X):
    return X[:, 0] * X[:, 1]


def test_a_finer_grid_is_nearer_to_the_exact_gaps():
    coarse, fine = (note_of(smooth, size)["gaps"]["ice-pdp"] for size in (4, 32))
    assert coarse["rms_difference"] / coarse["rms_gap"] > 0.1
    assert fine["rms_difference"] / fine["rms_gap"] < 0.1


def test_the_note_names_the_columns_on_a_grid_and_the_rows():
    note = note_of(smooth, 8)
    assert note["columns"] == {"x0": 8, "x1": 8}
    assert 0 < note["rows"] <= 300


def test_the_sentence_has_the_largest_error_of_all_questions():
    gaps = {
        "one": {"rms_gap": 2.0, "rms_difference": 0.1},
        "two": {"rms_gap": 4.0, "rms_difference": 1.0},
        "nothing": {"rms_gap": 0.0, "rms_difference": 9.0},
    }
    text = grid_check_in_words({"columns": {"a": 8}, "rows": 20, "gaps": gaps})
    assert text.startswith("C22: ")
    assert "a (8)" in text
    assert "25.0%" in text
