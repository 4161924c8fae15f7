"""Which questions follow from sums over rows; all others keep the predictions."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.explanation.influence import Interactions, Joint
from granite_xai.explanation.masking import Conditional
from granite_xai.moments import conditional_statistics, statistics
from granite_xai.moments.questions import statistics_kind

import granite_xai as gx
import oracle as o
from problems import problem_of
from strategies import quiet

CLASSES = {
    "ice-pdp": statistics.FullAgainstPure,
    "variance": statistics.VarianceDifference,
    "sobol": statistics.TotalAgainstFirstOrder,
    "pfi-risk": statistics.SquaredRisk,
    "mplot-pdp": conditional_statistics.ConditionalAgainstMarginalMean,
    "cfi-pfi": conditional_statistics.ConditionalAgainstMarginalRisk,
    "csobol-sobol": conditional_statistics.ConditionalAgainstMarginalTotal,
}


def table(n=25):
    generator = np.random.default_rng(4)
    return np.round(generator.normal(size=(n, 3)), 1), generator.normal(size=n)


def model(X):
    return X[:, 0] * X[:, 1] + X[:, 2]


def resolved(question, **options):
    X, y = table()
    problem = problem_of(model, X, question, y=y, **options)
    (kept,), (found,) = problem.shares.comparisons, problem.statistics
    return statistics_kind(kept), found


@pytest.mark.parametrize("name", [*o.NAMED, "coe", "ale"])
def test_seven_named_questions_follow_from_sums(name):
    """One statistics a set, of the class of the question; None for what needs the predictions."""
    kind, found = resolved(name)
    assert kind is CLASSES.get(name)
    if kind is None:
        assert found is None
    else:
        assert [type(own) for own in found] == 3 * [kind]


@pytest.mark.parametrize("name", ["sobol", "variance", "pfi-risk", "cfi-pfi", "csobol-sobol"])
def test_a_gap_of_a_region_may_have_any_loss(name):
    kind, found = resolved(gx.question(name, loss="absolute"))
    assert kind is CLASSES[name]
    assert found is not None


@pytest.mark.parametrize(
    "question",
    [
        gx.question("ice-pdp", loss="absolute"),
        gx.question("mplot-pdp", loss=lambda gap: np.abs(gap) ** 1.5),
        gx.question("pfi-risk", risk_loss="absolute"),
        gx.question("pfi-risk", average="loss"),
        gx.question("cfi-pfi", pointwise=True),
        gx.question("ice-pdp").with_influence(Interactions(2)),
        gx.question("variance").with_influence(Interactions(2)),
        gx.Disagreement(
            gx.Explainer(masking=gx.Baseline("median"), interaction="full"),
            gx.Explainer(masking=gx.Baseline("median"), interaction="pure"),
        ),
        gx.Disagreement(
            gx.Explainer(masking=gx.Baseline("median"), interaction="full"),
            gx.Explainer(interaction="pure"),
        ),
        gx.Disagreement(gx.Explainer(interaction="pure"), gx.Explainer(interaction="full")),
    ],
    ids=[
        "absolute",
        "own-loss",
        "absolute-risk",
        "mean-of-losses",
        "pointwise",
        "pairs-of-columns",
        "pairs-variance",
        "baseline",
        "half-baseline",
        "turned",
    ],
)
def test_what_does_not_follow_from_sums_keeps_the_predictions(question):
    assert resolved(question) == (None, None)


@pytest.mark.parametrize("name", CLASSES)
def test_a_group_of_all_columns_keeps_the_predictions(name):
    """Nothing is hidden beside it: there is nothing to factor, and a fit must not look for it."""
    assert resolved(gx.question(name).with_influence(Joint({"all": [0, 1, 2]}))) == (None, None)
    X, y = table()
    with quiet():
        g = gx.Granite(model, name, influence="joint", groups={"all": [0, 1, 2]}).fit(X, y)
    assert len(g.partition_) == 1


def test_bins_are_those_of_what_the_conditional_side_shows():
    """The column itself for M-plots, all other columns for conditional importance; one bin is none."""
    X, y = table(60)
    X[:, 2] = np.repeat([0.0, 1.0], 30)
    mplot = problem_of(model, X, "mplot-pdp", y=y).statistics[0]
    assert mplot[2].n_bins == 2
    np.testing.assert_array_equal(mplot[2].bins, X[:, 2])
    constant = np.column_stack([X[:, :2], np.ones(60)])
    assert problem_of(model, constant, "mplot-pdp", y=y).statistics[0][2].bins is None
    exact = gx.question("cfi-pfi", conditional=Conditional("exact"))
    two = np.column_stack([X[:, 0], np.repeat([0.0, 1.0, 2.0], 20)])
    own = problem_of(lambda X: X[:, 0] * X[:, 1], two, exact, y=y).statistics[0][0]
    np.testing.assert_array_equal(own.bins, two[:, 1])  # to ask about x0, x1 is shown


def test_the_target_is_on_the_scale_of_the_predictions():
    """Predictions are kept without an offset; so is y."""
    X, y = table()
    problem = problem_of(lambda X: 1e5 + model(X), X, "pfi-risk", y=1e5 + y)
    own = problem.statistics[0][0]
    prediction = own.factors.row_part + own.factors.value_part + own.factors.interaction
    np.testing.assert_allclose(prediction - own.target, model(X) - y, atol=1e-9)
