"""Explanations and disagreements of the new algebra against the definitions, written out in the oracle."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
import oracle
from granite_xai.algebra.behavior import Risk, Sensitivity
from granite_xai.algebra.disagreement import question
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.influence import Interactions, Joint
from granite_xai.algebra.interaction import Partial
from granite_xai.algebra.masking import Baseline, Conditional, learn
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.evaluations.asking import ask
from granite_xai.evaluations.ensembles import Reading
from granite_xai.evaluations.request import request
from granite_xai.models import as_predictor
from granite_xai.tables import Rows, read_table

N = 24
KINDS = ["numeric", "numeric", "nominal"]
REGION = list(range(3, 20))


def rows(with_missing: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    first = np.round(rng.normal(size=N), 1)
    second = np.round(0.5 * first + rng.normal(size=N), 1)
    if with_missing:
        second[::7] = np.nan
    town = pd.Categorical(rng.choice(["a", "b", "c"], size=N))
    return pd.DataFrame({"u": first, "v": second, "town": town})


def model(X: pd.DataFrame) -> np.ndarray:
    u, v = X["u"].to_numpy(dtype=float), X["v"].to_numpy(dtype=float)
    v = np.where(np.isnan(v), -1.0, v)
    return u * v + np.where(X["town"].to_numpy() == "b", 2.0 * u, v**2)


class Model:
    """The same as an estimator that takes missing values."""

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return model(X)

    def __sklearn_tags__(self):
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True),
            regressor_tags=RegressorTags(),
            input_tags=InputTags(allow_nan=True),
        )


def problem(X: pd.DataFrame, y: np.ndarray, weights: np.ndarray) -> oracle.Problem:
    def of_rows(cells):
        return model(pd.DataFrame(cells, columns=X.columns).astype({"u": float, "v": float}))

    return oracle.Problem(of_rows, X.to_numpy(dtype=object), y, weights, KINDS)


MASKINGS = {
    "marginal": ("marginal", {}),
    "conditional": (Conditional(sampler="bins"), {}),
    "exact bins": (Conditional("exact"), {"bins": "exact"}),
    "baseline": (Baseline("mean"), {"baseline": "mean"}),
}
BEHAVIORS = {
    "local": ("local", {}),
    "sensitivity": ("sensitivity", {}),
    "jansen": (Sensitivity("jansen"), {"total": "jansen"}),
    "risk": ("risk", {}),
    "absolute": (Risk("absolute"), {"loss": "absolute"}),
    "averaged": (Risk(average="loss"), {"average": "loss"}),
    "pointwise": (Risk(pointwise=True), {"pointwise": True}),
}
INTERACTIONS = {
    "pure": ("pure", {}),
    "full": ("full", {}),
    "partial": ("partial", {}),
    "banzhaf": (Partial("banzhaf"), {"index": "bii"}),
    "faithful": (Partial("fsii"), {"index": "fsii"}),
}
INFLUENCES = {
    "individual": ("individual", {}),
    "joint": (Joint({"g": ["u", "town"]}), {"groups": ((0, 2),)}),
    "interaction": (Interactions(2), {}),
}


def is_defined(masking: str, behavior: str, interaction: str, influence: str) -> bool:
    """Whether the method defines the setting, and the oracle has another formula than of Shapley values."""
    if behavior == "jansen" and (masking == "baseline" or influence == "interaction"):
        return False
    return interaction != "faithful" or influence == "interaction"


AXES = [
    axes for axes in product(MASKINGS, BEHAVIORS, INTERACTIONS, INFLUENCES) if is_defined(*axes)
]


@pytest.mark.parametrize("axes", AXES, ids="-".join)
def test_an_explanation_of_a_region_is_its_definition(axes):
    X = rows()
    y = model(X) + np.random.default_rng(1).normal(size=N)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, size=N)
    chosen = [
        table[name]
        for table, name in zip((MASKINGS, BEHAVIORS, INTERACTIONS, INFLUENCES), axes, strict=True)
    ]
    names = {
        "masking": "conditional" if axes[0] == "exact bins" else axes[0],
        "behavior": {"jansen": "sensitivity"}.get(axes[1], axes[1]),
        "interaction": axes[2] if axes[2] in ("pure", "full") else "partial",
        "influence": axes[3],
    }
    if axes[1] in ("absolute", "averaged", "pointwise"):
        names["behavior"] = "risk"
    options = {key: value for _, extra in chosen for key, value in extra.items()}
    # Bins are those of one tree, learned without a guard against chance, as in the paper.
    setting = oracle.Setting(**names, **options)
    expected = oracle.explain(problem(X, y, weights), setting, REGION)
    explainer = Explainer(*(operator for operator, _ in chosen))
    found = unguarded(explainer, X, y, weights)
    for place, members in enumerate(expected):
        of_set = expected[members]
        if isinstance(of_set, dict):
            of_set = np.array([of_set[n] for n in REGION])
        np.testing.assert_allclose(found[..., place], of_set, rtol=1e-10, atol=1e-11)


def unguarded(explainer, X, y, weights):
    """The values of an explanation in the region, with what is learned as in the paper."""
    table = read_table(X, missing="error")
    everything = Rows.of(table, y, weights, in_fixed_order=False)
    region = everything.take(np.array(REGION))
    effect = explainer.resolve(region.table, pairs=0)
    learned = learn(effect.needs.facts, everything, 0, guarded=False)
    predictor = as_predictor(model)
    reading = Reading(predictor, region.table)
    requested = request(effect.needs, region.table, learned=learned)
    asked = ask(predictor, region, requested, reading, resources=gx.Resources())
    whole = RegionWeights.whole(region.weights)
    columns = list(effect.values(asked.outputs[0], whole))
    return np.concatenate(columns, axis=1) if explainer.behavior.per_row else np.ravel(columns)


@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("name", list(gx.questions()))
def test_the_disagreement_of_a_named_question_is_its_definition(name, with_missing):
    X = rows(with_missing)
    y = model(X) + np.random.default_rng(1).normal(size=N)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, size=N)
    table = read_table(X, missing="allow")
    everything = Rows.of(table, y, weights, in_fixed_order=False)
    resolved = question(name).resolve(table, pairs=0)
    learned = learn(resolved.needs.facts, everything, 0, guarded=False)
    predictor = as_predictor(Model())
    requested = request(resolved.needs, table, learned=learned)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gx.GraniteWarning)
        asked = ask(
            predictor, everything, requested, Reading(predictor, table), resources=gx.Resources()
        )
    goes_left = np.zeros((N, 1), dtype=bool)
    goes_left[REGION] = True
    found = resolved.regional(asked.outputs[0], RegionWeights.sides(goes_left, weights))[:, 0]
    by_hand = problem(X, y, weights)
    others = [n for n in range(N) if n not in REGION]
    for side, members in zip(found, (REGION, others), strict=True):
        expected = oracle.disagreement(oracle.question(name), by_hand, members)
        assert side == pytest.approx(expected, rel=1e-9, abs=1e-12)
