"""One row: what its columns add to the mean of its region, where it stands there, and what would move it."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestRegressor

import granite_xai as gx


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"hr": rng.integers(0, 24, 300), "temp": rng.normal(15, 8, 300).round(1)})
    frame["w"] = pd.Categorical(rng.choice(["clear", "mist", "rain"], 300))
    return frame


def model(X):
    busy = np.where(np.asarray(X["hr"]) > 12, 2.0, -1.0)
    return np.asarray(X["temp"]) * busy + 5.0 * np.asarray(X["w"] == "rain") + np.asarray(X["hr"])


@pytest.fixture(scope="module")
def g(table):
    exact = gx.Resources(max_grid=None)
    return gx.Granite(model, split_features=["hr"], max_depth=1, resources=exact).fit(table)


def test_a_single_row_is_not_its_own_reference(g, table):
    """The row of a table of one has the effects that it has among many."""
    alone = g.explain(table.iloc[[7]]).frame()
    among = g.explain(table).frame()
    own = among[among["row"] == 7]
    assert np.abs(alone["value"]).max() > 1
    assert alone["value"].to_numpy() == pytest.approx(own["value"].to_numpy(), abs=1e-10)
    # the fitting rows themselves: what the surrogate's curves say
    pdp = among[(among["explanation"] == "pdp")].groupby("row")["value"].sum()
    means = np.array([model(table)[g.apply(table) == k].mean() for k in (0, 1)])[g.apply(table)]
    assert g.predict(table) == pytest.approx((pdp + means).to_numpy(), abs=1e-9)


def test_a_handful_of_rows_is_no_reference(g, table):
    with pytest.raises(gx.InputError, match="D46: region . has 1 row of X") as error:
        g.explain(table.iloc[[7]], reference="rows")
    assert error.value.rows == (7,)
    assert len(g.explain(table, reference="rows").frame()) == 2 * 3 * 300
    with pytest.raises(gx.InputError, match="reference"):
        g.explain(table, reference="nobody")
    risk = gx.Granite(model, "pfi-risk").fit(table, model(table))
    with pytest.raises(gx.InputError, match="D46"):
        risk.explain(table.iloc[[7]], model(table.iloc[[7]]), reference="rows")


def test_contributions_add_up_with_what_columns_do_together(g, table):
    found = g.explain_row(table.iloc[[7]])
    frame = found.frame()
    assert found.prediction == pytest.approx(model(table.iloc[[7]])[0])
    assert found.prediction - found.mean == pytest.approx(frame["contribution"].sum())
    assert frame["set"].tolist() == ["hr", "temp", "w", "together"]
    inside = table[g.apply(table) == found.region]
    assert found.mean == pytest.approx(model(inside).mean())
    moved = inside.assign(temp=table["temp"].iloc[7])
    assert frame["contribution"][1] == pytest.approx(model(moved).mean() - model(inside).mean())
    assert found.n_samples == len(inside)


def test_in_a_region_where_the_model_is_additive_nothing_is_left(g, table):
    assert g.explain_row(table.iloc[[7]]).rest == pytest.approx(0.0, abs=1e-9)
    whole = gx.Granite(model, max_depth=0).fit(table).explain_row(table.iloc[[7]])
    assert abs(whole.rest) > 0.5


def test_a_row_stands_somewhere_on_every_curve(g, table):
    found = g.explain_row({"hr": 15, "temp": 1000.0, "w": "rain"})
    inside = table[table["hr"] > 12]
    assert found.percentiles[1] == 1.0
    assert np.isnan(found.percentiles[2])
    assert found.shares[2] == pytest.approx((inside["w"] == "rain").mean())
    low, same = (inside["hr"] < 15).mean(), (inside["hr"] == 15).mean()
    assert found.percentiles[0] == pytest.approx(low + same / 2)


def test_the_nearest_change_is_one_that_applies(g, table):
    for i in range(20):
        row = table.iloc[[i]]
        found = g.explain_row(row)
        change = found.changes[0]
        assert change.region != found.region
        assert gx.Rule.parse(change.condition).contains(row).tolist() == [False]
        assert str(g.partition_[change.region].rule) == change.condition


def test_changes_near_come_before_changes_far_away(table):
    def stairs(X):
        return np.asarray(X["temp"]) * np.select([X["hr"] <= 6, X["hr"] <= 15], [1.0, 5.0], 9.0)

    g = gx.Granite(stairs, split_features=["hr"], max_depth=2, alpha=0.01).fit(table)
    assert len(g.partition_) >= 3
    found = g.explain_row({"hr": 23, "temp": 10.0, "w": "mist"})
    assert [change.region for change in found.changes] == list(range(len(g.partition_) - 2, -1, -1))


@pytest.mark.parametrize("form", ["frame", "series", "mapping", "list", "polars"])
def test_a_row_may_be_given_in_any_form(g, table, form):
    row = table.iloc[[7]]
    forms = {
        "frame": row,
        "series": row.iloc[0],
        "mapping": row.iloc[0].to_dict(),
        "list": row.iloc[0].tolist(),
    }
    if form == "polars":
        there = pl.from_pandas(table)
        exact = gx.Resources(max_grid=None)
        g2 = gx.Granite(
            lambda X: model(X.to_pandas()), split_features=["hr"], max_depth=1, resources=exact
        ).fit(there)
        found = g2.explain_row(there[7])
        assert isinstance(found.frame(), pl.DataFrame)
    else:
        found = g.explain_row(forms[form])
    assert found.contributions == pytest.approx(g.explain_row(row).contributions)


def test_several_rows_are_refused_with_the_way_to_explain_them(g, table):
    with pytest.raises(gx.InputError, match=r"explain\(X\)"):
        g.explain_row(table.iloc[:2])


def test_a_number_is_no_row_and_the_message_says_how_to_pass_one(g):
    with pytest.raises(
        gx.InputError, match=r"D25: x=5 is a number.* Pass a row of X: X.iloc\[\[5\]\]"
    ):
        g.explain_row(5)


@pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")
@pytest.mark.parametrize("question", ["ice-shap", "mplot-pdp", "coe", "pfi-risk", "ale"])
def test_every_question_has_its_row(question, table):
    """The contributions are those of the second explanation, where they count from the mean; otherwise PDP's."""
    X = table.drop(columns="w")
    forest = RandomForestRegressor(n_estimators=5, random_state=0).fit(X, X["temp"] * X["hr"])
    g = gx.Granite(forest, question).fit(X, X["temp"] * X["hr"])
    found = g.explain_row(X.iloc[[3]])
    assert found.explanation == ("shap" if question == "ice-shap" else "pdp")
    assert found.rest == pytest.approx(0.0, abs=1e-8) or question != "ice-shap"
    assert found.prediction == pytest.approx(forest.predict(X.iloc[[3]])[0])


