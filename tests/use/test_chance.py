"""Regions are not found in noise, and what a fit says of chance."""

from __future__ import annotations

import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.stats import binom

import granite_xai as gx
from strategies import paper
from use.random_models import random_model, random_table


@contextmanager
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gx.GraniteWarning)
        yield


def model(X):
    return X[:, 0] + X[:, 1] * X[:, 2] + np.sin(X[:, 1])


def fitted(name, X, y, weights=None, **options):
    """A fit on all rows; the model is asked at every value, unless options say otherwise."""
    exact = gx.Resources(max_grid=None)
    how = {"max_depth": 1, "max_samples": None, "holdout": False, "resources": exact, **options}
    with quiet():
        return gx.Granite(model, name, **how).fit(X, y, sample_weight=weights)


def test_replicates_are_the_same_for_any_number_of_jobs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    found = [fitted("mplot-pdp", X, None, n_jobs=jobs).diagnostics_["chance"] for jobs in (1, 2)]
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["ice-pdp", "cfi-pfi"])
def test_replicates_are_the_same_for_any_memory_and_batch(name):
    rng = np.random.default_rng(0)
    X, y = np.round(rng.normal(size=(150, 3)), 1), rng.normal(size=150)
    limits = [None, gx.Resources(memory_limit=2**22), gx.Resources(batch_size=7)]
    found = [fitted(name, X, y, resources=each).diagnostics_["chance"][name] for each in limits]
    for other in found[1:]:
        assert other == pytest.approx(found[0], rel=1e-12)


@pytest.mark.parametrize("name", ["ice-pdp", "cfi-pfi", "sobol"])
def test_replicates_ask_the_model_nothing(name):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.normal(size=120)
    asked = [
        fitted(name, X, y, confidence_level=level).diagnostics_["model"]["rows"]
        for level in (0.95, None)
    ]
    assert asked[0] == asked[1]


def additive(X):
    return X[:, 0] + np.sin(X[:, 1]) + X[:, 2] ** 2


@pytest.mark.parametrize(
    "name", ["pfi-risk", "variance", "cfi-pfi", "cice-mplot", "csobol-sobol", "mplot-pdp"]
)
def test_an_additive_model_on_independent_columns_has_one_region(name):
    """40 samples of 120 rows: false regions in 5 of 100 samples at most; 9 of 40 happen once in 10,000 such tests."""
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(120, 3))
        with quiet():
            g = gx.Granite(additive, name).fit(X, additive(X) + rng.normal(size=120))
        found += len(g.partition_) > 1
    assert found <= binom.isf(1e-4, 40, 0.07)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pfi-risk", "cfi-pfi", "csobol-sobol", "variance"])
def test_the_paper_s_algorithm_finds_regions_in_the_same_noise(name):
    """So that the test above can fail: without the rule of chance most samples have regions."""
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(120, 3))
        with quiet():
            g = paper(additive, name).fit(X, additive(X) + rng.normal(size=120))
        found += len(g.partition_) > 1
    assert found >= 5


def test_rows_that_show_no_more_than_chance_are_said_to():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3))
    y = additive(X) + rng.normal(size=120)
    g = gx.Granite(additive, "pfi-risk").fit(X, y)
    assert [region.stop_reason for region in g.partition_] == ["no more than chance"]
    assert g.disagreement_ > 0
    assert g.remaining_ == 1.0
    assert np.isnan(g.estimate_.remaining)
    assert "differ by sampling noise only on 120 rows" in str(g.partition_)
    assert np.isnan(g.evaluate(X, y).remaining)


