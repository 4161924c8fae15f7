"""One row against its region: contributions, ranks and changes by their definitions, and the words for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.base.numbers import OutputUnit

RNG = np.random.default_rng(22)
X = np.round(RNG.normal(size=(200, 3)), 1)


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


@pytest.fixture(scope="module")
def fitted():
    return gx.Granite(step, max_depth=1, holdout=False).fit(X)


@pytest.fixture(scope="module")
def row(fitted):
    return fitted.explain_row(X[None, 0])


def sentences(explanation, contributions, difference, **changes):
    """What is said of a row with these contributions; that of feature f3 has the value 3."""
    changes = {"row": 3, "title": "", "changes": (), **changes}
    contributions = np.array(contributions)
    n_sets = len(contributions)
    told = replace(
        explanation,
        sets=tuple(f"f{number}" for number in range(n_sets)),
        values=tuple(str(number) for number in range(n_sets)),
        contributions=contributions,
        mean=1.0,
        prediction=1.0 + difference,
        percentiles=np.full(n_sets, 0.5),
        shares=np.full(n_sets, 0.1),
        **changes,
    )
    return told.sentences()


# By definition ---------------------------------------------------------------------------------------------


def test_contributions_are_what_the_fit_predicts(fitted):
    """The same description: curves that regions share, each less its mean in the region."""
    for row in X[:5]:
        found = fitted.explain_row(row[None])
        assert found.mean + found.contributions.sum() == pytest.approx(fitted.predict(row[None])[0])


def test_curves_of_a_row_pass_through_what_it_adds(fitted):
    found = fitted.explain_row(X[None, 3])
    for curve, contribution in zip(found.curves, found.contributions, strict=True):
        column = found.table.columns[curve.column.position]
        assert curve.at(column)[0] == pytest.approx(contribution, abs=1e-12)


def test_without_the_fitting_rows_the_same_is_added(fitted, tmp_path):
    gx.save(fitted, tmp_path / "fit.json")
    loaded = gx.load(tmp_path / "fit.json", model=step).explain_row(X[None, 3])
    exact = fitted.explain_row(X[None, 3])
    assert loaded.contributions == pytest.approx(exact.contributions)
    assert loaded.errors == pytest.approx(exact.errors)
    assert np.isnan(loaded.percentiles).all()
    assert loaded.unusual == ()


# As a user gives it ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [[], (), np.array([]), np.array(3.0)])
def test_what_has_no_cells_is_refused(fitted, given):
    with pytest.raises(gx.InputError):
        fitted.explain_row(given)


def test_another_refusal_of_the_model_stays_its_own():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0] * 30, "b": ["x", "y", "x"] * 30})

    def model(X):
        if len(X) == 1:
            raise ValueError("no.")
        return np.asarray(X["a"]) * np.asarray(X["b"] == "x")

    g = gx.Granite(model, max_depth=0).fit(frame)
    with pytest.raises(gx.ModelError, match="no") as caught:
        g.explain_row(frame.iloc[[0]])
    assert caught.value.code != "D15"


# In words --------------------------------------------------------------------------------------------------


def test_the_region_is_named_only_where_there_are_several(row):
    alone = sentences(row, [1.0], 1.0)[0]
    assert alone == "Row 3: prediction 2.0; the average is 1.0."
    inside = sentences(row, [1.0], 1.0, output="predicted cnt", title="hr 7–23")[0]
    assert inside == "Row 3: predicted cnt 2.0; its region (hr 7–23) averages 1.0."


def test_a_class_and_its_probability_do_not_read_as_one_number(row):
    unit = OutputUnit(probability=True)
    told = sentences(row, [0.0], -0.98, output="the probability of target = 1", unit=unit)
    assert told[0].startswith("Row 3: probability of target = 1 is 2%;")


def test_a_row_without_a_label_is_this_row(row):
    assert sentences(row, [1.0], 1.0, row=None)[0].startswith("This row: ")
    assert sentences(row, [1.0], 1.0, row=0)[0].startswith("Row 0: ")


@pytest.mark.parametrize(("difference", "first"), [(-1.0, "Lower"), (1.0, "Higher")])
def test_the_direction_of_the_prediction_comes_first(row, difference, first):
    assert sentences(row, [-5.0, 4.0], difference)[1].startswith(f"{first} because of")


def test_slight_contributions_are_not_named(row):
    told = sentences(row, [10.0, 0.9, 1.1], 12.0)[1]
    assert told == "Higher because of f0 = 0 (+10), f2 = 2 (+1.1)."


def test_the_largest_are_named_first_and_no_more_than_three(row):
    told = sentences(row, [5.0, 9.0, 7.0, 6.0, 8.0], 35.0)[1]
    assert told == "Higher because of f1 = 1 (+9.0), f4 = 4 (+8.0), f2 = 2 (+7.0)."


def test_a_row_without_contributions_has_no_reasons(row):
    assert len(sentences(row, [0.0, 0.0], 0.0)) == 1


def test_probabilities_are_in_points(row):
    told = sentences(row, [0.2, -0.1], 0.1, unit=OutputUnit(probability=True))[1]
    assert told.endswith("(in points).")
    assert "(+20)" in told


def test_interactions_are_told_where_they_are_more_than_slight(row):
    assert len(sentences(row, [-5.0, 3.0], -1.6)) == 2
    assert sentences(row, [-5.0, 3.0], -4.0)[2] == "Interactions add −2.0."
    told = sentences(row, [-5.0, 3.0], -7.1)
    assert told[1] == (
        "Interactions add −5.1, more than any single feature: single features alone do not explain this row."
    )
    assert told[2].startswith("Lower because of")


def test_a_row_beside_all_others_is_unusual_and_what_curves_do_not_reach_is_no_interaction():
    """A linear model has no interactions; a curve ends with the search rows."""
    rows = RNG.normal(size=(700, 3))
    g = gx.Granite(lambda X: X @ [1.0, 2.0, 3.0], max_depth=0).fit(rows)
    far = g.explain_row(np.array([0.1, 0.2, 50.0]))
    assert far.unusual == ("x2",)
    told = str(far)
    assert "Few rows there are like it (x2 = 50)." in told
    assert "Interactions, and values beyond those of the search rows, add +" in told
    near = g.explain_row(rows[5])
    assert near.unusual == ()
    assert near.rest == pytest.approx(0.0, abs=0.05)
    unusual = sum(len(g.explain_row(row).unusual) > 0 for row in RNG.normal(size=(100, 3)))
    assert unusual <= 8
