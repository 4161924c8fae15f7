"""What treelite has read, field by field."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.trees.refusal import RefusalError
from granite_xai.trees.treelite_arrays import read_treelite
from trees.tree_models import LABELS, LGB, XGB, X, Y, lightgbm, xgboost

treelite = pytest.importorskip("treelite")


def of_xgboost(model, **options):
    return read_treelite(treelite.frontend.from_xgboost(model.get_booster()), **options)


def test_a_regression_has_one_output_and_all_its_trees():
    found = of_xgboost(xgboost.XGBRegressor(**XGB).fit(X, Y))
    assert (found.n_outputs, found.n_features, found.link) == (1, 4, "identity")
    assert len(found.trees_of(0)) == XGB["n_estimators"]
    assert not found.average


def test_every_class_has_its_own_trees():
    found = of_xgboost(xgboost.XGBClassifier(**XGB).fit(X, LABELS))
    assert (found.n_outputs, found.link) == (3, "softmax")
    first, second = (found.trees_of(output)[0] for output in (0, 1))
    assert len(found.trees_of(2)) == XGB["n_estimators"]
    assert not np.array_equal(first.value, second.value)


def test_only_trees_in_use_are_read_and_never_more_than_there_are():
    model = xgboost.XGBRegressor(**XGB).fit(X, Y)
    assert len(of_xgboost(model, n_trees=5).trees_of(0)) == 5
    with pytest.raises(RefusalError, match="13 trees are in use, 12 were read") as caught:
        of_xgboost(model, n_trees=13)
    assert caught.value.code == "M24"


def test_xgboost_compares_by_less_and_lightgbm_by_at_most():
    xgb_tree = of_xgboost(xgboost.XGBRegressor(**XGB).fit(X, Y)).trees_of(0)[0]
    booster = lightgbm.LGBMRegressor(**LGB).fit(X, Y).booster_
    lgb_tree = read_treelite(treelite.frontend.from_lightgbm(booster)).trees_of(0)[0]
    assert xgb_tree.strict[xgb_tree.feature >= 0].all()
    assert not lgb_tree.strict[lgb_tree.feature >= 0].any()


def test_forests_are_averaged():
    model = lightgbm.LGBMRegressor(**LGB, boosting_type="rf", bagging_freq=1, bagging_fraction=0.7)
    booster = model.fit(X, Y).booster_
    assert read_treelite(treelite.frontend.from_lightgbm(booster)).average
