"""Replicates against the definition, and the rule of chance in simulations."""

from __future__ import annotations

import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from granite_xai.inference.by_sums import small_sample_factor
from granite_xai.inference.confidence import Confidence
from granite_xai.inference.replicates import Chance
from scipy.stats import binom

import granite_xai as gx
import oracle as o
from strategies import paper

NAMES = [*o.NAMED, "coe", "ale"]


@contextmanager
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gx.GraniteWarning)
        yield


def model(X):
    return X[:, 0] + X[:, 1] * X[:, 2] + np.sin(X[:, 1])


def by_rows(rows):
    return model(np.array(rows, dtype=float)).tolist()


def fitted(name, X, y, weights=None, **options):
    """A fit on all rows; the model is asked at every value, unless options say otherwise."""
    exact = gx.Resources(max_grid=None)
    how = {"max_depth": 1, "max_samples": None, "holdout": False, "resources": exact, **options}
    with quiet():
        return gx.Granite(model, name, **how).fit(X, y, sample_weight=weights)


def in_order_of_fit(run, X, y, weights=None):
    """The rows as the fit has them, for the oracle."""
    order = run.inputs.positions
    return o.Problem(by_rows, X[order], y[order], None if weights is None else weights[order])


@pytest.mark.parametrize("name", [name for name in NAMES if name != "ice-pdp"])  # in closed form
@pytest.mark.parametrize("weighted", [False, True])
def test_chance_is_what_explicit_loops_over_reweighted_rows_give(name, weighted):
    """Level, bar and corrected figures of a node, from the definition: every gap again under every line of weights.

    "ICE against PDP" has a closed form instead; there it is the replicates of the predictions that are looked at.
    """
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(24, 3)), 1)
    X[:, 2] = np.round(0.7 * X[:, 0] + 0.5 * X[:, 2], 1)
    y, weights = rng.normal(size=24), rng.uniform(0.5, 2.0, size=24) if weighted else None
    g = fitted(name, X, y, weights)
    run = vars(g)["_run"]
    drawn = Confidence(0.8, 6, 5).replicates(np.arange(24))
    rows = np.arange(2, 20)
    found = replicated(drawn, run, rows)
    asked = o.question(
        name, **({"bin_leaf": 20} if "bin_leaf" in o.Setting.__dataclass_fields__ else {})
    )
    problem = in_order_of_fit(run, X, y, weights)
    if (
        name == "ale"
    ):  # in a part of the rows, intervals end with it: cells are those of all rows here
        rows = np.arange(24)
        found = replicated(drawn, run, rows)
    wanted = o.chance(asked, problem, drawn.multipliers.tolist(), rows.tolist())
    scale = max(abs(found.plug_in[0]), 1e-9)
    assert found.chance_level[0] == pytest.approx(
        np.mean(wanted["replicates"]), rel=1e-9, abs=1e-9 * scale
    )
    assert found.bar[0] == pytest.approx(
        sorted(wanted["replicates"])[5], rel=1e-9, abs=1e-9 * scale
    )
    assert found.corrected[0] == pytest.approx(wanted["corrected"], rel=1e-8, abs=1e-8 * scale)


def replicated(drawn, run, rows):
    """What replicates say of some rows."""
    (question,) = run.inputs.comparisons
    evaluations = run.evaluations.restrict(rows)
    if question.question.label == "ice-pdp":
        return Chance(
            *(
                np.array([each])
                for each in drawn._figures_of_row_gaps(question, evaluations, rows, 1)
            )
        )
    return drawn.chance([question], evaluations, rows)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_closed_form_is_where_many_replicates_tend_to(weighted, clustered):
    """The mean of 4,000 replicates is known to a hundredth; the bar is that of infinitely many rows."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    weights = rng.uniform(0.5, 2.0, size=60) if weighted else None
    run = vars(fitted("ice-pdp", X, None, weights))["_run"]
    clusters = np.arange(60) // 3 if clustered else np.arange(60)
    drawn = Confidence(0.9, 4000, 1).replicates(clusters)
    rows = np.arange(60)
    found = drawn.chance(run.inputs.comparisons, run.evaluations, rows)
    again = replicated(drawn, run, rows)
    assert found.plug_in[0] == pytest.approx(again.plug_in[0], rel=1e-9)
    assert found.chance_level[0] == pytest.approx(again.chance_level[0], rel=0.05)
    assert found.bar[0] == pytest.approx(again.bar[0], rel=0.1)
    assert found.corrected[0] == pytest.approx(found.plug_in[0] - found.chance_level[0], rel=1e-9)


@pytest.mark.parametrize(
    "loss", ["absolute", lambda gap: np.abs(gap) ** 1.5], ids=["absolute", "own"]
)
@pytest.mark.parametrize("name", ["mplot-pdp", "pfi-risk"])
def test_other_losses_are_corrected_by_how_much_moving_the_gaps_raises_them(name, loss):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    g = fitted(gx.question(name, loss=loss), X, y)
    run, drawn = vars(g)["_run"], Confidence(0.7, 5, 1).replicates(np.arange(20))
    found = drawn.chance(run.inputs.comparisons, run.evaluations, np.arange(20))
    wanted = o.chance(
        o.question(name, loss=loss),
        in_order_of_fit(run, X, y),
        drawn.multipliers.tolist(),
        list(range(20)),
    )
    assert found.corrected[0] == pytest.approx(wanted["corrected"], rel=1e-8)
    assert found.chance_level[0] == pytest.approx(np.mean(wanted["replicates"]), rel=1e-8)


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


def test_means_of_few_rows_show_too_little_of_their_variance():
    """The variance of a weighted mean of m rows under exponential weights is (m - 1)/(m + 1) of what it should be."""
    rng = np.random.default_rng(0)
    for m in (2, 3, 8):
        values, weights = rng.normal(size=(4000, m)), rng.exponential(size=(4000, m))
        shown = np.var(
            (values * weights).sum(axis=1) / weights.sum(axis=1) - values.mean(axis=1)
        ) * small_sample_factor(m)
        assert shown == pytest.approx(1 / m, rel=0.1)


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
def test_bins_do_not_split_on_noise():
    """Independent columns: the tree behind the bins of several columns stays a stump in at least 90 of 100 cases."""
    split = 0
    for seed in range(60):
        X = np.random.default_rng(seed).normal(size=(200, 4))
        with quiet():
            g = gx.Granite(additive, "cfi-pfi", max_depth=0, max_samples=None, holdout=False).fit(
                X, X[:, 0]
            )
        split += any(not bins.single for bins in vars(g)["_run"].evaluations.bins.values())
    assert split <= binom.isf(1e-4, 60, 0.07)


def test_bins_split_where_columns_depend():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    with quiet():
        binned = gx.question("cfi-pfi", conditional=gx.Conditional(sampler="bins"))
        g = gx.Granite(additive, binned, max_depth=0, max_samples=None, holdout=False).fit(
            X, X[:, 0]
        )
    assert any(not bins.single for bins in vars(g)["_run"].evaluations.bins.values())


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
