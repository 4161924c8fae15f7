"""Columns that are the target itself (T10)."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.base.errors import Diagnostics
from granite_xai.models.targets import FEWEST_ROWS, note_columns_that_are_y
from granite_xai.tables import read_table

N = 60
DRAW = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "temp": DRAW.normal(size=N),
        "cnt": DRAW.integers(1, 30, N),
        "color": DRAW.choice(["red", "blue"], N),
        "new": DRAW.choice([True, False], N),
    }
)


def words_about(y, frame=FRAME):
    record = Diagnostics()
    note_columns_that_are_y(y, read_table(frame, missing="allow"), record)
    return " ".join(record.warnings)


@pytest.mark.filterwarnings("ignore:T10:granite_xai.DataWarning")
@pytest.mark.parametrize(
    ("y", "words"),
    [
        (FRAME["cnt"], "column cnt is y."),
        (FRAME["cnt"].to_numpy(dtype=float), "column cnt is y."),
        (FRAME["cnt"].tolist(), "column cnt is y."),
        (FRAME[["cnt"]], "column cnt is y."),
        (FRAME["color"], "column color is y."),
        (FRAME["color"].to_numpy(dtype=object), "column color is y."),
        (FRAME["new"], "column new is y."),
        (~FRAME["new"], "column new is y in another unit or scale."),
        (100 * FRAME["temp"] - 3, "column temp is y in another unit or scale."),
        (5 - 2 * FRAME["cnt"], "column cnt is y in another unit or scale."),
        (np.log(FRAME["cnt"]), "column cnt is y in another unit or scale."),
    ],
)
def test_T10_a_column_that_is_y_is_named(y, words):
    found = words_about(y)
    assert f"T10: {words}" in found
    assert found.count("T10") == 1


@pytest.mark.parametrize(
    "y",
    [
        None,
        DRAW.normal(size=N),
        FRAME["cnt"] + (np.arange(N) == 7),
        FRAME["cnt"].where(np.arange(N) != 7),
        FRAME["temp"].round(1),
        np.ones(N),
        FRAME[["cnt", "temp"]],
        [[1], [2, 3]] * (N // 2),
        "cnt",
    ],
    ids=["none", "other", "one row", "a gap", "rounded", "constant", "two", "ragged", "a name"],
)
def test_nothing_is_said_of_columns_that_are_not_y(y):
    assert words_about(y) == ""


def test_nothing_is_said_of_few_rows():
    few = FRAME.iloc[: FEWEST_ROWS - 1]
    assert words_about(few["cnt"], few) == ""


def test_a_constant_column_and_a_constant_target_are_not_one():
    assert words_about(np.ones(N), FRAME.assign(temp=1.0)) == ""


@pytest.mark.filterwarnings("ignore:T10:granite_xai.DataWarning")
def test_T10_several_columns_are_named_together():
    doubled = FRAME.assign(count=FRAME["cnt"])
    assert "T10: columns 'cnt', 'count' are y." in words_about(FRAME["cnt"], doubled)


def model(X):
    return np.asarray(X["temp"]) * (np.asarray(X["cnt"]) > 12)


@pytest.mark.parametrize("question", ["ice-pdp", "pfi-risk"])
def test_T10_a_fit_warns_whether_or_not_it_reads_y(question):
    with pytest.warns(gx.DataWarning, match=re.escape("T10: column cnt is y.")):
        g = gx.Granite(model, question, max_depth=0).fit(FRAME, FRAME["cnt"])
    assert any(text.startswith("T10") for text in g.diagnostics_["warnings"])


def test_T10_an_explanation_warns():
    with pytest.warns(gx.DataWarning, match=re.escape("T10: column cnt is y.")):
        gx.Explainer("marginal", "local", "pure").explain(model, FRAME, FRAME["cnt"])
