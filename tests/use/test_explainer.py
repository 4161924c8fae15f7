"""Explainer: choices on the four axes, and the rows that are explained."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai import InputError

X = np.random.default_rng(0).normal(size=(60, 3))


def model(X):
    return X[:, 0] * X[:, 1] + 5.0


def test_operators_are_chosen_by_name():
    explainer = gx.Explainer("conditional", "risk", "partial", "interaction")
    assert explainer == gx.Explainer(gx.Conditional(), gx.Risk(), gx.Partial(), gx.Interactions())
    assert explainer.with_influence(gx.Individual()).influence == gx.Individual()


@pytest.mark.parametrize("axis", ["masking", "behavior", "interaction", "influence"])
def test_P01_an_unknown_operator_is_refused(axis):
    with pytest.raises(InputError) as refused:
        gx.Explainer(**{axis: "nothing"})
    assert refused.value.code == "P01"
    assert refused.value.argument == axis


def test_rows_of_a_region_are_explained_among_themselves():
    rows = np.arange(0, 60, 2)
    explanation = gx.Explainer("marginal", "local", "pure").explain(model, X, rows=rows)
    (part,) = explanation.parts
    assert part.rows.tolist() == rows.tolist()
    alone = gx.Explainer("marginal", "local", "pure").explain(model, X[rows])
    np.testing.assert_allclose(explanation.values, alone.values, atol=1e-12)
    np.testing.assert_allclose(part.base, model(X[rows]).mean(), atol=1e-12)


def test_effects_of_a_prediction_keep_its_level():
    effects = gx.Explainer("marginal", "local", "partial").explain(model, X)
    total = effects.values.sum(axis=1) + effects.parts[0].base
    np.testing.assert_allclose(total, model(X), atol=1e-10)
