"""Losses by name, and losses of the user's."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.explanation.behavior.losses import Loss, gap_loss, risk_loss

from granite_xai.base.errors import InputError

GAPS = np.array([[-2.0, 0.0], [0.5, 3.0]])


@pytest.mark.parametrize(
    ("name", "losses"),
    [("squared", [[4.0, 0.0], [0.25, 9.0]]), ("absolute", [[2.0, 0.0], [0.5, 3.0]])],
)
def test_a_named_loss_of_gaps_is_also_one_of_predictions(name, losses):
    assert gap_loss(name).of_gaps(GAPS).tolist() == losses
    assert risk_loss(name).of_predictions(GAPS + 1.0, np.ones((2, 2))).tolist() == losses


def test_the_log_loss_is_clipped():
    losses = risk_loss("log").of_predictions(np.array([0.25, 0.25, 0.0]), np.array([1.0, 0.0, 1.0]))
    np.testing.assert_allclose(losses, [np.log(4), np.log(4 / 3), 15 * np.log(10)], rtol=1e-12)


@pytest.mark.parametrize("name", ["log", "brier", "hinge"])
def test_P01_only_losses_of_differences_are_losses_of_gaps(name):
    with pytest.raises(InputError, match="absolute") as refused:
        gap_loss(name)
    assert refused.value.code == "P01"


def test_a_loss_of_pairs_has_no_gaps():
    with pytest.raises(TypeError, match="differences"):
        Loss(pair_function=np.subtract).of_gaps(GAPS)


def test_a_users_loss_gets_copies_and_its_numbers_become_floats():
    def write(prediction, y):
        prediction[:] = 7.0
        return np.ones(prediction.shape, dtype=np.int8)

    prediction = np.zeros(3)
    losses = risk_loss(write).of_predictions(prediction, np.zeros(3))
    assert losses.dtype == np.float64
    assert losses.tolist() == [1.0, 1.0, 1.0]
    assert prediction.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "loss",
    [
        lambda gaps: gaps[:1],
        lambda gaps: -np.abs(gaps) - 1.0,
        lambda gaps: np.full(gaps.shape, np.inf),
        lambda gaps: gaps.astype(str),
        lambda gaps: 1 / 0,
    ],
    ids=["shape", "negative", "infinite", "texts", "raises"],
)
def test_T07_what_is_no_loss_is_refused(loss):
    with pytest.raises(InputError, match=r"shape \(2, 2\)") as refused:
        gap_loss(loss).of_gaps(GAPS)
    assert refused.value.code == "T07"
    assert refused.value.argument == "loss"
