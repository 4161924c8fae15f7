"""What a file knows of a table without its rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from granite_xai.base.errors import FormatError
from granite_xai.tables import outline_from_dict, outline_to_dict, read_table

FRAME = pd.DataFrame(
    {
        "number": [2.0, np.nan, 1.0],
        "label": ["b", "a", "b"],
        "day": pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-03"]),
    }
)


def written(with_values=True):
    table = read_table(FRAME, missing="allow")
    return json.loads(json.dumps(outline_to_dict(table, with_values=with_values), allow_nan=False))


def test_levels_come_back_sorted_and_missing_cells_are_known():
    outline = outline_from_dict(written(), "table")
    assert [column.name for column in outline.columns] == ["number", "label", "day"]
    assert outline.columns[0].levels.tolist() == [1.0, 2.0]
    assert outline.columns[0].missing.any()
    assert outline.columns[1].levels.tolist() == ["a", "b"]
    assert not outline.columns[1].missing.any()


def test_labels_of_rows_that_were_not_drawn_come_back():
    part = read_table(FRAME, missing="allow").take([1])
    data = json.loads(json.dumps(outline_to_dict(part, with_values=False)))
    assert data["columns"][1]["seen"] == ["a", "b"]
    assert outline_from_dict(data, "table").columns[1].seen == ("a", "b")
    assert [column["seen"] for column in written()["columns"]] == [None] * 3


def test_S15_without_with_values_no_number_or_date_is_in_the_file():
    levels = [column["levels"]["array"][1] for column in written(with_values=False)["columns"]]
    assert levels == [[], ["a", "b"], []]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data["labels"].pop(), r"table\.labels is not one text or number"),
        (lambda data: data["columns"][1].update(name="number"), "two columns of one name"),
        (
            lambda data: data["columns"][1].update(declared=["a", "a"]),
            r"columns\[1\]\.declared is not a list of different labels",
        ),
        (
            lambda data: data["columns"][1].update(seen=["a", "a"]),
            r"columns\[1\]\.seen is not a list of different labels",
        ),
        (
            lambda data: data["columns"][0].update(levels={"array": ["float64", [2.0, 1.0]]}),
            r"columns\[0\]\.levels is not a list of different values in their order",
        ),
        (
            lambda data: data["columns"][0].update(levels={"array": ["float32", [1.0]]}),
            r"columns\[0\]\.levels has the dtype float32",
        ),
    ],
)
def test_F04_an_outline_that_is_wrong_is_named_by_its_place(change, words):
    data = written()
    change(data)
    with pytest.raises(FormatError, match=words):
        outline_from_dict(data, "table")


def test_F05_an_order_without_a_place_for_some_level_is_refused_whatever_the_kind():
    """Only ordinal columns have one, but a file may have been edited."""
    outline = written()
    number = next(column for column in outline["columns"] if column["name"] == "number")
    number["order"] = [1.0]
    with pytest.raises(FormatError, match="order has no place for some of the levels"):
        outline_from_dict(outline, "table")