def test_shap_values_of_a_tree_model_equal_those_among_the_fitting_rows(table):
    """The fit reads them from the paths of the trees, a single row from coalitions."""
    X = table.drop(columns="w").assign(a=np.arange(300) % 7, b=np.arange(300) % 5)
    forest = RandomForestRegressor(n_estimators=5, random_state=0).fit(
        X, X["temp"] * X["hr"] + X["a"] * X["b"]
    )
    g = gx.Granite(forest, "ice-shap", max_depth=1).fit(X)
    among = g.explain(X, reference="rows").of("shap")
    assert g.explain(X.iloc[[4, 90]]).of("shap") == pytest.approx(among[[4, 90]], abs=1e-9)


def test_accumulated_effects_are_those_of_the_fitting_rows_in_the_interval(table):
    X = table.drop(columns="w")
    g = gx.Granite(lambda X: np.asarray(X["temp"] * X["hr"]), "ale", max_depth=1).fit(X)
    among = g.explain(X, reference="rows")
    some = g.explain(X.iloc[[4, 90]])
    for name in some.names:
        assert some.of(name) == pytest.approx(among.of(name)[[4, 90]], abs=1e-9)


def test_text_and_page_say_the_same_and_are_harmless(g):
    found = g.explain_row({"hr": 15, "temp": 10.0, "w": "rain"})
    text, page = str(found), found._repr_html_()
    for sentence in found.sentences():
        assert sentence in text
    assert "its region (hr " in page
    assert page.count("<p ") == len(found.sentences())
    assert page.count("<tr>") == 5
    assert repr(found).startswith("<RowExplanation of this row: region 1")


def test_a_row_is_called_by_the_label_that_it_has(g, table):
    """That of the user's frame, whichever rows the fit happened to draw; what is no row of a frame has none."""
    row = table.iloc[7]
    for labelled, name in [
        (row, "Row 7"),
        (table.iloc[[7]], "Row 7"),
        (table.set_index(table.index + 1000).iloc[7], "Row 1007"),
        (table.set_index("day " + table.index.astype(str)).iloc[[7]], "Row day 7"),
    ]:
        found = g.explain_row(labelled)
        assert str(found).startswith(f"{name}: ")
        assert f"Row {found.row}" == name
        assert set(found.frame()["row"]) == {found.row}
    for unlabelled in (row.to_dict(), row.tolist(), row.rename(None)):
        found = g.explain_row(unlabelled)
        assert str(found).startswith("This row: ")
        assert found.row is None
        assert found.frame()["row"].isna().all()


