"""What other rooms read of a fitted estimator."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.fitting.fitted_view import fitted_view
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import granite_xai as gx

RNG = np.random.default_rng(12)
X = RNG.normal(size=(300, 3))


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


@pytest.fixture(scope="module")
def view():
    return fitted_view(gx.Granite(step, max_depth=1, max_samples=150).fit(X))


@pytest.fixture(scope="module")
def of_classes():
    iris, species = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(iris, species)
    return gx.Granite(model, output="all", max_depth=1).fit(iris)


def test_P01_only_a_granite_has_a_view():
    with pytest.raises(gx.InputError, match="P01"):
        fitted_view(LogisticRegression())


def test_an_estimator_that_is_not_fitted_is_scikit_learn_s_error():
    with pytest.raises(NotFittedError):
        fitted_view(gx.Granite(step))


def test_M02_who_takes_one_output_must_name_it(of_classes):
    with pytest.raises(gx.InputError, match="M02"):
        fitted_view(of_classes)
    with pytest.raises(gx.InputError, match="P01"):
        fitted_view(of_classes, "tulip")
    assert fitted_view(of_classes, several=True).result.outputs


def test_the_view_of_an_output_has_its_notes_under_the_labels_of_its_questions(of_classes):
    view = fitted_view(of_classes, 1)
    joint = of_classes.diagnostics_
    assert view.diagnostics["noise_floor"] == {"ice-pdp": joint["noise_floor"]["ice-pdp of 1"]}
    assert set(view.diagnostics["chance"]) == {"ice-pdp"}
    assert view.run.result is view.result


def test_predictions_of_all_outputs_stand_side_by_side(of_classes):
    iris = load_iris(return_X_y=True)[0]
    everything = fitted_view(of_classes, several=True)
    predicted = everything.predict(everything.read(iris))
    assert predicted.shape == (150, 3)
    assert predicted.min() >= 0.0
    assert predicted.max() <= 1.0


def test_rows_are_drawn_as_many_as_the_fit_used(view):
    weights = np.ones(1000)
    weights[:500] = 0.0
    rows = view.draw_rows(weights)
    assert len(rows) == 150
    assert rows.min() >= 500
    assert len(view.draw_rows(weights, 30)) == 30


def test_other_rows_leave_out_those_without_weight(view):
    weights = np.arange(300) % 2
    new, regions = view.other_rows(X, None, weights)
    assert len(regions) == 150
    assert np.array_equal(new.route.table.native, X[1::2])
    assert np.array_equal(regions, view.regions(view.read(X[1::2])))


def test_F09_an_old_file_does_not_know_its_rows(view):
    from dataclasses import replace

    diagnostics = {key: note for key, note in view.diagnostics.items() if key != "rows"}
    with pytest.raises(gx.InputError, match="F09"):
        _ = replace(view, diagnostics=diagnostics).noted_rows


def test_an_interval_half_as_wide_needs_about_four_times_the_rows():
    view = fitted_view(gx.Granite(_noisy, max_depth=1).fit(RNG.normal(size=(900, 3))))
    ratio = view.rows_needed(0.01) / view.rows_needed(0.02)
    assert ratio == pytest.approx(4.0, rel=0.1)


def _noisy(X):
    return step(X) + np.sin(3 * X[:, 0] * X[:, 2])


def test_P03_without_an_interval_nothing_can_be_extrapolated():
    view = fitted_view(gx.Granite(step, confidence_level=None, max_depth=0).fit(X[:100]))
    with pytest.raises(gx.InputError, match="P03"):
        view.rows_needed(0.05)


def test_curves_in_regions_describe_a_step_on_other_rows(view):
    assert view.held_out_fidelity(RNG.normal(size=(200, 3))) > 0.95


def test_a_constant_model_is_described_wholly():
    view = fitted_view(gx.Granite(lambda X: np.ones(len(X))).fit(X))
    assert view.held_out_fidelity(X) == 1.0
