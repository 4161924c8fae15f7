"""Effects against the fitting rows of a region; against the oracle in tests/parts/test_new_rows.py."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.algebra.accumulated import Accumulated
from granite_xai.fitting.fit_result import fitted_view
from granite_xai.results.other_rows import AgainstFit, rows_by_region

RNG = np.random.default_rng(21)
X = RNG.normal(size=(300, 3))
OTHER = RNG.normal(size=(40, 3))


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


@pytest.fixture(scope="module")
def view():
    return fitted_view(gx.Granite(step, max_depth=1, random_state=1).fit(X))


def one_region(view, **changes):
    """The rows of the first region, and the result of the fit with some changes."""
    rows = view.other_rows(OTHER, None)
    region, places = next(rows_by_region(view.regions(rows.table)))
    return AgainstFit(replace(view.result, **changes), rows.take(places), region)


def without_level(view):
    return replace(view.result.settings, level=None)


def test_rows_of_a_large_region_are_compared_with_its_first_thousand(view):
    regions = np.zeros(5000, dtype=np.intp)
    assert np.array_equal(one_region(view, regions=regions).references, np.arange(1000))
    exact = one_region(view, regions=regions, settings=without_level(view))
    assert len(exact.references) == 5000


def test_errors_need_a_confidence_level(view):
    against = one_region(view)
    n_references = len(against.references)
    assert against.signs.shape[0] == n_references
    exact = one_region(view, settings=without_level(view))
    assert exact.signs.shape == (n_references, 0)


def test_a_copula_weighs_the_fitting_rows():
    """The mean of one normal column given the other: rows weigh by how likely that one is beside theirs."""
    correlation, spread = 0.9, np.sqrt(1 - 0.9**2)
    first = RNG.normal(size=900)
    second = correlation * first + spread * RNG.normal(size=900)
    side = gx.Explainer(gx.Conditional(sampler="copula"), "local", "pure", name="conditional")
    question = gx.Disagreement(side, gx.explanations()["pdp"])
    g = gx.Granite(lambda X: X[:, 1], question, max_depth=0, holdout=False, random_state=2)
    g.fit(np.column_stack([first, second]))
    asked = np.column_stack([np.linspace(-1.5, 1.5, 7), np.zeros(7)])
    weights = np.exp(-np.square((asked[:, :1] - correlation * second) / spread) / 2)
    expected = weights @ second / weights.sum(axis=1) - second.mean()
    explained = g.explain(asked)
    assert explained.of("conditional")[:, 0] == pytest.approx(expected, abs=0.1)
    assert np.all(explained.parts[0].errors[:, 0] > 0)


def test_a_full_accumulated_effect_is_the_change_of_the_row():
    """Of 10 values each interval lies between two of them."""
    table = np.column_stack([np.tile(np.arange(10.0), 12), np.repeat([-1.0, 1.0, 2.0], 40)])
    question = gx.Disagreement(
        gx.Explainer(Accumulated(), "local", "full", name="own"),
        gx.Explainer(Accumulated(), "local", "pure", name="mean"),
    )
    g = gx.Granite(lambda X: X[:, 0] ** 2 * X[:, 1], question, max_depth=0, confidence_level=None)
    g.fit(table)
    asked = np.array([[4.0, 1.0], [4.0, 2.0], [3.5, -1.0]])
    explained = g.explain(asked)
    assert explained.of("own")[:, 0] == pytest.approx([7.0, 14.0, -7.0])
    assert explained.of("mean")[:, 0] == pytest.approx(7.0 * 2 / 3)
