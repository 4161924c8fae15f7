"""A fit of the new core runs from table to estimate, for every named question."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from core.by_hand import drawn, steps
from granite_xai.core.fitting.fit import Settings, fit
from granite_xai.core.search.problem import Tree

QUESTIONS = list(gx.questions())
OF_MANY_COALITIONS = ("shap-pdp", "ice-shap", "cshap-shap", "sage-risk")


def table(n):
    return pd.DataFrame(drawn(n), columns=["a", "b", "c"])


def model(X):
    return steps(np.asarray(X, dtype=float))


@pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_papers_algorithm_finds_what_todays_finds(question):
    X = table(120)
    y = model(X) + np.random.default_rng(0).normal(size=len(X))
    settings = Settings(
        question=question,
        confidence_level=None,
        tree=Tree(search="greedy", max_depth=2),
        holdout=False,
        max_samples=None,
    )
    found = fit(model, X, y, settings)
    today = gx.Granite(
        model,
        question,
        confidence_level=None,
        search="greedy",
        max_depth=2,
        resources=gx.Resources(max_grid=None),
    ).fit(X, y)
    assert found.disagreement == pytest.approx(today.disagreement_, rel=1e-10)
    assert [str(region.rule) for region in found.partition] == [
        str(region.rule) for region in today.partition_
    ]
    assert found.remaining == pytest.approx(today.remaining_, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_default_fit_estimates_what_its_regions_leave(question):
    n = 120 if question in OF_MANY_COALITIONS else 700
    X = table(n)
    y = model(X) + np.random.default_rng(0).normal(size=len(X))
    found = fit(model, X, y, Settings(question=question))
    assert 0.0 <= found.remaining <= 1.0
    assert (found.estimate is not None) == (n >= 600)
