"""Explanation: values by region, set and row, and what other libraries read of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from granite_xai.algebra.explanation import Explanation, Part
from granite_xai.base.errors import InputError
from granite_xai.tables import read_table

TABLE = read_table(pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}), missing="error")
SETS = (("a",), ("b",))


def part(region, name, rows, values, base):
    values = np.array(values)
    return Part(
        region=region,
        name=name,
        rows=None if rows is None else np.array(rows),
        values=values,
        errors=values / 10,
        base=np.array(base),
        sets=SETS,
    )


LOCAL = Explanation(
    sets=SETS,
    parts=(
        part(0, "pdp", [2, 0], [[3.0, 30.0], [1.0, 10.0]], [0.5, 0.5]),
        part(1, "pdp", [1], [[-2.0, 20.0]], [0.25]),
    ),
    table=TABLE,
)
REGIONAL = Explanation(
    sets=SETS,
    parts=(part(0, "sobol", None, [1.0, 2.0], [0.0]), part(1, "sobol", None, [3.0, 4.0], [0.5])),
    table=TABLE,
)


def test_local_values_are_in_the_order_of_the_rows():
    assert LOCAL.values.tolist() == [[1.0, 10.0], [-2.0, 20.0], [3.0, 30.0]]


def test_values_of_regions_are_one_line_each_and_of_one_region_just_that():
    assert REGIONAL.of("sobol").tolist() == [[1.0, 2.0], [3.0, 4.0]]
    alone = Explanation(sets=SETS, parts=REGIONAL.parts[1:], table=TABLE)
    assert alone.values.tolist() == [3.0, 4.0]


def test_P01_an_unknown_explanation_is_refused():
    with pytest.raises(InputError, match="there is pdp") as refused:
        LOCAL.of("ice")
    assert refused.value.code == "P01"


def test_the_frame_has_a_line_for_each_region_set_and_row():
    frame = LOCAL.frame()
    assert list(frame.columns) == [
        "region",
        "set",
        "explanation",
        "row",
        "value",
        "standard_error",
    ]
    line = frame[(frame["set"] == "b") & (frame["row"] == 0)].iloc[0]
    assert (line["region"], line["value"], line["standard_error"]) == (0, 10.0, 1.0)
    assert len(frame) == 6
    assert REGIONAL.frame()["row"].isna().all()


def test_it_says_what_it_holds_and_the_mean_sizes():
    assert repr(LOCAL) == "<Explanation: pdp of 2 features, 2 regions, 3 rows>"
    lines = str(LOCAL).splitlines()
    assert lines[3].split() == ["0", "a", "2.0"]
    assert lines[5].split() == ["1", "a", "2.0"]


def test_shap_gets_values_bases_and_cells_in_the_order_of_the_rows():
    pytest.importorskip("shap")
    explanation = LOCAL.to_shap()
    assert explanation.values.tolist() == LOCAL.values.tolist()
    assert explanation.base_values.tolist() == [0.5, 0.25, 0.5]
    assert explanation.data.tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    with pytest.raises(InputError, match="one value a region"):
        REGIONAL.to_shap()


def test_shap_gets_the_cells_of_the_explained_rows_alone():
    pytest.importorskip("shap")
    some_rows = part(0, "pdp", [2, 0], [[3.0, 30.0], [1.0, 10.0]], [0.5, 0.25])
    explanation = Explanation(sets=SETS, parts=(some_rows,), table=TABLE).to_shap()
    assert explanation.values.tolist() == [[1.0, 10.0], [3.0, 30.0]]
    assert explanation.base_values.tolist() == [0.25, 0.5]
    assert explanation.data.tolist() == [[1.0, 4.0], [3.0, 6.0]]


# Beside a question about single columns, one whose explanations have one set of all columns, as "coe" has.
OF_ALL_COLUMNS = Part(
    region=0,
    name="additive",
    rows=np.array([0, 1, 2]),
    values=np.array([[7.0], [8.0], [9.0]]),
    errors=np.zeros((3, 1)),
    base=np.zeros(3),
    sets=(("a", "b"),),
)
WITH_OTHER_SETS = Explanation(sets=SETS, parts=(*LOCAL.parts, OF_ALL_COLUMNS), table=TABLE)


def test_shap_looks_at_the_sets_of_the_chosen_explanation():
    pytest.importorskip("shap")
    assert WITH_OTHER_SETS.to_shap().values.tolist() == LOCAL.values.tolist()
    with pytest.raises(InputError, match="these are interactions"):
        WITH_OTHER_SETS.to_shap("additive")


def test_shapiq_looks_at_the_sets_of_the_chosen_explanation():
    pytest.importorskip("shapiq")
    values = WITH_OTHER_SETS.to_shapiq(row=1, name="additive")
    assert values[(0, 1)] == 8.0
    assert values[(0,)] == 0.0


def test_shapiq_gets_one_row_or_one_region():
    pytest.importorskip("shapiq")
    values = LOCAL.to_shapiq(row=1)
    assert (values[(0,)], values[(1,)], values.baseline_value) == (-2.0, 20.0, 0.25)
    values = REGIONAL.to_shapiq(row=1)
    assert (values[(0,)], values[(1,)]) == (3.0, 4.0)
    with pytest.raises(InputError, match="row=7"):
        LOCAL.to_shapiq(row=7)
