"""Earlier methods side by side: measured with the same questions on other rows, and what each addresses."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import granite_xai as gx

REFIT_SHARE = 0.8
"""Part of the rows that a refit sees."""

OF_ONE_FEATURE = ("vine", "repid", "transformation_trees")
OF_ALL_FEATURES = ("cohex", "gadget", "fd_trees")
FRAMEWORKS = ("granite", "vine", "cohex", "repid", "gadget", "fd_trees", "transformation_trees")

BEHAVIORS = ("local", "risk", "sensitivity")
INTERACTIONS = ("full", "partial", "pure")
MASKING_LETTERS = {"marginal": "m", "conditional": "c", "accumulated": "c", "baseline": "b"}


def compare(
    model: Any,
    X: pd.DataFrame,
    y: Any = None,
    *,
    test: tuple[pd.DataFrame, Any],
    questions: Sequence[Any] = ("ice-pdp",),
    frameworks: Sequence[str] | Mapping[str, gx.Granite] = FRAMEWORKS,
    resamples: int = 3,
    random_state: int = 0,
) -> pd.DataFrame:
    """Fit every framework and measure its regions with the same questions on other rows.

    Columns: framework, feature, regions, rules, "remaining …" for each question, fidelity (of the regional additive
    surrogate on the test rows), stability (mean adjusted Rand index on the test rows between the regions and those of
    refits on four fifths of the rows), seconds (of the fit). Methods for one feature get that with the largest gap
    between ICE and PDP.
    """
    if not isinstance(frameworks, Mapping):
        feature = most_heterogeneous_feature(model, X)
        frameworks = {name: configured(name, model, feature, questions[0]) for name in frameworks}
    lines = []
    for name, granite in frameworks.items():
        begin = time.perf_counter()
        granite.fit(X, y)
        seconds = time.perf_counter() - begin
        features = ["all"] if granite.features is None else map(str, granite.features)
        line: dict[str, Any] = {
            "framework": name,
            "feature": ", ".join(features),
            "regions": len(granite.partition_),
            "rules": " | ".join(str(rule) for rule in granite.partition_.rules),
        }
        for question in questions:
            line[f"remaining {named(question)}"] = remaining(granite, question, X, y, test)
        predictions = np.asarray(model(test[0]) if callable(model) else model.predict(test[0]))
        gap = np.square(predictions - granite.predict(test[0])).mean()
        line["fidelity"] = 1.0 - gap / predictions.var()
        line["stability"] = stability(granite, X, y, test[0], resamples, random_state)
        line["seconds"] = seconds
        lines.append(line)
    return pd.DataFrame(lines)


def named(question: Any) -> str:
    """A question, or several, in words."""
    if isinstance(question, str):
        return question
    if isinstance(question, gx.Disagreement):
        return question.label
    return " + ".join(map(named, question))


def configured(name: str, model: Any, feature: Any, question: Any) -> gx.Granite:
    """One framework by its name, unfitted."""
    if name == "granite":
        return gx.Granite(model, question)
    make = getattr(gx.frameworks, name)
    if name == "transformation_trees":
        # Its regions depend on the rows alone: the question is only what is reported in them.
        return make(model, feature, question)
    if name in OF_ONE_FEATURE:
        return make(model, feature)
    return make(model)


def most_heterogeneous_feature(model: Any, X: pd.DataFrame) -> str:
    """The feature whose ICE curves lie farthest from the PDP."""
    ice = gx.explanations()["ice"].explain(model, X)
    pdp = gx.explanations()["pdp"].explain(model, X)
    gaps = np.square(ice.values - pdp.values).mean(axis=0)  # (features,)
    return ice.sets[int(np.argmax(gaps))][0]


def remaining(granite: gx.Granite, question: Any, X: Any, y: Any, test: tuple[Any, Any]) -> float:
    """Share of the disagreement on other rows that the regions of a fit leave, as it is measured there."""
    rules = gx.partitioners.GivenRules(granite.partition_.rules)
    settings: dict[str, Any] = {"confidence_level": None, "max_samples": None}
    ruler = gx.Granite(granite.model, question, partitioner=rules, **settings)
    return ruler.fit(X, y).evaluate(*test).remaining


def stability(
    granite: gx.Granite, X: Any, y: Any, test: Any, resamples: int, random_state: int
) -> float:
    """Mean adjusted Rand index between the regions of a fit and of its refits on parts of the rows."""
    if resamples == 0:
        return float("nan")
    regions = granite.apply(test)
    generator = np.random.default_rng(random_state)
    agreements = []
    for _ in range(resamples):
        rows = np.sort(generator.choice(len(X), size=int(REFIT_SHARE * len(X)), replace=False))
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", gx.GraniteWarning
            )  # said once already, by the fit itself
            refit = clone(granite).fit(X.iloc[rows], None if y is None else np.asarray(y)[rows])
        agreements.append(adjusted_rand_score(regions, refit.apply(test)))
    return float(np.mean(agreements))


def overview() -> pd.DataFrame:
    """Which disagreement, behavior, masking and interaction each framework addresses: the paper's table.

    ✓ fulfilled, ✗ not fulfilled, * all choices, – not defined; m marginal, c conditional, b baseline masking.
    """
    forms = gx.frameworks
    any_feature = 0
    asked = {
        "VINE": [forms.vine(None, any_feature)],
        "CohEx": [forms.cohex(None)],
        "REPID": [forms.repid(None, any_feature)],
        "GADGET": [forms.gadget(None, effect=effect) for effect in ("pd", "ale", "shap")],
        "FD-Trees": [
            forms.fd_trees(None, objective)
            for objective in ("coe", "pfi-pdp", "shap-pdp", "pfi-shap")
        ],
        "Transf. Trees": [
            forms.transformation_trees(None, any_feature, name) for name in ("cfi-pfi", "mplot-pdp")
        ],
    }
    catalog = gx.questions()
    lines = []
    for name, configurations in asked.items():
        lines.append(
            {"framework": name, **addressed([catalog[g.question] for g in configurations])}
        )
    lines.append({"framework": "GRANITE", **addressed(all_questions())})
    return pd.DataFrame(lines)


def all_questions() -> list[gx.Disagreement]:
    """A question for every pair of explanations that the algebra allows to compare."""
    axes = sorted(product(("marginal", "conditional", "baseline"), INTERACTIONS))
    return [
        gx.Disagreement(
            gx.Explainer(masking=first[0], behavior=behavior, interaction=first[1]),
            gx.Explainer(masking=second[0], behavior=behavior, interaction=second[1]),
        )
        for behavior, (first, second) in product(BEHAVIORS, combinations(axes, 2))
    ]


def addressed(questions: Sequence[gx.Disagreement]) -> dict[str, str]:
    """What some questions address, by heading."""
    between_interactions = set()
    between_maskings = set()
    letters = set()
    interactions_kept = set()
    for question in questions:
        first, second = question.first, question.second
        maskings = frozenset({first.masking.key, second.masking.key})
        interactions = frozenset({first.interaction.key, second.interaction.key})
        if len(maskings) == 1 and interactions <= set(INTERACTIONS):
            between_interactions.add(interactions)
            letters.add(MASKING_LETTERS[first.masking.key])
        if len(maskings) == 2 and len(interactions) == 1:
            between_maskings.add(maskings)
            interactions_kept.add(first.interaction.key)
    behaviors = {question.behavior.key for question in questions}
    return {
        "full → pure": _is_compared({"full", "pure"}, between_interactions),
        "partial → pure": _is_compared({"partial", "pure"}, between_interactions),
        "conditional → marginal": _is_compared({"conditional", "marginal"}, between_maskings),
        **{behavior: "✓" if behavior in behaviors else "✗" for behavior in BEHAVIORS},
        "masking": _choices(letters, ("m", "c", "b")),
        "interaction": _choices(interactions_kept, INTERACTIONS),
    }


def _is_compared(pair: set[str], compared: set[frozenset[str]]) -> str:
    if not compared:
        return "–"
    return "✓" if pair in compared else "✗"


def _choices(taken: set[str], possible: Sequence[str]) -> str:
    if not taken:
        return "–"
    if taken == set(possible):
        return "*"
    return ", ".join(choice for choice in possible if choice in taken)
