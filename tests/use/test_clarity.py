"""How clearly splits won: smooth changes are told from sharp ones, and ties are known."""

import numpy as np
import pytest

import granite_xai as gx

MODELS = {
    "product": lambda X: X[:, 0] * X[:, 1],
    "bent": lambda X: X[:, 0] * np.maximum(X[:, 1], 0.0),
    "step": lambda X: X[:, 0] * np.sign(X[:, 1]),
    "step elsewhere": lambda X: X[:, 0] * np.sign(X[:, 1] - 0.6) + X[:, 2],
    "three ways": lambda X: X[:, 0] * np.sign(X[:, 1]) * np.sign(X[:, 2]),
}
SMOOTH = ("product", "bent")
FAST = {"holdout": False, "search": "greedy"}


def rows(n=300, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 4))


@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp", "coe"])
@pytest.mark.parametrize("name", MODELS)
def test_smooth_interactions_are_told_from_sharp_ones(name, question):
    """A surface leaves less than two regions where effects change smoothly, and more at a step."""
    g = gx.Granite(MODELS[name], question, max_depth=2, **FAST).fit(rows())
    is_smooth = any(split["smooth"] for split in g.diagnostics_["splits"])
    assert is_smooth == (name in SMOOTH)
    assert ("is not a threshold" in str(g.partition_)) == (name in SMOOTH)


def test_a_record_names_the_columns_that_interact_and_nearly_equal_cuts():
    """However often a pair of columns is cut."""
    g = gx.Granite(MODELS["product"], max_depth=3, **FAST).fit(rows())
    splits = g.diagnostics_["splits"]
    assert sum(split["smooth"] for split in splits) > 1
    first = splits[0]
    assert {first["column"], first["with"]} == {"x0", "x1"}
    assert all(text.startswith(first["column"]) for text in first["between"])
    assert len(first["between"]) == 2
    assert "is not a threshold" in str(g)


def test_splits_come_parents_first_and_gain_what_the_tree_says():
    """Their gains and the first plug-in figures add up to what is left."""
    g = gx.Granite(MODELS["product"], max_depth=2, **FAST).fit(rows())
    splits = g.diagnostics_["splits"]
    assert splits[0]["split"] in str(g.partition_)
    assert 1.0 - sum(split["gain"] for split in splits) == pytest.approx(g.remaining_, abs=1e-12)
    assert len(splits) == len(g.partition_) - 1


def test_ties_are_within_a_standard_error_that_shrinks_with_the_rows():
    """x0 · x1 may be cut along either column; its standard error falls with the root of the rows."""
    errors = {}
    for n in (100, 900):
        found = []
        for seed in range(4):
            g = gx.Granite(MODELS["product"], max_depth=1, max_samples=None, **FAST).fit(
                rows(n, seed)
            )
            found.append(g.diagnostics_["splits"][0])
        errors[n] = np.mean([split["standard_error"] for split in found])
    assert 2.0 < errors[100] / errors[900] < 4.5
    assert any(split["tie"] for split in found)
    sharp = gx.Granite(MODELS["step"], max_depth=1, **FAST).fit(rows())
    (split,) = sharp.diagnostics_["splits"]
    assert not split["tie"]
    assert split["plateau"] < 0.05


def test_the_standard_error_is_twice_as_large_where_both_halves_count_alike():
    """Each half then counts as a whole region, and no longer by its half of the rows."""
    found = []
    for weighting in ("mass", "uniform"):
        g = gx.Granite(
            MODELS["product"], gx.Objective("ice-pdp", weighting=weighting), max_depth=1, **FAST
        ).fit(rows())
        (split,) = g.diagnostics_["splits"]
        found.append((split["split"], split["second"], split["standard_error"]))
    (*by_mass, error), (*alike, larger) = found
    assert by_mass == alike
    assert larger == pytest.approx(2 * error, rel=0.15)


def test_the_papers_algorithm_and_questions_without_tables_say_nothing_of_smoothness():
    """Without a confidence level nothing is looked at; of risk only ties and plateaus are known."""
    X = rows()
    assert "splits" not in gx.Granite(MODELS["product"], confidence_level=None).fit(X).diagnostics_
    g = gx.Granite(MODELS["product"], "pfi-risk", **FAST).fit(X, X.sum(axis=1))
    assert not any(split["smooth"] for split in g.diagnostics_["splits"])


def test_columns_of_few_values_are_never_smooth():
    """Three values have no shape between them."""
    X = rows()
    X[:, :2] = np.round(np.clip(X[:, :2], -1, 1))
    g = gx.Granite(MODELS["product"], **FAST).fit(X)
    assert g.diagnostics_["splits"]
    assert not any(split["smooth"] for split in g.diagnostics_["splits"])


def test_a_column_that_alone_may_be_cut_ties_with_none():
    g = gx.Granite(MODELS["step"], max_depth=1, split_features=[1], **FAST).fit(rows())
    (split,) = g.diagnostics_["splits"]
    assert split["second"] is None
    assert not split["tie"]


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
