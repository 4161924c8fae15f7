"""Risk: minus the loss of masked predictions."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai import InputError

X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 2.0], [4.0, 3.0]])
Y = np.array([1.0, 2.0, 0.0, 9.0, 14.0])
PAIRS = X[:, 0][:, None] * X[:, 1]  # (rows that show x0, rows that give x1)
# Losses with a pass of their own in the engine, and one that is evaluated value by value.
LOSSES = {
    "squared": lambda prediction, y: (prediction - y) ** 2,
    "absolute": lambda prediction, y: np.abs(prediction - y),
    "cubic": lambda prediction, y: np.abs(prediction - y) ** 3,
}


def model(X):
    return X[:, 0] * X[:, 1]


def pure_effect(loss, **options):
    chosen = LOSSES[loss] if loss == "cubic" else loss
    behavior = gx.Risk(loss=chosen, **options)
    return gx.Explainer("marginal", behavior, "pure").explain(model, X, Y).values[..., 0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("pointwise", [False, True], ids=["region", "rows"])
def test_the_loss_of_the_averaged_prediction(loss, pointwise):
    function = LOSSES[loss]
    shown = function(PAIRS.mean(axis=1), Y)
    hidden = function(np.diagonal(PAIRS).mean(), Y)
    expected = hidden - shown
    if not pointwise:
        expected = expected.mean()
    np.testing.assert_allclose(pure_effect(loss, pointwise=pointwise), expected, rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("pointwise", [False, True], ids=["region", "rows"])
def test_the_averaged_loss_of_single_predictions(loss, pointwise):
    function = LOSSES[loss]
    shown = function(PAIRS, Y[:, None]).mean(axis=1)
    hidden = function(np.diagonal(PAIRS), Y[:, None]).mean(axis=1)
    expected = hidden - shown
    if not pointwise:
        expected = expected.mean()
    values = pure_effect(loss, average="loss", pointwise=pointwise)
    np.testing.assert_allclose(values, expected, rtol=1e-9)


def test_probabilities_have_log_loss_unless_another_is_named():
    assert gx.Risk().resolved(is_probability=True).loss == "log"
    assert gx.Risk().resolved(is_probability=False).loss == "squared"
    assert gx.Risk(loss="absolute").resolved(is_probability=True).loss == "absolute"


def test_losses_of_probabilities_are_named():
    assert gx.Risk(loss="brier").needs_probability == "brier"
    assert gx.Risk(loss="squared").needs_probability is None
    assert gx.Risk(loss=LOSSES["cubic"]).needs_probability is None


@pytest.mark.parametrize("options", [{"loss": "hinge"}, {"average": "median"}], ids=str)
def test_unknown_options_are_refused(options):
    with pytest.raises(InputError) as refused:
        gx.Risk(**options)
    assert refused.value.code == "P01"


@pytest.mark.parametrize("average", ["prediction", "loss"])
def test_a_full_effect_ends_at_the_loss_of_the_model(average):
    behavior = gx.Risk(loss="squared", average=average)
    values = gx.Explainer("marginal", behavior, "full").explain(model, X, Y).values
    if average == "prediction":
        hidden = np.mean((PAIRS.mean(axis=0) - Y) ** 2)
    else:
        hidden = np.mean((PAIRS - Y) ** 2)
    loss = np.mean((model(X) - Y) ** 2)
    np.testing.assert_allclose(values[0], hidden - loss, rtol=1e-9)
