"""The paper's overview: which disagreement, behavior, masking and interaction each framework addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

from granite_xai.disagreement.disagreement import Disagreement
from granite_xai.estimator import Granite
from granite_xai.explanation.explainer import Explainer
from granite_xai.frameworks import published
from granite_xai.frameworks.published import questions_of
from granite_xai.tables import frame

BEHAVIORS = ("local", "risk", "sensitivity")
INTERACTIONS = ("full", "partial", "pure")
MASKING_LETTERS = {"marginal": "m", "conditional": "c", "accumulated": "c", "baseline": "b"}

FULFILLED = "✓"
NOT_FULFILLED = "✗"
ALL_CHOICES = "*"
NOT_DEFINED = "–"


class _InteractionGap(NamedTuple):
    """A disagreement between two interactions under one masking."""

    masking: str
    interactions: frozenset[str]


class _MaskingGap(NamedTuple):
    """A disagreement between two maskings with one interaction."""

    interaction: str
    maskings: frozenset[str]


def overview() -> Any:
    """Which disagreement, behavior, masking and interaction each framework addresses, as a frame.

    ✓ fulfilled, ✗ not fulfilled, * all choices, – not defined.

    Examples
    --------
    >>> overview().iloc[0].tolist()
    ['VINE', '✓', '✗', '–', '✓', '✗', '✗', 'm', '–']
    """
    return table_of(configurations())


def table_of(frameworks: Mapping[str, Sequence[Granite]]) -> Any:
    """What some frameworks address, one line each.

    Parameters
    ----------
    frameworks : mapping of name to configurations
        All forms of each; their models are not asked.

    Returns
    -------
    DataFrame
    """
    columns: dict[str, list[str]] = {"framework": list(frameworks)}
    for forms in frameworks.values():
        questions: list[Disagreement] = []
        for form in forms:
            questions += questions_of(form)
        for heading, cell in _cells(questions).items():
            columns.setdefault(heading, []).append(cell)
    return frame(columns)


def configurations() -> dict[str, list[Granite]]:
    """Each framework in all its forms, without a model."""
    no_model = None
    any_feature = 0
    dependence = ("cfi-pfi", "mplot-pdp")
    return {
        "VINE": [published.vine(no_model, any_feature)],
        "CohEx": [published.cohex(no_model)],
        "REPID": [published.repid(no_model, any_feature)],
        "GADGET": [published.gadget(no_model, effect=effect) for effect in published.EFFECTS],
        "FD-Trees": [published.fd_trees(no_model, name) for name in published.OBJECTIVES],
        "Transf. Trees": [
            published.transformation_trees(no_model, any_feature, name) for name in dependence
        ],
        "GRANITE": [Granite(no_model, _all_questions())],
    }


def _all_questions() -> list[Disagreement]:
    """A question for every pair of explanations that the algebra allows to compare."""
    axes = product(("marginal", "conditional", "baseline"), INTERACTIONS)
    pairs = list(combinations(sorted(axes), 2))
    questions = []
    for behavior, (first, second) in product(BEHAVIORS, pairs):
        questions.append(
            Disagreement(
                Explainer(masking=first[0], behavior=behavior, interaction=first[1]),
                Explainer(masking=second[0], behavior=behavior, interaction=second[1]),
            )
        )
    return questions


def _cells(questions: Sequence[Disagreement]) -> dict[str, str]:
    """What some questions address, by heading."""
    interaction_gaps = set()
    masking_gaps = set()
    for question in questions:
        masking = question.first.masking.key
        interaction = question.first.interaction.key
        maskings = frozenset({masking, question.second.masking.key})
        interactions = frozenset({interaction, question.second.interaction.key})
        if len(maskings) == 1 and interactions <= set(INTERACTIONS):
            interaction_gaps.add(_InteractionGap(masking, interactions))
        if len(maskings) == 2 and len(interactions) == 1:
            masking_gaps.add(_MaskingGap(interaction, maskings))
    compared_interactions = {gap.interactions for gap in interaction_gaps}
    compared_maskings = {gap.maskings for gap in masking_gaps}
    behaviors = {question.behavior.key for question in questions}
    letters = {MASKING_LETTERS[gap.masking] for gap in interaction_gaps}
    cells = {
        "full → pure": _is_compared({"full", "pure"}, compared_interactions),
        "partial → pure": _is_compared({"partial", "pure"}, compared_interactions),
        "conditional → marginal": _is_compared({"conditional", "marginal"}, compared_maskings),
    }
    for behavior in BEHAVIORS:
        cells[behavior] = FULFILLED if behavior in behaviors else NOT_FULFILLED
    cells["masking"] = _choices(letters, ("m", "c", "b"))
    cells["interaction"] = _choices({gap.interaction for gap in masking_gaps}, INTERACTIONS)
    return cells


def _is_compared(pair: set[str], compared: set[frozenset[str]]) -> str:
    """Whether a pair is among those that are compared; not defined where none are."""
    if not compared:
        return NOT_DEFINED
    return FULFILLED if pair in compared else NOT_FULFILLED


def _choices(taken: set[str], possible: Sequence[str]) -> str:
    """The choices that are taken, in the order of those that are possible."""
    if not taken:
        return NOT_DEFINED
    if taken == set(possible):
        return ALL_CHOICES
    return ", ".join(choice for choice in possible if choice in taken)
