"""The model and the rows that a command works on."""

from __future__ import annotations

import pandas as pd
import pytest

from cli.running import EXPLAIN
from granite_xai import cli
from granite_xai.cli.cases import Case, hold_out_every_fourth_row, open_case


def opened(*arguments):
    return open_case(cli.parser().parse_args([*map(str, arguments)]))


def test_a_case_has_the_features_the_target_and_other_rows(folder):
    pd.read_csv("table.csv").iloc[:7].to_csv("other.csv", index=False)
    case = opened(*EXPLAIN, "--test", "other.csv", "--weights", "c")
    assert list(case.X) == ["a", "b"]
    assert case.y.name == "y"
    assert case.weights.tolist() == pd.read_csv("table.csv")["c"].tolist()
    features, target = case.test
    assert list(features) == ["a", "b"]
    assert len(features) == len(target) == 7
    assert callable(case.model)


def test_a_trained_case_holds_out_rows_unless_others_are_named(folder):
    table = pd.read_csv("table.csv").assign(weather=["mist", "clear", "rain"] * 30)
    table.to_csv("weather.csv", index=False)
    table.iloc[:9].to_csv("other.csv", index=False)
    case = opened("explain", "weather.csv", "--train-on", "y", "--weights", "c")
    assert len(case.X) + len(case.test[0]) == 90
    assert not set(case.X.index) & set(case.test[0].index)
    assert case.weights.index.equals(case.X.index)
    case = opened("explain", "weather.csv", "--train-on", "y", "--test", "other.csv")
    assert len(case.test[0]) == 9
    assert case.test[0]["weather"].dtype == case.X["weather"].dtype


@pytest.mark.parametrize("has_target", [True, False])
def test_every_fourth_row_is_held_out(has_target):
    X = pd.DataFrame({"a": range(10)})
    y = X["a"] * 2 if has_target else None
    case = hold_out_every_fourth_row(Case(model=None, X=X, y=y, test=None, weights=None))
    assert case.X["a"].tolist() == [0, 1, 2, 4, 5, 6, 8, 9]
    assert case.test[0]["a"].tolist() == [3, 7]
    if has_target:
        assert case.y.tolist() == [0, 2, 4, 8, 10, 12, 16, 18]
        assert case.test[1].tolist() == [6, 14]
    else:
        assert case.y is None
        assert case.test[1] is None
