"""Several outputs in one fit: one tree for all of them, each in shares of its own disagreement."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPClassifier

import granite_xai as gx
from granite_xai import InputError, ModelError
from granite_xai.partitioners import Clusters, GivenRules

NAMES = ("setosa", "versicolor", "virginica")
EXACT = gx.Resources(
    max_grid=None
)  # a pilot would choose other values for all outputs than for one
ROWS = {
    "holdout": False,
    "max_samples": None,
    "min_samples_leaf": 10,
    "max_depth": 2,
    "resources": EXACT,
}


def flowers():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, np.array(NAMES)[y]


def two_outputs(X):
    x = np.asarray(X)
    return np.column_stack(
        [x[:, 0] * np.where(x[:, 1] > 0, 1, -1), 1e6 * x[:, 2] * np.where(x[:, 0] > 0.5, 1, -1)]
    )


def table(n=240, d=3, seed=0):
    return np.random.default_rng(seed).integers(-3, 4, size=(n, d)) / 3.0


@pytest.fixture(scope="module")
def network():
    X, y = flowers()
    return (
        MLPClassifier((8,), random_state=0, max_iter=400, tol=1e-3).fit(X.to_numpy(), y),
        X.to_numpy(),
        y,
    )


MODELS = {
    "forest": RandomForestClassifier(8, max_depth=4, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=6, random_state=0),
}


def alone(g, name, X, y=None, **changes):
    """A fit of one output that is given the regions of all."""
    options = {
        **g.get_params(deep=False),
        "output": name,
        "partitioner": GivenRules(g.partition_),
        **changes,
    }
    return gx.Granite(**options).fit(X, y)


def same_fit(view, fit):
    assert view.disagreement_ == pytest.approx(fit.disagreement_, rel=1e-12)
    assert view.remaining_ == pytest.approx(fit.remaining_, rel=1e-10, abs=1e-15)
    assert view.fidelity_ == pytest.approx(fit.fidelity_, rel=1e-12)
    assert [r.disagreement for r in view.partition_] == pytest.approx(
        [r.disagreement for r in fit.partition_], abs=1e-13
    )
    assert view.diagnostics_["noise_floor"] == pytest.approx(
        fit.diagnostics_["noise_floor"], rel=1e-6
    )
    if fit.estimate_ is not None:
        for one, other in zip(view.estimate_.lines, fit.estimate_.lines, strict=True):
            assert one.corrected == pytest.approx(other.corrected, rel=1e-10, abs=1e-15)
    # Regions that were searched on few rows are judged by folds, given ones by all rows.
    if fit.estimate_ is not None and view.estimate_.rows == fit.estimate_.rows:
        assert view.estimate_.remaining == pytest.approx(
            fit.estimate_.remaining, rel=1e-10, nan_ok=True
        )


def test_the_disagreement_of_all_outputs_is_the_mean_of_their_own_shares(network):
    model, X, _ = network
    g = gx.Granite(model, output="all", **ROWS).fit(X)
    assert g.outputs_ == NAMES
    assert len(g.partition_) > 1
    single = [alone(g, name, X) for name in NAMES]
    for k, region in enumerate(g.partition_):
        assert region.disagreement == pytest.approx(
            np.mean([one.partition_[k].disagreement for one in single]), rel=1e-12
        )
    assert g.remaining_ == pytest.approx(np.mean([one.remaining_ for one in single]), rel=1e-12)
    assert g.fidelity_ == pytest.approx(np.mean([one.fidelity_ for one in single]), rel=1e-12)
    assert g.disagreement_ == 1.0
    assert "setosa: rows stray ±" in str(g.partition_)
    for name, one in zip(NAMES, single, strict=True):
        assert g.disagreements_[f"ice-pdp of {name}"] == pytest.approx(one.disagreement_, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_one_of_several_outputs_is_a_fit_of_it_that_was_given_the_regions(network, name):
    model, X, _ = network
    g = gx.Granite(model, output="all", **ROWS).fit(X)
    view, fit = g.of_output(name), alone(g, name, X)
    same_fit(view, fit)
    np.testing.assert_allclose(g.explain(X, output=name).values, fit.explain(X).values, rtol=1e-12)
    np.testing.assert_allclose(g.predict(X)[:, NAMES.index(name)], fit.predict(X), rtol=1e-12)
    row = g.explain_row(X[:1], output=name)
    np.testing.assert_allclose(row.contributions, fit.explain_row(X[:1]).contributions, rtol=1e-12)
    assert row.prediction == pytest.approx(model.predict_proba(X[:1])[0, NAMES.index(name)])
    # The first line tells how what is left was measured: by folds where the regions were searched.
    # Notes on other cuts, and how to repeat the search, are of regions that were searched.
    printed, expected = (str(each.partition_).split("\n", 1)[1] for each in (view, fit))
    of_search = ("g.stability", "Note: a split on")
    printed = "\n".join(line for line in printed.splitlines() if not line.startswith(of_search))
    assert printed == expected.replace(" given", " " + view.partition_[0].stop_reason, 0)


def test_all_outputs_cost_the_model_no_more_than_one(network):
    model, X, _ = network
    calls = []

    def asked(X):
        calls.append(len(X))
        return model.predict_proba(X)

    all_rows = gx.Granite(asked, output="all", response="probability", **ROWS).fit(X)
    together, calls[:] = list(calls), []
    gx.Granite(asked, output=0, response="probability", **ROWS).fit(X)
    assert together[0] == 1  # one row tells how many outputs there are
    assert together[1:] == calls
    assert all_rows.diagnostics_["model"]["rows"] == sum(together) - 1


def test_held_out_rows_judge_all_outputs_and_each(network):
    model, X, _ = network
    rng = np.random.default_rng(1)
    X = X[rng.integers(len(X), size=900)] + 0.05 * rng.normal(size=(900, 4))
    options = {
        "holdout": 0.5,
        "max_samples": 120,
        "resources": EXACT,
        "min_samples_leaf": 10,
    }
    g = gx.Granite(model, output="all", **options).fit(X)
    one = gx.Granite(model, output="setosa", **options).fit(X)
    assert g.diagnostics_["model"]["rows"] <= one.diagnostics_["model"]["rows"]
    assert g.estimate_.rows == "held-out"
    assert np.isfinite(g.estimate_.standard_error)
    for name in NAMES:
        fit = alone(g, name, X)
        same_fit(g.of_output(name), fit)
        assert g.of_output(name).estimate_.standard_error == pytest.approx(
            fit.estimate_.standard_error, rel=1e-9
        )


@pytest.mark.parametrize("kind", MODELS)
def test_classes_of_tree_ensembles_are_read_from_their_trees(kind):
    X, y = flowers()
    model = MODELS[kind].fit(X, y)
    g = gx.Granite(model, output="all", **ROWS).fit(X)
    assert g.diagnostics_["evaluations"]["path"].startswith("trees")
    for name in NAMES:
        same_fit(g.of_output(name), alone(g, name, X))
    by_model = gx.Granite(
        lambda X: model.predict_proba(X), output="all", response="probability", **ROWS
    ).fit(X)
    # The trees would take missing values, the function refuses them.
    assert [str(rule) for rule in by_model.partition_.rules] == [
        str(rule).replace(" or missing", "") for rule in g.partition_.rules
    ]
    assert by_model.remaining_ == pytest.approx(g.remaining_, rel=1e-9)


@pytest.mark.parametrize("question", ["pfi-risk", "shap-pdp", "sobol", ["ice-pdp", "pfi-risk"]])
def test_outputs_of_different_size_count_alike(question):
    X, options = table(), {**ROWS, "search": "greedy"}
    y = two_outputs(X) + 1.0
    g = gx.Granite(two_outputs, question, output="all", **options).fit(X, y)
    assert g.outputs_ == (0, 1)
    for k in (0, 1):
        same_view = g.of_output(k)
        fit = alone(g, k, X, y[:, k])
        assert same_view.remaining_ == pytest.approx(fit.remaining_, rel=1e-9, abs=1e-12)
        assert same_view.disagreements_ == pytest.approx(fit.disagreements_, rel=1e-9)
    swapped = gx.Granite(
        lambda X: two_outputs(X)[:, ::-1] * [1e-6, 1e6], question, output="all", **options
    )
    other = swapped.fit(X, (y - 1)[:, ::-1] * [1e-6, 1e6] + [1e-6, 1e6])
    assert [str(rule) for rule in other.partition_.rules] == [
        str(rule) for rule in g.partition_.rules
    ]
    assert other.remaining_ == pytest.approx(g.remaining_, rel=1e-6)


def test_the_variance_of_each_output_can_be_the_unit():
    X = table()
    objective = gx.Objective("ice-pdp", normalize="variance")
    g = gx.Granite(two_outputs, objective, output="all", **ROWS).fit(X)
    again = gx.Granite(lambda X: two_outputs(X) * [1e3, 1e-3], objective, output="all", **ROWS).fit(
        X
    )
    assert [str(rule) for rule in again.partition_.rules] == [
        str(rule) for rule in g.partition_.rules
    ]
    assert again.remaining_ == pytest.approx(g.remaining_)


def test_a_single_column_is_the_fit_of_that_column():
    X = table()
    g = gx.Granite(lambda X: two_outputs(X)[:, :1], output="all", **ROWS).fit(X)
    plain = gx.Granite(lambda X: two_outputs(X)[:, 0], **ROWS).fit(X)
    assert g.outputs_ == (0,)
    assert plain.outputs_ == ()
    assert str(g.partition_.rules) == str(plain.partition_.rules)
    assert g.remaining_ == pytest.approx(plain.remaining_, abs=1e-15)
    same_fit(g.of_output(0), alone(plain, None, X))


def test_a_model_of_one_output_has_no_others():
    with pytest.raises(ModelError, match=r"M02.*one number a row"):
        gx.Granite(lambda X: X[:, 0], output="all").fit(table())
    with pytest.raises(ModelError, match="M02"):
        gx.Granite(LinearRegression().fit(table(), table()[:, 0]), output="all").fit(table())


def test_a_class_named_all_is_a_class():
    X, y = flowers()
    y = np.where(y == "setosa", "all", y)
    g = gx.Granite(RandomForestClassifier(3, random_state=0).fit(X, y), output="all", **ROWS).fit(X)
    assert g.outputs_ == ()


def test_what_is_about_one_output_asks_which(network):
    model, X, _ = network
    g = gx.Granite(model, output="all", **ROWS).fit(X)
    with pytest.raises(InputError, match=r"M02.*setosa.*versicolor"):
        g.explain(X)
    with pytest.raises(InputError, match="M02"):
        gx.PartitionDisplay.from_estimator(g)
    with pytest.raises(InputError, match=r"P01.*'setose'.*setosa"):
        g.explain(X, output="setose")
    with pytest.raises(InputError, match="P01"):
        gx.Granite(model, output="setosa", **ROWS).fit(X).explain(X, output="setosa")
    with pytest.raises(InputError, match=r"P03.*Clusters"):
        gx.Granite(model, output="all", partitioner=Clusters(), **ROWS).fit(X)
    with pytest.raises(InputError, match=r"T04.*2 outputs"):
        gx.Granite(two_outputs, "pfi-risk", output="all", **ROWS).fit(table(), table()[:, 0])


def test_an_interrupted_fit_of_all_outputs_starts_anew(network):
    model, X, _ = network
    calls, stop = [], 14

    def asked(X):
        calls.append(len(X))
        if len(calls) == stop:
            raise KeyboardInterrupt
        return model.predict_proba(X)

    options = {**ROWS, "resources": gx.Resources(batch_size=2000)}
    g = gx.Granite(asked, output="all", response="probability", **options)
    with pytest.raises(KeyboardInterrupt):
        g.fit(X)
    g.fit(X)
    whole = gx.Granite(asked, output="all", response="probability", **options).fit(X)
    assert g.remaining_ == whole.remaining_
    assert str(g.partition_) == str(whole.partition_)


def test_levels_and_missing_cells_work_for_all_outputs():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": rng.choice(list("abcdefgh"), 300),
            "b": rng.normal(size=300).round(1),
            "c": rng.integers(4, size=300),
        }
    )

    def model(X):
        sign = np.where(X["a"].isin(list("bdf")), 1.0, -1.0)
        return np.column_stack([sign * X["b"], 100.0 * sign * X["c"]])

    g = gx.Granite(model, output="all", max_candidates=20, **ROWS).fit(X)
    assert g.remaining_ < 1e-12
    assert {str(rule) for rule in g.partition_.rules} == {"a in {b, d, f}", "a not in {b, d, f}"}


@pytest.mark.slow
def test_stability_and_path_are_about_all_outputs(network):
    model, X, _ = network
    g = gx.Granite(model, output="all", **ROWS).fit(X)
    assert g.stability(2).searches == 4
    assert len(g.path_) >= 1
    with pytest.raises(InputError, match="P03"):
        g.of_output("setosa").stability(2)


def by_horizon(X):
    """A frame of forecasts, each with a name."""
    near, far = two_outputs(X).T
    return pd.DataFrame({"in 1 h": near, "in 6 h": far}, index=np.arange(len(near)) + 7)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_a_frame_that_the_model_returns_name_the_outputs(library):
    X = table()
    convert = {
        "pandas": pd.DataFrame,
        "polars": pl.from_pandas,
        "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    }[library]

    def model(X):
        return convert(by_horizon(X))

    g = gx.Granite(model, output="all", **ROWS).fit(X)
    unnamed = gx.Granite(two_outputs, output="all", **ROWS).fit(X)
    assert g.outputs_ == ("in 1 h", "in 6 h")
    assert "in 6 h: rows stray ±" in str(g.partition_)
    assert g.remaining_ == unnamed.remaining_
    far = gx.Granite(model, output="in 6 h", **ROWS).fit(X)
    assert far.disagreement_ == g.of_output("in 6 h").disagreement_
    with pytest.raises(ModelError, match=r"M02.*'in 1 h', 'in 6 h'"):
        gx.Granite(model, **ROWS).fit(X)
    with pytest.raises(InputError, match=r"P01.*in 1 h"):
        gx.Granite(model, output="in 2 h", **ROWS).fit(X)
    with pytest.raises(InputError, match="P01.*no names"):
        gx.Granite(two_outputs, output="in 6 h", **ROWS).fit(X)


def test_evaluate_of_several_questions_states_no_interval_of_all_beside_the_figure_of_one():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(700, 3)), columns=["a", "b", "c"])

    def product(frame):
        return frame["a"] * np.sign(frame["b"]) + frame["c"]

    several = gx.Granite(product, ["ice-pdp", "shap-pdp"], max_depth=1).fit(X)
    assert "interval" not in str(several.evaluate(X.iloc[:300])).splitlines()[0]
    one = gx.Granite(product, max_depth=1).fit(X)
    estimate = one.evaluate(X.iloc[:300]).estimate
    first = str(one.evaluate(X.iloc[:300])).splitlines()[0]
    assert ("interval" in first) == (estimate.low == estimate.low)