def test_a_row_costs_its_own_prediction(table):
    """What its columns add is read off the curves of the fit."""
    calls = []

    def counted(X):
        calls.append(len(X))
        return model(X)

    g = gx.Granite(counted, split_features=["hr"], max_depth=1).fit(table)
    calls.clear()
    g.explain_row(table.iloc[[7]])
    assert calls == [1]


def test_standard_errors_are_those_of_means_over_the_references(g, table):
    """The PDP of temp at a value is a mean of differences over the region's fitting rows."""
    found = g.explain_row(table.iloc[[7]])
    inside = table[g.apply(table) == found.region]
    gaps = model(inside.assign(temp=table["temp"].iloc[7])) - model(inside)
    known = gaps.std() / np.sqrt(len(inside))
    assert found.errors[1] == pytest.approx(known, rel=0.35)
    assert (
        gx.Granite(model, confidence_level=None)
        .fit(table)
        .explain_row(table.iloc[[7]])
        .errors.max()
        == 0.0
    )


def test_standard_errors_hold_how_rows_run_around_the_curve_and_its_own_mean(table):
    """The curve of temp is steep for some rows: far from the mean that is most of its error."""
    exact = gx.Resources(max_grid=None)
    g = gx.Granite(model, max_depth=0, holdout=False, resources=exact).fit(table)
    busy = np.where(table["hr"] > 12, 2.0, -1.0)
    far = table["temp"].abs().idxmax()
    around = (table["temp"][far] - table["temp"].mean()) * busy.std()
    of_mean = busy.mean() * table["temp"].std()
    known = np.hypot(around, of_mean) / np.sqrt(len(table))
    assert g.explain_row(table.loc[[far]]).errors[1] == pytest.approx(known, rel=0.1)


def test_a_level_that_the_model_refuses_is_blamed_and_not_its_dtype():
    """xgboost has no place for a category that it was not trained on; it speaks of dtypes."""
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": pd.Categorical(rng.choice([*"xyz"], 300)), "a": rng.normal(size=300)})
    model = xgboost.XGBRegressor(n_estimators=5, enable_categorical=True)
    model.fit(X, X["a"] * (X["c"] == "x"))
    g = gx.Granite(model, max_depth=1).fit(X)
    with (
        pytest.warns(gx.DataWarning, match="D15"),
        pytest.raises(gx.ModelError, match="D15: x column 'c'.* is 'new', which the fit") as caught,
    ):
        g.explain_row({"c": "new", "a": 1.0})
    assert caught.value.columns == ("c",)
    assert caught.value.hint == "Pass a level that the model knows: 'x', 'y', 'z'."
    table = gx.Granite(lambda X: X["a"] * (X["c"].astype(str) == "x"), max_depth=1).fit(X)
    with pytest.warns(gx.DataWarning, match="D15"):  # a model that takes it is asked
        assert table.explain_row({"c": "new", "a": 1.0}).prediction == 0.0


def test_of_a_large_region_a_thousand_fitting_rows_are_the_reference():
    """For Shapley values the model is asked about 1,000 rows for every set of columns; the mean is that of all rows."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 2))
    X = X[np.argsort(X[:, 0])]  # the first rows of the table are no sample of it
    calls = []

    def counted(Z):
        calls.append(len(Z))
        return Z[:, 0] * np.sign(Z[:, 1])

    g = gx.Granite(counted, "ice-shap", max_depth=0, holdout=False, max_samples=None).fit(X)
    calls.clear()
    found = g.explain_row(X[:1])
    assert found.n_samples == 1500
    assert 2 * 1000 < sum(calls) <= 3 * 1000 + 2
    truth = counted(X)
    assert abs(found.mean - truth.mean()) < 4 * truth.std() / np.sqrt(1000)
    assert found.prediction - found.mean == pytest.approx(found.contributions.sum() + found.rest)


def test_without_a_confidence_level_every_fitting_row_is_a_reference():
    """Rows then stand as they were given: the first ones are no sample of the others."""
    X = np.sort(np.random.default_rng(3).normal(size=(1200, 2)), axis=0)

    def model(Z):
        return Z[:, 0] * Z[:, 1]

    limits = gx.Resources(max_grid=8)
    g = gx.Granite(model, confidence_level=None, search="greedy", max_depth=0, resources=limits)
    found = g.fit(X).explain_row(X[:1])
    assert found.mean == pytest.approx(model(X).mean(), rel=1e-12)


def test_amounts_that_are_nothing_beside_the_others_are_told_as_nothing():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(700, 3))
    row = gx.Granite(lambda X: 100 * X[:, 0] * np.sign(X[:, 1]) + 1e-5 * X[:, 2]).fit(rows)
    text = str(row.explain_row(np.array([[1.0, 1.0, 2.0]])))
    assert "0.0000" not in text
    assert re.search(r"x2 +2 .* 0$", text, re.MULTILINE)
