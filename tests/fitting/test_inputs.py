"""From options and a table to the inputs of a fit."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from granite_xai.fitting.inputs import collected_for, open_inputs, read_rows_of
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import granite_xai as gx
from granite_xai.base.errors import Diagnostics
from granite_xai.evaluations.pilot import CELLS

X = pd.DataFrame(np.random.default_rng(1).normal(size=(200, 3)), columns=["a", "b", "c"])
EVERY_ROW = np.arange(200)


def product(frame):
    return (frame["a"] * frame["b"]).to_numpy()


def opened_for(frame=X, y=None, weights=None, clusters=None, model=product, **options):
    return open_inputs(gx.Granite(model, **options), frame, y, weights, clusters, Diagnostics())


def test_the_inputs_are_about_the_rows_that_are_resolved():
    opened = opened_for(weights=np.arange(200.0))
    places = np.array([3, 50, 120])
    inputs = opened.resolve(places, Diagnostics())
    positions = opened.rows.positions[places]
    assert np.array_equal(inputs.positions, positions)
    assert np.array_equal(inputs.weights, positions.astype(float))
    assert np.array_equal(inputs.table.native["a"], X["a"].to_numpy()[positions])


@pytest.mark.parametrize(
    ("options", "values", "cells"),
    [
        ({}, None, CELLS),
        ({"resources": gx.Resources(max_grid=8)}, None, 8),
        ({"resources": gx.Resources(max_grid=None)}, None, None),
        ({"confidence_level": None}, None, None),
        ({"confidence_level": None, "resources": gx.Resources(max_grid=8)}, 8, None),
        ({"question": "shap-pdp"}, None, None),
    ],
)
def test_a_pilot_chooses_values_for_effects_of_single_columns_only(options, values, cells):
    inputs = opened_for(**options).resolve(EVERY_ROW, Diagnostics())
    assert (inputs.values, inputs.n_pilot_values) == (values, cells)


def test_questions_of_all_outputs_stand_output_by_output():
    iris, species = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(iris, species)
    opened = opened_for(iris, model=tree, output="all", question={"ice-pdp": 2.0, "sobol": 1.0})
    inputs = opened.resolve(np.arange(150), Diagnostics())
    labels = [comparison.question.label for comparison in inputs.comparisons]
    assert labels == [f"{label} of {k}" for k in range(3) for label in ("ice-pdp", "sobol")]
    assert [comparison.output for comparison in inputs.comparisons] == [0, 0, 1, 1, 2, 2]
    assert inputs.question_weights == (2.0, 1.0) * 3


def test_constant_columns_are_on_record():
    record = Diagnostics()
    opened_for(X.assign(c=1.0)).resolve(EVERY_ROW, record)
    assert record.as_dict()["constant_columns"] == ["c"]
    assert record.as_dict()["candidates"] == {"a": 0, "b": 0, "c": 0}


def test_the_budget_is_not_asked_twice():
    limits = gx.Resources(max_evaluations=50_000)
    counted = opened_for(resources=limits).resolve(EVERY_ROW, Diagnostics())
    explicit = opened_for(resources=limits, max_samples=100).resolve(EVERY_ROW, Diagnostics())
    assert counted.resources.max_evaluations is None
    assert explicit.resources.max_evaluations == 50_000


@pytest.mark.parametrize(
    ("holdout", "code"),
    [((X, None), "P03"), ((X.sample(frac=1, random_state=0), None), "P03"), ((X[:9], None), "P02")],
)
def test_held_out_rows_must_be_other_ones_and_enough(holdout, code):
    with pytest.raises(gx.InputError) as caught:
        opened_for(X[20:] if code == "P02" else X, holdout=holdout)
    assert (caught.value.code, caught.value.argument) == (code, "holdout")


def test_held_out_rows_of_the_user_are_read_with_their_clusters():
    others = X + 1.0
    opened = opened_for(holdout=(others, None, np.arange(200) // 2))
    assert opened.options.holdout is False
    assert opened.given_holdout.table.n_rows == 200
    assert opened.given_holdout.clusters.max() == 99


def test_D47_held_out_rows_without_clusters_are_warned_about():
    with pytest.warns(gx.DataWarning, match="D47"):
        opened_for(clusters=np.arange(200) // 2, holdout=(X + 1.0, None))


@pytest.mark.parametrize(
    ("share", "n_rows", "hint"),
    [(0.1, 200, "holdout=0.15 or more"), (0.9, 20, "holdout=False, or more rows")],
)
def test_a_share_that_holds_out_too_few_rows_is_refused_with_one_that_does(share, n_rows, hint):
    with pytest.raises(gx.InputError, match="P02") as caught:
        opened_for(X[:n_rows], holdout=share)
    assert hint in caught.value.hint


def test_the_share_that_a_refusal_names_is_accepted():
    opened_for(holdout=0.15)


def test_tables_in_memory_are_passed_on():
    g = gx.Granite(product)
    y = np.zeros(200)
    assert collected_for(g, X, y, None)[0] is X
    assert collected_for(g, X, y, None)[1] is y


def test_a_lazy_table_is_drawn_twice_as_large_as_the_search():
    pl = pytest.importorskip("polars")
    lazy = pl.DataFrame({"a": np.arange(500.0), "b": np.arange(500.0)}).lazy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = collected_for(gx.Granite(product, max_samples=40), lazy, None, None)[0]
    assert len(frame) == 80


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(3)])
@pytest.mark.parametrize("explains", [False, True])
def test_the_seed_on_record_repeats_the_draw_of_a_lazy_table(random_state, explains):
    pl = pytest.importorskip("polars")
    lazy = pl.DataFrame(X.to_numpy(), schema=list(X.columns)).lazy()

    def fitted(seed):
        options = {"max_samples": 40, "random_state": seed}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if explains:
                return gx.explain(product, lazy, **options).granite
            return gx.Granite(product, **options).fit(lazy)

    g = fitted(random_state)
    again = fitted(g.diagnostics_["seed"])
    assert again.diagnostics_["seed"] == g.diagnostics_["seed"]
    assert again.disagreement_ == g.disagreement_


def test_columns_that_options_name_are_read():
    texts = X.assign(t=[f"row {i}" for i in range(200)])
    named = read_rows_of(gx.Granite(product, split_features=["t"]), texts)
    with pytest.warns(gx.DataWarning, match="D11"):
        unnamed = read_rows_of(gx.Granite(product), texts)
    assert named.names.index("t") in named.explained
    assert unnamed.names.index("t") not in unnamed.explained
