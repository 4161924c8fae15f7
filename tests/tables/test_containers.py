"""Names and labels of any container; outlines, which have no rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from granite_xai.base.errors import InputError
from granite_xai.tables import Outline, open_table

ROWS = np.array([0])


def test_names_are_texts_and_positions_of_an_array_begin_with_x():
    array = open_table(np.ones((2, 3)), "X")
    assert array.labels == (0, 1, 2)
    assert array.names == ("x0", "x1", "x2")
    frame = open_table(pd.DataFrame([[1.0, 2.0]], columns=[7, "b"]), "X")
    assert frame.labels == (7, "b")
    assert frame.names == ("7", "b")


@pytest.mark.parametrize(
    ("X", "is_named"),
    [
        (np.ones((1, 2)), False),
        (pd.DataFrame([[1.0, 2.0]], columns=["a", "b"]), True),
        (pd.DataFrame([[1.0, 2.0]], columns=[0, "b"]), False),
        (pl.DataFrame({"a": [1]}), True),
        (pa.table({"a": [1]}), True),
    ],
)
def test_a_table_is_named_if_all_its_columns_have_text_as_names(X, is_named):
    assert open_table(X, "X").named == is_named


def test_an_outline_has_labels_and_an_empty_table_of_its_library():
    outline = Outline(labels=("a", 3), library="polars")
    assert outline.names == ("a", "3")
    assert not outline.named
    assert outline.n_rows == 0
    assert type(outline.native) is pl.DataFrame
    assert type(Outline(labels=(0, 1), library="numpy").native) is pd.DataFrame
    assert type(Outline(labels=("a",), library="pyarrow").native) is pa.Table
    assert Outline(labels=(0, 1), library="numpy").names == ("x0", "x1")


def test_results_of_an_outline_come_in_pandas_where_its_library_is_not_installed(monkeypatch):
    monkeypatch.setattr("granite_xai.tables.containers.find_spec", lambda name: None)
    assert type(Outline(labels=("a",), library="polars").native) is pd.DataFrame


@pytest.mark.parametrize(
    "ask",
    [
        lambda outline: outline.cells(0),
        lambda outline: outline.take(ROWS),
        lambda outline: outline.select([0]),
        lambda outline: outline.adopt([]),
        lambda outline: outline.recombined(ROWS, outline, ROWS, [0]),
        lambda outline: outline.nudged(ROWS, 1, [0]),
    ],
)
def test_F09_what_needs_rows_is_refused_by_an_outline(ask):
    with pytest.raises(InputError, match="F09: this needs the fitting rows") as caught:
        ask(Outline(labels=("a",), library="pandas"))
    assert caught.value.argument == "X"
    assert "gx.load(path, model=model, X=X)" in caught.value.hint


def test_F09_says_what_needs_the_rows():
    with pytest.raises(InputError, match="F09: a refit needs the fitting rows"):
        Outline(labels=("a",), library="pandas").refuse(what="a refit")
