"""What an explanation gives: values, frames, other packages' objects; which rows are explained; losses of a risk."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.algebra.behavior import LOSSES, Risk, gap_loss, risk_loss
from granite_xai.algebra.copula import SamplerChoice, note_choice
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.explanation import Explanation
from granite_xai.algebra.influence import Individual, Interactions, Joint
from granite_xai.base.errors import Diagnostics
from parts.by_hand import drawn, evaluations_of, waves

X = pd.DataFrame(drawn(60), columns=["a", "b", "c"])
y = waves(X.to_numpy()) + np.random.default_rng(0).normal(size=60)


def model(X: pd.DataFrame) -> np.ndarray:
    return waves(X.to_numpy(dtype=float))


def explained(*axes, **options) -> Explanation:
    return Explainer(*axes).explain(model, X, y, **options)


def test_shapley_values_add_up_to_the_prediction():
    rows = np.arange(10, 50)
    shap = explained("marginal", "local", "partial", rows=rows)
    (part,) = shap.parts
    np.testing.assert_allclose(shap.values.sum(axis=1) + part.base, model(X)[rows], atol=1e-12)
    assert repr(shap) == "<Explanation: first of 3 features, 1 region, 40 of 60 rows>"
    whole = explained("marginal", "risk", "full", Joint({"g": ["a", "b"]}))
    assert repr(whole) == "<Explanation: first of 2 features, 1 region, 60 rows>"
    assert whole.sets == (("g",), ("c",))


def test_a_frame_has_a_line_for_each_set_and_row():
    rows = np.arange(5, 25)
    local = explained("marginal", "local", "pure", Individual(["c", "a"]), rows=rows)
    frame = local.frame()
    assert list(frame.columns) == ["region", "set", "explanation", "row", "value", "standard_error"]
    assert frame["set"].unique().tolist() == ["c", "a"]
    of_c = frame[frame["set"] == "c"]
    assert of_c["row"].tolist() == rows.tolist()
    np.testing.assert_allclose(of_c["value"], local.values[:, 0])
    assert (frame["standard_error"] > 0).all()
    pairs = explained("marginal", "sensitivity", "full", Interactions(2)).frame()
    assert pairs["set"].tolist() == ["a:b", "a:c", "b:c"]
    assert pairs["row"].isna().all()


def test_shap_and_shapiq_get_what_was_explained():
    shap = pytest.importorskip("shap")
    shapiq = pytest.importorskip("shapiq")
    rows = np.arange(5, 25)
    local = explained("marginal", "local", "partial", rows=rows)
    of_shap = local.to_shap()
    assert isinstance(of_shap, shap.Explanation)
    np.testing.assert_allclose(of_shap.values, local.values)
    np.testing.assert_allclose(of_shap.data, X.to_numpy()[rows])
    of_row = local.to_shapiq(row=7)
    assert isinstance(of_row, shapiq.InteractionValues)
    by_shapiq = [
        of_row[(feature,)] for feature in range(3)
    ]  # versions differ in how they store them
    np.testing.assert_allclose(by_shapiq, local.values[2])
    with pytest.raises(gx.InputError, match=r"P04: row=3 is not among"):
        local.to_shapiq(row=3)
    with pytest.raises(gx.InputError, match=r"P03: to_shap needs one value a row"):
        explained("marginal", "risk", "full").to_shap()
    with pytest.raises(gx.InputError, match=r"P03: to_shap needs effects of features"):
        explained("marginal", "local", "full", "interaction").to_shap()
    with pytest.raises(gx.InputError, match=r"P01: there is no explanation 'second' here"):
        local.of("second")


def test_standard_errors_of_a_mean_are_those_of_sampling():
    """The pure effect of a row under marginal masking: two means over n rows, so that the error is known."""
    ones = np.random.default_rng(1).normal(size=(400, 2))
    found = Explainer("marginal", "local", "pure").explain(lambda X: X[:, 0] + X[:, 1], ones)
    errors = found.parts[0].errors[:, 0]
    # F_S(x) - F_0 = x_0 - mean of x_0: the error is that of the mean, the same for all rows.
    np.testing.assert_allclose(errors, ones[:, 0].std(ddof=1) / 20, rtol=0.3)
    assert np.ptp(errors) < 1e-12


def test_too_many_rows_for_partial_effects_are_a_sample():
    resources = gx.Resources(max_evaluations=2_000)
    with pytest.warns(gx.DataWarning, match=r"^M13: \d+ of 60 rows were used, drawn at random"):
        found = explained("marginal", "risk", "partial", resources=resources)
    assert 30 <= found.n_explained < 60
    again = explained("marginal", "risk", "partial", max_samples=found.n_explained)
    np.testing.assert_allclose(found.values, again.values)
    with pytest.raises(gx.ResourceError, match=r"M13"):
        explained("marginal", "risk", "partial", resources=resources, max_samples=None)
    with pytest.raises(gx.InputError, match=r"P02: max_samples=0 must be"):
        explained("marginal", "risk", "partial", max_samples=0)


def test_losses_are_their_formulas():
    p, target = np.array([0.0, 0.2, 0.9, 1.0]), np.array([0.0, 1.0, 1.0, 0.0])
    expected = -np.log(np.maximum(np.where(target == 1, p, 1 - p), 1e-15))
    np.testing.assert_allclose(
        LOSSES["log"].of_predictions(p, target), expected, rtol=1e-2, atol=1e-12
    )
    np.testing.assert_allclose(
        LOSSES["log"].of_predictions(p, target)[:3], expected[:3], atol=1e-12
    )
    np.testing.assert_allclose(LOSSES["brier"].of_predictions(p, target), (p - target) ** 2)
    np.testing.assert_allclose(LOSSES["absolute"].of_predictions(p, target), np.abs(p - target))
    assert Risk().resolved(is_probability=True).loss == "log"
    assert Risk().resolved(is_probability=False).loss == "squared"
    assert Risk("brier").needs_probability == "brier"
    known = evaluations_of(waves, drawn(20))
    assert Risk("squared").has_squares(known)
    assert not Risk("squared", average="loss").has_squares(known)
    assert not Risk("squared", pointwise=True).has_squares(known)
    assert not Risk("absolute").has_squares(known)
    assert gap_loss("absolute").has_gaps
    assert not LOSSES["brier"].has_gaps


@pytest.mark.parametrize(
    "loss",
    [
        lambda p, y: p - y,  # negative
        lambda p, y: np.mean((p - y) ** 2),  # one number for all
        lambda p, y: np.full(p.shape, np.nan),
        lambda p, y: np.full(p.shape, "0"),
        lambda p, y: 1 / 0,
    ],
)
def test_a_loss_that_gives_no_losses_is_refused(loss):
    with pytest.raises(gx.InputError, match=r"T07: the loss"):
        risk_loss(loss).of_predictions(np.zeros((3, 2)), np.ones((3, 2)))


def test_what_conditional_masking_chose_is_noted():
    record = Diagnostics()
    note_choice(SamplerChoice("bins", "few rows", {}), record)
    assert record.as_dict()["conditional"] == {
        "sampler": "bins",
        "reason": "few rows",
        "errors": {},
    }
    assert not record.warnings
    note_choice(SamplerChoice("copula", "better", {"bins": 0.3, "copula": 0.2}), record)
    assert (
        "the error of bins in predicting a feature from the others is 50% larger"
        in record.warnings[0]
    )
