"""Where explanations cannot disagree there is one region, whatever the scale, the offset, the precision or the seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import granite_xai as gx
from paper.games import Array
from strategies import paper

# Thin bins are reported (C10) and do not matter here; a model in float32 moves by more than rounding (M09).
pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")

ADDITIVE = [
    name
    for name in ("ice-pdp", "shap-pdp", "ice-shap", "coe", "ale", "sobol")
    if name in gx.questions()
]
MARGINAL_ONLY = (
    "ice-pdp",
    "shap-pdp",
    "ice-shap",
    "coe",
    "sobol",
    "variance",
    "pfi-risk",
    "sage-risk",
)
SCALES = [(1e-8, 0.0), (1.0, 0.0), (1e8, 0.0), (1.0, 1e9), (1e-3, 1e6), (1e8, 1e9)]


class Scaled:
    """``scale * f + offset`` in one precision."""

    def __init__(self, f: Any, scale: float, offset: float, dtype: Any = np.float64) -> None:
        self.f, self.scale, self.offset, self.dtype = f, scale, offset, dtype

    def predict(self, X: Any) -> Array:
        values = self.f(np.asarray(X, dtype=self.dtype))
        answer: Array = (self.dtype(self.scale) * values + self.dtype(self.offset)).astype(
            self.dtype
        )
        return answer


def additive(X: Array) -> Array:
    return np.sin(3 * X[:, 0]) + X[:, 1] ** 2 - np.abs(X[:, 2])


def interacting(X: Array) -> Array:
    return np.sin(3 * X[:, 0]) + X[:, 1] * np.where(X[:, 2] > 0, 1, -1)


def rows(seed: int, n: int = 80, d: int = 3) -> Array:
    draw = np.random.default_rng(seed)
    shared = draw.normal(size=(n, 1))
    return np.round(shared + draw.normal(size=(n, d)), 3)


def assert_one_region(fitted: gx.Granite) -> None:
    assert len(fitted.partition_) == 1
    assert fitted.disagreement_ == 0.0
    assert fitted.remaining_ == 0.0
    assert fitted.partition_[0].stop_reason == "nothing to explain"
    assert str(fitted.partition_[0].rule) == "all rows"


@pytest.mark.parametrize("question", ADDITIVE)
@pytest.mark.parametrize(("scale", "offset"), SCALES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_additive_model_has_one_region(
    question: str, scale: float, offset: float, dtype: Any
) -> None:
    for seed in range(2):
        fitted = paper(Scaled(additive, scale, offset, dtype), question, random_state=seed).fit(
            rows(seed)
        )
        assert_one_region(fitted)


@pytest.mark.parametrize(
    "influence", [{"influence": "joint", "groups": {"g": [0, 1]}}, {"influence": "interaction"}]
)
def test_an_additive_model_has_one_region_for_groups_and_pairs_too(
    influence: dict[str, Any],
) -> None:
    for question in ("ice-pdp", "coe"):
        assert_one_region(paper(additive, question, **influence).fit(rows(0)))


@pytest.mark.parametrize("question", sorted(gx.questions()))
@pytest.mark.parametrize("value", [0.0, 1.0, -1e9, 1e-8, 0.1])
def test_a_constant_model_has_one_region_for_every_question(question: str, value: float) -> None:
    X = rows(1)
    fitted = paper(lambda X: np.full(len(X), value), question).fit(X, X.sum(axis=1))
    assert_one_region(fitted)


@pytest.mark.parametrize("question", MARGINAL_ONLY)
@pytest.mark.parametrize(("scale", "offset"), SCALES)
def test_a_model_of_one_column_has_one_region_with_marginal_masking(
    question: str, scale: float, offset: float
) -> None:
    X = rows(2, d=1)
    model = Scaled(lambda X: np.exp(X[:, 0]), scale, offset)
    assert_one_region(paper(model, question).fit(X, model.predict(X) + scale * np.sin(5 * X[:, 0])))


@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp", "ice-shap", "coe", "sobol"])
@pytest.mark.parametrize(("scale", "offset"), SCALES)
def test_an_interaction_that_the_numbers_can_hold_is_found(
    question: str, scale: float, offset: float
) -> None:
    X = rows(3, n=120)
    fitted = paper(Scaled(interacting, scale, offset), question, max_candidates=120).fit(X)
    assert [str(region.rule) for region in fitted.partition_] == ["x2 ≤ 0", "x2 > 0"]
    assert fitted.remaining_ < 1e-6


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_a_float32_model_shows_its_interactions(scale: float) -> None:
    X = rows(4, n=120)
    fitted = paper(Scaled(interacting, scale, 0.0, np.float32), "ice-pdp", max_candidates=120).fit(
        X
    )
    assert [str(region.rule) for region in fitted.partition_] == ["x2 ≤ 0", "x2 > 0"]


@pytest.mark.parametrize("masking", ["marginal", "baseline"])
def test_all_three_interaction_operators_agree_on_an_additive_model(masking: str) -> None:
    X = rows(5)
    values = [
        gx.Explainer(masking, "local", key).explain(additive, X).values
        for key in ("pure", "partial", "full")
    ]
    assert np.allclose(values[0], values[1], atol=1e-12)
    assert np.allclose(values[0], values[2], atol=1e-12)


def test_total_and_closed_variances_of_an_additive_model_are_equal() -> None:
    named = gx.explanations()
    closed, total = (
        named[name].explain(additive, rows(6)).values for name in ("sobol-closed", "sobol-total")
    )
    assert np.allclose(closed, total, rtol=1e-12)


@pytest.mark.parametrize("kind", ["trees", "boosting", "linear"])
def test_additive_models_of_scikit_learn_have_one_region(kind: str) -> None:
    from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
    from sklearn.linear_model import LinearRegression

    models = {
        "trees": GradientBoostingRegressor(max_depth=1, n_estimators=30, random_state=0),
        "boosting": HistGradientBoostingRegressor(max_depth=1, max_iter=5, min_samples_leaf=5),
        "linear": LinearRegression(),
    }
    X = rows(7, n=60)
    model = models[kind].fit(X, interacting(X))
    for question in ("ice-pdp", "coe", "sobol"):
        assert_one_region(paper(model, question).fit(X))
