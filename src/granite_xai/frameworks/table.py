"""The paper's overview of regional frameworks, read off their configurations."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from granite_xai.disagreement import Disagreement, Objective
from granite_xai.estimator import Granite
from granite_xai.explainer import Explainer
from granite_xai.frameworks.published import (
    EFFECTS,
    OBJECTIVES,
    SUBGROUP_QUESTIONS,
    cohex,
    fd_trees,
    gadget,
    repid,
    transformation_trees,
    vine,
)
from granite_xai.tables import frame

_LETTERS = {"marginal": "m", "conditional": "c", "accumulated": "c", "baseline": "b"}
_INTERACTIONS = ("full", "partial", "pure")
_CELLS = {True: "✓", False: "✗", None: "–"}


def configurations() -> dict[str, list[Granite]]:
    """Each framework in all its forms, without a model, and GRANITE with every pair that the algebra allows."""
    every = list(product(("marginal", "conditional", "baseline"), _INTERACTIONS))
    pairs = [(a, b) for a, b in product(every, every) if a < b]
    anything = [
        Disagreement(Explainer(m1, behavior, i1), Explainer(m2, behavior, i2))
        for behavior in ("local", "risk", "sensitivity")
        for (m1, i1), (m2, i2) in pairs
    ]
    return {
        "VINE": [vine(None, 0)],
        "CohEx": [cohex(None)],
        "REPID": [repid(None, 0)],
        "GADGET": [gadget(None, effect=effect) for effect in EFFECTS],
        "FD-Trees": [fd_trees(None, objective) for objective in OBJECTIVES],
        "Transf. Trees": [transformation_trees(None, 0, question) for question in SUBGROUP_QUESTIONS],
        "GRANITE": [Granite(None, anything)],
    }


def overview() -> Any:
    """Which disagreement, behavior, masking and interaction each framework addresses, as a frame.

    ✓ fulfilled, ✗ not fulfilled, * all choices, – not defined.

    Examples
    --------
    >>> overview().iloc[0].tolist()
    ['VINE', '✓', '✗', '–', '✓', '✗', '✗', 'm', '–']
    """
    rows = {name: _row(_asked(forms)) for name, forms in configurations().items()}
    columns = {key: [row[key] for row in rows.values()] for key in rows["GRANITE"]}
    return frame({"framework": list(rows), **columns})


def _asked(forms: Iterable[Granite]) -> list[Disagreement]:
    questions = (form.question for form in forms)
    objectives = (asked if isinstance(asked, Objective) else Objective(asked) for asked in questions)
    return [question for objective in objectives for question, _ in objective.weighted()]


def _row(asked: list[Disagreement]) -> dict[str, str]:
    sides = [(question.first, question.second) for question in asked]
    keys = [(a.masking.key, a.interaction.key, b.masking.key, b.interaction.key) for a, b in sides]
    interactions = {(m, frozenset({i, j})) for m, i, n, j in keys if m == n and {i, j} <= set(_INTERACTIONS)}
    maskings = {(i, frozenset({m, n})) for m, i, n, j in keys if i == j and m != n}
    behaviors = {question.behavior.key for question in asked}
    return {
        "full → pure": _met({"full", "pure"}, interactions),
        "partial → pure": _met({"partial", "pure"}, interactions),
        "conditional → marginal": _met({"conditional", "marginal"}, maskings),
        **{key: _CELLS[key in behaviors] for key in ("local", "risk", "sensitivity")},
        "masking": _listed({_LETTERS[m] for m, _ in interactions}, "mcb"),
        "interaction": _listed({i for i, _ in maskings}, _INTERACTIONS),
    }


def _met(wanted: set[str], pairs: set[tuple[str, frozenset[str]]]) -> str:
    return _CELLS[wanted in [pair for _, pair in pairs] if pairs else None]


def _listed(found: set[str], every: Iterable[str]) -> str:
    if not found:
        return "–"
    return "*" if found == set(every) else ", ".join(one for one in every if one in found)
