"""Explainer: choices on the four axes, and the rows that are explained."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
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
def test_an_unknown_operator_is_refused(axis):
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


def many_features(X):
    """More players than can be explained exactly on many rows."""
    X = np.asarray(X)
    return X[:, 0] * X[:, 1] + X[:, 2:].sum(axis=1)


WIDE = pd.DataFrame(np.random.default_rng(1).normal(size=(2500, 13)).round(2)).add_prefix("x")
BUDGET = gx.Resources(max_evaluations=200_000)


def drawn(explanation):
    (part,) = explanation.parts
    return part.rows


@pytest.mark.parametrize("behavior", ["local", "risk"])
@pytest.mark.parametrize("masking", ["marginal", "conditional"])
def test_partial_effects_use_the_rows_that_are_paid_for_and_say_how_many(masking, behavior):
    asked = []

    def counted(X):
        asked.append(len(X))
        return many_features(X)

    explainer = gx.Explainer(masking, behavior, "partial")
    y = many_features(WIDE)
    with pytest.warns(gx.DataWarning, match=r"M13: \d+ of 2,500 rows were used") as told:
        explanation = explainer.explain(counted, WIDE, y, resources=BUDGET)
    n_used = int(re.search(r"M13: (\d+)", str(told[0].message))[1])
    assert f"{n_used} of 2,500 rows" in repr(explanation)
    assert sum(asked) <= 200_000 + 2500
    with pytest.raises(gx.ResourceError, match="M13"):  # one row more is not paid for
        explainer.explain(counted, WIDE, y, resources=BUDGET, max_samples=n_used + 1)


def test_rows_are_drawn_with_the_seed_and_not_by_where_they_stand():
    shap = gx.Explainer("marginal", "local", "partial")
    settings = {"resources": BUDGET, "max_samples": 40}
    rows = drawn(shap.explain(many_features, WIDE, **settings))
    assert len(rows) == 40
    again = shap.explain(many_features, WIDE, **settings)
    assert drawn(again).tolist() == rows.tolist()
    assert (
        drawn(shap.explain(many_features, WIDE, random_state=1, **settings)).tolist()
        != rows.tolist()
    )
    order = np.random.default_rng(5).permutation(len(WIDE))
    permuted = shap.explain(many_features, WIDE.iloc[order], **settings)
    assert sorted(order[drawn(permuted)]) == rows.tolist()
    # The same as if the others were not there, and with their places in the whole table.
    alone = shap.explain(many_features, WIDE.iloc[rows], resources=BUDGET)
    np.testing.assert_allclose(again.values, alone.values, atol=1e-10)
    total = again.values.sum(axis=1) + again.parts[0].base
    np.testing.assert_allclose(total, many_features(WIDE.iloc[rows]), atol=1e-9)


def test_bins_of_a_sample_are_those_among_its_rows():
    frame = WIDE.iloc[:, :3]
    cpdp = gx.Explainer("conditional", "local", "pure")
    some = cpdp.explain(many_features, frame, max_samples=200)
    alone = cpdp.explain(many_features, frame.iloc[drawn(some)])
    np.testing.assert_allclose(some.values, alone.values, atol=1e-12)
    region = np.arange(0, 2500, 5)
    inside = cpdp.explain(many_features, frame, rows=region, max_samples=200)
    assert len(drawn(inside)) == 200
    assert set(drawn(inside)) <= set(region)


def test_the_number_of_rows_is_what_the_user_asks_for():
    pdp = gx.Explainer("marginal", "local", "pure")
    assert len(drawn(pdp.explain(model, X, max_samples=25))) == 25
    assert len(drawn(pdp.explain(model, X, max_samples=1000))) == 60
    assert len(drawn(pdp.explain(model, X, max_samples=None))) == 60
    assert len(drawn(pdp.explain(model, X, rows=np.arange(30), max_samples=20))) == 20
    assert "25 of 60 rows" in repr(pdp.explain(model, X, max_samples=25))
    assert "1 region, 60 rows" in repr(pdp.explain(model, X))
    for wrong in (0, 2.5, "all"):
        with pytest.raises(InputError, match=r"P0\d"):
            pdp.explain(model, X, max_samples=wrong)


def test_partial_effects_of_too_many_players_are_refused_with_remedies_that_work():
    shap = gx.Explainer("marginal", "local", "partial")
    with pytest.raises(gx.ResourceError, match=r"2500 rows.*max_samples=.*gx.Joint") as refused:
        shap.explain(many_features, WIDE, resources=gx.Resources(max_evaluations=100))
    assert refused.value.code == "M13"
    few = {"max_samples": 40, "resources": gx.Resources(max_evaluations=20_000)}
    with pytest.raises(gx.ResourceError, match="on 40 rows"):
        shap.explain(many_features, WIDE, **few)
    groups = {name: [f"x{k}" for k in range(start, 13, 4)] for start, name in enumerate("abcd")}
    grouped = shap.with_influence(gx.Joint(groups)).explain(many_features, WIDE, **few)
    assert grouped.values.shape == (40, 4)