def test_an_additive_model_leaves_nothing_on_other_rows_either():
    """The noise floor holds in evaluate as in fit."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3))
    for options in ({}, {"confidence_level": None}):
        g = gx.Granite(additive, "ice-pdp", **options).fit(X)
        assert (g.remaining_, g.evaluate(X[:60]).remaining) == (0.0, 0.0)


@pytest.mark.slow
def test_a_constant_column_has_no_conditional_effect():
    """Bins of some columns are those of the ones that vary: C9 would otherwise change from tenths to a tree."""
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=(80, 2)), np.full(80, 3.0)])
    with quiet():
        explained = gx.explanations()["cshap"].explain(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X)
    np.testing.assert_allclose(explained.values[:, 2], 0.0, atol=1e-12)


def test_a_repeated_set_counts_once():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    triple = lambda X: X[:, 0] * X[:, 1] * X[:, 2]  # noqa: E731
    fits = [
        gx.Granite(triple, "ice-pdp", influence="interaction", features=features, max_depth=0)
        .fit(X)
        .disagreement_
        for features in ([("x0", "x1")], [("x0", "x1"), ("x1", "x0")])
    ]
    assert fits[0] == fits[1] > 0
    groups = {"both": ["x0", "x1"]}
    joint = [
        gx.Granite(triple, influence="joint", groups=groups, features=features, max_depth=0)
        .fit(X)
        .disagreement_
        for features in (["both"], ["both", "both"])
    ]
    assert joint[0] == joint[1] > 0


@pytest.mark.parametrize("name", ["mplot-pdp", "pfi-risk"])
def test_five_clusters_hardly_ever_show_regions_in_noise(name):
    """Of 30 samples of an additive model whose first column is alike inside clusters, at level 95 %."""
    with_regions = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        clusters = np.arange(150) % 5
        X = rng.normal(size=(150, 3))
        X[:, 0] += rng.normal(size=5)[clusters]
        y = X @ [1.0, 0.5, 0.25] + rng.normal(size=150)
        model = lambda X: X @ [1.0, 0.5, 0.25] + np.sin(2 * X[:, 0])  # noqa: E731
        g = gx.Granite(model, name, max_depth=1, n_jobs=1).fit(X, y, clusters=clusters)
        with_regions += len(g.partition_) > 1
    assert with_regions <= 3


def test_the_bar_of_a_fit_is_that_of_its_level():
    """The same signs for any level, and about the same bar for other signs."""
    generator = np.random.default_rng(0)
    X = random_table(generator, 100)
    model = random_model(generator)
    bars = []
    for level, seed in [(0.95, 0), (0.95, 0), (0.95, 1), (0.8, 0)]:
        options = {"max_samples": None, "holdout": False, "random_state": seed}
        with quiet():
            g = gx.Granite(model, confidence_level=level, **options).fit(X)
        bars.append(g.diagnostics_["chance"]["ice-pdp"]["bar"])
    assert bars[0] == bars[1] > bars[3]
    assert bars[2] == pytest.approx(bars[0], rel=0.25)


@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp", "sobol"])
def test_M09_answers_that_depend_on_the_length_of_the_batch_or_change_are_noticed_in_every_fit(
    question,
):
    """The probes send 64 rows and fewer; the diagonal of every matrix shows what longer batches bring."""
    rows = np.random.default_rng(0).normal(size=(60, 3))

    def doubled(Z):
        return Z[:, 0] * Z[:, 1] * (2.0 if len(Z) > 150 else 1.0)

    with pytest.warns(
        gx.ModelWarning, match=r"M09: the model's answers for the same rows differ by up to \d"
    ):
        fitted = paper(doubled, question).fit(rows)
    assert fitted.disagreement_ == 0.0
    assert any(text.startswith("M09") for text in fitted.diagnostics_["warnings"])


def test_M09_a_model_that_changes_during_the_fit_is_noticed():
    rows = np.random.default_rng(0).normal(size=(60, 3))
    calls = []

    def drifting(Z):
        calls.append(len(Z))
        return Z[:, 0] * Z[:, 1] + (1.0 if len(calls) > 6 else 0.0)

    with pytest.warns(gx.ModelWarning, match="M09"):
        paper(drifting).fit(rows)


def test_the_diagonal_on_a_grid_is_compared_where_rows_carry_grid_values():
    rows = np.random.default_rng(0).normal(size=(200, 3))
    fitted = paper(lambda Z: Z[:, 0] * Z[:, 1], resources=gx.Resources(max_grid=8)).fit(rows)
    assert 0.1 < fitted.disagreement_ < 3.0


def test_N10_a_floor_that_hides_more_than_rounding_says_so():
    """Single precision far from zero: the floor is as large as what is there."""
    rows = np.random.default_rng(0).normal(size=(80, 3))

    def far(Z):
        return (30 * Z[:, 0] * Z[:, 1] + 1e5).astype(np.float32)

    told = {}
    for factor in (1.0, 1e-2, 1e-3):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted = paper(
                lambda Z, factor=factor: (far(Z) - 1e5) * factor + np.float32(1e5), "ice-pdp"
            ).fit(rows)
        found = fitted.diagnostics_
        root, least = found["measured_disagreement"]["ice-pdp"], found["noise_floor"]["ice-pdp"]
        told[factor] = any(str(entry.message).startswith("N10: ice-pdp") for entry in caught)
        assert told[factor] == (0.05 * least < root <= least)
    assert any(told.values())
    assert not all(told.values())
