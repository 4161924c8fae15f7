"""How many rows a fit uses."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from granite_xai.fitting.cost import cost_of_fit
from granite_xai.fitting.inputs import open_inputs
from granite_xai.fitting.row_choice import choose_rows, few_rows_notice

import granite_xai as gx
from granite_xai.base.errors import Diagnostics

LARGE = np.random.default_rng(0).normal(size=(30_000, 25))
SMALL = LARGE[:500, :3]


def product(X):
    return X[:, 0] * X[:, 1]


def opened_for(X, clusters=None, y=None, **options):
    return open_inputs(gx.Granite(product, **options), X, y, None, clusters, Diagnostics())


def used(choice):
    return len(choice.search_rows) + len(choice.held_out_rows)


def model_rows(opened):
    """What the chosen rows cost, as it is known before the model is asked."""
    choice = choose_rows(opened)
    inputs = opened.resolve(choice.search_rows, Diagnostics())
    return cost_of_fit(inputs, len(choice.held_out_rows)).model_rows


def test_without_a_confidence_level_all_rows_search():
    choice = choose_rows(opened_for(SMALL, confidence_level=None))
    assert np.array_equal(choice.search_rows, np.arange(500))
    assert len(choice.held_out_rows) == 0


def test_without_a_confidence_level_max_samples_are_drawn():
    choice = choose_rows(opened_for(SMALL, confidence_level=None, max_samples=100))
    assert len(np.unique(choice.search_rows)) == 100
    assert len(choice.held_out_rows) == 0


def test_rows_that_search_are_not_held_out():
    choice = choose_rows(opened_for(LARGE[:2000, :3]))
    assert not set(choice.search_rows) & set(choice.held_out_rows)
    assert used(choice) == 2000


def test_a_share_is_held_out():
    choice = choose_rows(opened_for(SMALL, holdout=0.4))
    assert len(choice.held_out_rows) == 200
    assert len(choice.search_rows) == 300


@pytest.mark.parametrize("budget", [None, 300_000, 3_000_000])
def test_the_budget_pays_for_the_rows_and_for_hardly_any_more(budget):
    opened = opened_for(LARGE, resources=gx.Resources(max_evaluations=budget))
    cost = model_rows(opened)
    assert cost <= opened.budget
    assert cost > 0.98 * opened.budget


def test_whole_clusters_are_paid_for():
    clusters = np.arange(30_000) // 300
    opened = opened_for(LARGE, clusters, resources=gx.Resources(max_evaluations=3_000_000))
    assert model_rows(opened) <= opened.budget
    search = choose_rows(opened).search_rows
    sizes = np.bincount(opened.rows.clusters[search])
    assert set(sizes[sizes > 0]) == {300}


def test_effects_of_pairs_of_rows_search_on_the_most_that_is_paid_for():
    shapley = choose_rows(opened_for(LARGE[:, :3], question="shap-pdp"))
    assert len(shapley.search_rows) in (1000, 500, 250)


def test_few_of_many_rows_are_said_with_a_budget_that_uses_more():
    opened = opened_for(LARGE)
    choice = choose_rows(opened)
    notice = few_rows_notice(opened, choice)
    assert notice.startswith(f"M13: {used(choice):,} of 30,000 rows were used. More rows give")
    budget, n_rows = re.search(r"max_evaluations=([\d_]+)\) uses ([\d,]+)\.", notice).groups()
    larger = opened_for(LARGE, resources=gx.Resources(max_evaluations=int(budget)))
    assert used(choose_rows(larger)) == int(n_rows.replace(",", ""))
    assert int(n_rows.replace(",", "")) > 2 * used(choice)


@pytest.mark.parametrize(
    "options",
    [
        {"max_samples": 1000},
        {"confidence_level": None, "max_samples": 1000},
        {"resources": gx.Resources(max_evaluations=1_000_000)},
    ],
)
def test_who_decides_on_the_rows_is_not_told_that_they_are_few(options):
    opened = opened_for(LARGE, **options)
    assert few_rows_notice(opened, choose_rows(opened)) is None


def test_most_of_the_rows_are_not_few():
    opened = opened_for(LARGE[:5000])
    assert few_rows_notice(opened, choose_rows(opened)) is None


def test_a_budget_that_uses_no_more_rows_is_not_offered():
    opened = opened_for(LARGE)
    tight = replace(opened.options.resources, memory_limit=2_000_000)
    opened = replace(opened, options=replace(opened.options, resources=tight))
    notice = few_rows_notice(opened, choose_rows(opened))
    assert notice.endswith("narrower intervals.")
