"""Numbers far from one, ties, sums that cancel, losses that misbehave (N02 to N07, T07, T09, D42)."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.base.errors import InputError
from strategies import paper

rng = np.random.default_rng(3)
X = rng.normal(size=(80, 3))
NOISE = rng.normal(size=80)


def function(X):
    return X[:, 0] * np.sign(X[:, 1]) + 0.3 * X[:, 2]


Y = function(X) + 0.1 * NOISE


@pytest.fixture(autouse=True)
def loud():
    """Whatever NumPy complains about is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", gx.BinWarning)
        yield


def shape(g):
    return [(str(region.rule), region.n_samples, region.stop_reason) for region in g.partition_]


# N02: unit and offset -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question", ["ice-pdp", "shap-pdp", "mplot-pdp", "sobol", "pfi-risk", "ale"]
)
@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_an_offset_of_1e8_standard_deviations_changes_no_rule(question, offset):
    plain = paper(function, question).fit(X, Y)
    moved = paper(lambda X: function(X) / np.std(Y) + offset, question).fit(
        X, Y / np.std(Y) + offset
    )
    assert len(plain.partition_) > 1
    assert shape(moved) == shape(plain)
    assert moved.remaining_ == pytest.approx(plain.remaining_, abs=1e-6)


@pytest.mark.parametrize("question", ["ice-pdp", "cshap-shap", "sobol", "pfi-risk"])
@pytest.mark.parametrize("factor", [-1.0, 1e-60, 1e60])
def test_a_factor_changes_no_rule(question, factor):
    plain = paper(function, question).fit(X, Y)
    scaled = paper(lambda X: factor * function(X), question).fit(X, factor * Y)
    assert shape(scaled) == shape(plain)
    assert scaled.remaining_ == pytest.approx(plain.remaining_, rel=1e-9)


# N03: ties ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_of_equal_columns_the_first_is_split(order):
    twins = np.c_[X[:, 0], X[:, 1], X[:, 1]][:, order]
    value, first = order.index(0), min(order.index(1), order.index(2))
    g = paper(
        lambda X: X[:, value] * (np.sign(X[:, first]) + np.sign(X[:, 3 - value - first]))
    ).fit(twins)
    assert {split for rule in g.partition_.rules for split, _ in rule.conditions} == {f"x{first}"}


def test_of_thresholds_that_are_equally_good_the_smallest_is_taken():
    grid = np.array(list(itertools.product([-1.0, 1.0], [-1.0, 0.0, 1.0])) * 10)
    options = {"max_depth": 1, "min_samples_leaf": 5, "split_features": ["x1"]}
    for sign in (1.0, -1.0):
        g = paper(lambda X, sign=sign: sign * X[:, 0] * X[:, 1], **options).fit(grid)
        assert [region.n_samples for region in g.partition_] == [20, 40]
        assert g.partition_.rules[0].contains(grid).tolist() == (grid[:, 1] == -1).tolist()


# N05: sums that cancel ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8, -1e12])
def test_variances_are_never_negative_and_keep_their_digits(offset):
    variance = gx.Explainer("marginal", "sensitivity", "pure")
    values = NOISE + offset
    found = variance.explain(lambda X: X[:, 0] + offset, NOISE[:, None]).values[0]
    assert found == pytest.approx(np.var(values - values.mean()), rel=1e-12)
    nearly = variance.explain(lambda X: offset + 1e-9 * np.sign(X[:, 0]), NOISE[:, None]).values[0]
    assert nearly >= 0.0


@pytest.mark.parametrize("question", ["sobol", "variance"])
def test_variances_of_a_prediction_far_from_zero_keep_their_digits(question):
    """One pass over values at 1e8 standard deviations would have none left."""
    near = paper(function, question).fit(X)
    far = paper(lambda X: function(X) + 1e8, question).fit(X)
    assert far.disagreement_ == pytest.approx(near.disagreement_, rel=1e-5)
    assert far.fidelity_ == pytest.approx(near.fidelity_, rel=1e-5)
    assert 0.0 <= far.remaining_ <= 1.0


