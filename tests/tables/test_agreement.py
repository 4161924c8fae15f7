"""A new table must agree with the table of the fit; scikit-learn's words are used."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from granite_xai.base.errors import DataWarning, InputError
from granite_xai.tables import read_table

FIT = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "c": [True, False]})


def again(X, fit=FIT, missing="error"):
    return read_table(X, missing=missing, like=read_table(fit, missing="allow"))


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (["c", "b", "a"], "Feature names must be in the same order as they were in fit.\n"),
        (["a", "b"], "Feature names seen at fit time, yet now missing:\n- c\n"),
        (["a", "b", "c", "d"], "Feature names unseen at fit time:\n- d\n"),
    ],
)
def test_D37_other_columns_are_listed(columns, text):
    X = FIT.assign(d=1.0)[columns]
    message = "The feature names should match those that were passed during fit.\n" + text
    for frame in (X, pl.from_pandas(X)):
        with pytest.raises(InputError, match=re.escape(message)) as caught:
            again(frame)
        assert caught.value.code == "D37"
        assert caught.value.columns


def test_D37_at_most_five_names_are_listed_and_control_characters_escaped():
    X = pd.DataFrame(np.ones((1, 7)), columns=[f"n{i}\x1b" for i in range(7)])
    with pytest.raises(InputError, match=r"- 'n4\\x1b'\n- \.\.\.") as caught:
        again(X)
    assert "\x1b" not in str(caught.value)


def test_D37_the_number_of_columns():
    fit = np.ones((3, 4))
    with pytest.raises(
        InputError, match="X has 3 features, but Granite is expecting 4 features as input."
    ):
        again(np.ones((2, 3)), fit)
    with pytest.raises(
        InputError, match="X has 2 features, but Granite is expecting 3 features as input."
    ):
        again(np.ones((2, 2)))


def test_D37_integer_names_of_two_frames_are_compared():
    fit = pd.DataFrame(np.ones((2, 2)), columns=[5, 6])
    with pytest.raises(InputError, match="same order"):
        again(fit[[6, 5]], fit)
    assert again(fit, fit).names == ("5", "6")


def test_D37_a_column_that_changed_its_kind():
    with pytest.raises(
        InputError, match=r"D37: X column 'a' \(index 0\) .* numeric, as it was at fit"
    ) as caught:
        again(FIT.assign(a=["x", "y"]))
    assert caught.value.columns == ("a",)


def test_D38_an_array_after_a_frame_and_a_frame_after_an_array():
    fit = pd.DataFrame(np.ones((2, 2)), columns=["a", "b"])
    text = "X does not have valid feature names, but Granite was fitted with feature names"
    with pytest.warns(UserWarning, match=text):
        table = again(fit.to_numpy(), fit)
    assert table.names == ("a", "b")
    assert table.notices == (text,)
    with pytest.warns(
        UserWarning, match="X has feature names, but Granite was fitted without feature names"
    ):
        table = again(fit, fit.to_numpy())
    assert table.names == ("x0", "x1")


def test_kinds_are_those_of_the_fit_whatever_the_dtype_is_now():
    fit = read_table(
        np.array([[0, 1, 3], [1, 1, 2]]), kinds={0: "boolean", 2: "nominal"}, missing="error"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_table(np.array([[1.0, 2.5, 3.0]]), missing="error", like=fit)
    assert [c.kind for c in table.columns] == ["boolean", "numeric", "nominal"]
    assert table.columns[2].levels.tolist() == [3]


def test_a_column_without_values_takes_the_kind_of_the_fit():
    with pytest.warns(DataWarning, match="D02: X has 3 missing values in features 'a', 'b', 'c'"):
        table = again(pd.DataFrame({"a": [None], "b": [None], "c": [None]}), missing="allow")
    assert [c.kind for c in table.columns] == ["numeric", "nominal", "boolean"]
    assert [c.codes.tolist() for c in table.columns] == [[-1]] * 3
    dates = pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])})
    with pytest.warns(DataWarning, match="D02: X has 1 missing value in feature 'a', where no"):
        table = again(pd.DataFrame({"a": [None]}), dates, missing="allow")
    assert table.columns[0].kind == "date"


def test_D02_missing_values_where_the_fit_had_some_are_not_warned_about():
    gaps = FIT.assign(a=[np.nan, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = again(gaps, gaps, missing="allow")
    assert table.columns[0].missing.tolist() == [True, False]


def test_D15_new_levels_are_warned_about_by_label():
    with pytest.warns(
        DataWarning,
        match=r"D15: X column 'b' \(index 1\) has 1 level that was not seen at fit: 'z'",
    ):
        table = again(FIT.assign(b=["z", "y"]))
    assert table.columns[1].levels.tolist() == ["y", "z"]


def test_D15_labels_of_rows_that_the_fit_did_not_draw_are_not_new():
    table = read_table(FIT, missing="error")
    drawn = table.take([0]).take([0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(FIT, like=drawn, missing="error")
    with pytest.warns(DataWarning, match="1 level that was not seen at fit: 'z'"):
        read_table(FIT.assign(b=["z", "y"]), like=drawn, missing="error")


def test_D15_codes_that_differ_between_frames_do_not_matter():
    fit = pd.DataFrame({"a": pd.Categorical(["x", "y"], ["x", "y"])})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = again(pd.DataFrame({"a": pd.Categorical(["y", "x"], ["y", "x"])}), fit)
    assert table.columns[0].values.tolist() == ["y", "x"]


def test_D14_D15_ordered_labels_keep_the_order_of_the_fit():
    fit = pd.DataFrame({"a": pd.Categorical(["lo", "hi"], ["lo", "mid", "hi"], ordered=True)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "mid" was declared: it has its place
        table = again(pd.DataFrame({"a": ["hi", "mid"]}), fit)
    assert table.columns[0].order == ("lo", "mid", "hi")
    assert table.columns[0].levels.tolist() == ["mid", "hi"]
    with pytest.warns(DataWarning, match="'top'"):
        table = again(pd.DataFrame({"a": ["top", "lo"]}), fit)
    assert table.columns[0].levels.tolist() == ["lo", "top"]
    assert table.columns[0].order == ("lo", "mid", "hi")


def test_D11_texts_are_not_counted_after_the_fit():
    with pytest.warns(DataWarning, match="has 200 levels that were not seen"):
        again(pd.DataFrame({"a": 1.0, "b": [f"t{i}" for i in range(200)], "c": True}))
