"""How clearly splits won: where else they could lie, and which feature comes next."""

import numpy as np
import pytest

import granite_xai as gx

MODELS = {
    "product": lambda X: X[:, 0] * X[:, 1],
    "step": lambda X: X[:, 0] * np.sign(X[:, 1]),
}
FAST = {"holdout": False, "search": "greedy"}


def rows(n=300, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 4))


@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp", "coe"])
@pytest.mark.parametrize("name", ["product", "step"])
def test_a_gradual_change_has_a_wide_plateau_and_a_step_has_none(name, question):
    g = gx.Granite(MODELS[name], question, max_depth=1, **FAST).fit(rows())
    (split,) = g.diagnostics_["splits"]
    is_gradual = name == "product"
    assert (split["plateau"] > 0.1) == is_gradual
    assert all(text.startswith(split["column"]) for text in split["between"])
    assert len(split["between"]) == 2


def test_a_product_may_as_well_be_cut_along_its_other_feature():
    g = gx.Granite(MODELS["product"], max_depth=1, **FAST).fit(rows())
    (split,) = g.diagnostics_["splits"]
    assert {split["column"], split["second"].split()[0]} == {"x0", "x1"}
    assert 0.0 <= split["behind"] < 0.2 * split["gain"]


def test_splits_come_parents_first_and_gain_what_the_tree_says():
    """Their gains and the first plug-in figures add up to what is left."""
    g = gx.Granite(MODELS["product"], max_depth=2, **FAST).fit(rows())
    splits = g.diagnostics_["splits"]
    assert splits[0]["split"] in str(g.partition_)
    assert 1.0 - sum(split["gain"] for split in splits) == pytest.approx(g.remaining_, abs=1e-12)
    assert len(splits) == len(g.partition_) - 1


def test_the_papers_algorithm_says_nothing_of_other_cuts():
    assert (
        "splits"
        not in gx.Granite(MODELS["product"], confidence_level=None).fit(rows()).diagnostics_
    )


def test_a_column_that_alone_may_be_cut_has_no_runner_up():
    g = gx.Granite(MODELS["step"], max_depth=1, split_features=[1], **FAST).fit(rows())
    (split,) = g.diagnostics_["splits"]
    assert split["second"] is None
    assert split["behind"] is None


def test_the_cuts_that_would_do_lie_around_the_cut_itself():
    """The refined search cuts between the quantiles, which so do not hold its cut."""
    X = np.random.default_rng(0).normal(size=(2000, 5))
    g = gx.Granite(lambda X: 3 * X[:, 3] * (X[:, 2] > 0) * (X[:, 1] > 0.3)).fit(X)
    for split in g.diagnostics_["splits"]:
        first, last = [float(text.rpartition(" ")[2]) for text in split["between"]]
        assert first <= float(split["split"].rpartition(" ")[2]) <= last


def test_cuts_beyond_one_that_costs_more_are_not_said_to_do():
    """Cuts at -1 and at 1 do equally well, and none between them."""
    half = rows(n=600)
    X = np.concatenate([half, half * [1, -1, 1, 1]])
    options = {"max_depth": 1, "split_features": [1], **FAST}
    g = gx.Granite(lambda X: X[:, 0] * np.sign(np.abs(X[:, 1]) - 1.0), **options).fit(X)
    (split,) = g.diagnostics_["splits"]
    first, last = [float(text.rpartition(" ")[2]) for text in split["between"]]
    assert last - first < 0.5