# N06: overflow --------------------------------------------------------------------------------------------------------


def test_a_loss_of_ones_own_whose_squares_overflow_is_refused():
    question = gx.question("pfi-risk", risk_loss=lambda prediction, y: (prediction - y) ** 4)
    with pytest.raises(InputError, match="too large to be a number; predictions reach") as caught:
        paper(lambda X: 1e60 * function(X), question).fit(X, 1e60 * Y)
    assert (caught.value.code, caught.value.argument) == ("N06", "model")
    assert caught.value.hint == "Rescale the predictions."


def test_other_rows_with_huge_predictions_are_refused_too():
    g = paper(lambda X: X[:, 0] * np.sign(X[:, 1])).fit(X)
    huge = X * [1e200, 1.0, 1.0]
    for ask in (g.evaluate, g.explain):
        with pytest.raises(InputError, match="N06"):
            ask(huge)


def test_columns_of_denormal_numbers_are_split_or_not_without_a_warning():
    tiny = X * 1e-310
    g = paper(lambda X: np.sign(X[:, 0]) * np.sign(X[:, 1])).fit(tiny)
    assert np.bincount(g.apply(tiny)).min() >= 20
    assert g.remaining_ == pytest.approx(0.0, abs=1e-12)


# T07 and T09: losses and targets --------------------------------------------------------------------------------------

WRONG = {
    "a wrong shape": lambda difference: np.zeros(3),
    "one number": lambda difference: 1.0,
    "no numbers": lambda difference: difference * np.nan,
    "negative numbers": lambda difference: -np.abs(difference) - 1.0,
    "infinite numbers": lambda difference: np.full(difference.shape, np.inf),
}


@pytest.mark.parametrize("loss", WRONG.values(), ids=WRONG)
def test_a_loss_between_explanations_is_checked(loss):
    with pytest.raises(InputError, match="the loss returned") as caught:
        paper(function, gx.question("ice-pdp", loss=loss)).fit(X)
    assert (caught.value.code, caught.value.argument) == ("T07", "loss")


@pytest.mark.parametrize("question", ["pfi-risk", "sage-risk", "cfi-pfi"])
@pytest.mark.parametrize(
    "loss", [*WRONG.values(), lambda difference: np.full(difference.shape, "a")]
)
def test_a_loss_of_predictions_is_checked(loss, question):
    with pytest.raises(InputError, match="the loss returned") as caught:
        paper(function, gx.question(question, risk_loss=lambda p, y: loss(p - y))).fit(X, Y)
    assert (caught.value.code, caught.value.argument) == ("T07", "risk_loss")


def test_a_loss_that_writes_into_its_input_does_no_harm():
    def risk(prediction, y):
        losses = np.abs(prediction - y)
        prediction[...] = y[...] = 0.0
        return losses

    def gap(gaps):
        losses = np.abs(gaps)
        gaps[...] = 0.0
        return losses

    for name, option, wild, tame in (
        ("pfi-risk", "risk_loss", risk, "absolute"),
        ("ice-pdp", "loss", gap, "absolute"),
    ):
        found = paper(function, gx.question(name, **{option: wild})).fit(X, Y)
        expected = paper(function, gx.question(name, **{option: tame})).fit(X, Y)
        assert shape(found) == shape(expected)
        assert found.disagreement_ == pytest.approx(expected.disagreement_, rel=1e-9)


@pytest.mark.parametrize("question", ["pfi-risk", "sage-risk", "cfi-pfi"])
def test_a_constant_target_is_a_target(question):
    g = paper(function, question).fit(X, np.zeros(80))
    assert np.isfinite([g.disagreement_, g.remaining_]).all()
    unused = g.explain(X, np.zeros(80))
    assert all(np.isfinite(unused.of(name)).all() for name in unused.names)


@pytest.mark.parametrize("question", ["pfi-risk", "sage-risk"])
def test_a_single_class_has_its_risk(question):
    """The model of one column: effects of the others on its risk are zero, in every region."""
    from sklearn.linear_model import LogisticRegression

    labels = (X[:, 0] > 0).astype(int)
    model = LogisticRegression().fit(X * [1.0, 0.0, 0.0], labels)
    one_class = np.ones(80, dtype=int)
    g = paper(model, question).fit(X, one_class)
    explanation = g.explain(X, one_class)
    for name in explanation.names:
        assert np.isfinite(explanation.of(name)).all()
        np.testing.assert_allclose(np.atleast_2d(explanation.of(name))[..., 1:], 0.0, atol=1e-12)


# D42: groups ----------------------------------------------------------------------------------------------------------


def test_rules_use_the_members_of_a_group():
    groups = {"both": [1, 2]}
    g = paper(function, influence="joint", groups=groups).fit(X)
    columns = {name for rule in g.partition_.rules for name, _ in rule.conditions}
    assert columns
    assert columns <= {"x0", "x1", "x2"}
    only = paper(function, influence="joint", groups=groups, split_features=["x1"]).fit(X)
    assert {name for rule in only.partition_.rules for name, _ in rule.conditions} == {"x1"}


# M28: many rows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["function", "trees"])
def test_more_pairs_of_rows_and_columns_than_32_bits_count(kind):
    """15 000 rows and 10 columns have 2.25e9 cells of recombined rows: as many copies of 30 rows are those 30 rows."""
    generator = np.random.default_rng(0)
    few = generator.integers(0, 3, size=(30, 10)).astype(float)
    many = np.tile(few, (500, 1))
    assert len(many) ** 2 * many.shape[1] > 2**31
    model = lambda X: X[:, 0] * (X[:, 1] > 0) + X[:, 2] * X[:, 3]  # noqa: E731
    if kind == "trees":
        from sklearn.ensemble import RandomForestRegressor

        model = RandomForestRegressor(5, random_state=0).fit(few, model(few))
    wanted = paper(model, min_samples_leaf=2, max_depth=1).fit(few)
    found = paper(model, min_samples_leaf=1000, max_depth=1).fit(many)
    assert len(found.partition_) > 1
    assert found.partition_.rules == wanted.partition_.rules
    assert found.disagreement_ == pytest.approx(wanted.disagreement_, rel=1e-12)
    assert found.remaining_ == pytest.approx(wanted.remaining_, rel=1e-10)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 / 7, 1e-69])
@pytest.mark.parametrize("question", ["ice-pdp", "sobol", "pfi-risk", "cfi-pfi"])
def test_a_constant_model_is_no_reason_to_warn(value, question):
    """Equal predictions differ from their mean by rounding, whose squares hide nothing; warnings are errors here."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    g = gx.Granite(lambda X: np.full(len(X), value), question, max_samples=100).fit(
        X, X.sum(axis=1)
    )
    assert g.disagreement_ == 0
    assert len(g.partition_) == 1


def test_integers_that_float64_cannot_hold_are_blamed_and_not_the_model():
    rng = np.random.default_rng(0)
    key = (2**60 + rng.integers(0, 2**20, 300)).astype(np.int64)
    X = pd.DataFrame({"key": key, "a": rng.normal(size=300)})
    exact = gx.Resources(max_grid=None)  # every row is compared with the rows that share its value
    granite = gx.Granite(
        lambda X: X["key"].to_numpy() % 7 * X["a"].to_numpy(), max_depth=1, resources=exact
    )
    with pytest.warns(gx.DataWarning, match="D20: .*float64 cannot hold") as caught:
        granite.fit(X)
    texts = [str(warning.message) for warning in caught]
    assert len(texts) == 2
    assert texts[0].startswith("D20: X column 'key' (index 0) holds integers beyond 2^53")
    assert texts[1].startswith("D20: the model's answers differ by up to")
    assert "Subtract an offset" in texts[1]
