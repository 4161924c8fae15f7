"""The explanations that a display shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from granite_xai.algebra.catalog import explanations as named_explanations, title
from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.explainer import Explainer
from granite_xai.base.errors import InputError
from granite_xai.base.options import choose
from granite_xai.base.text import drawable
from granite_xai.fitting.fitted import fitted_view

MEASURES = {
    "local": "mean size of the effect",
    "sensitivity": "variance of the prediction",
    "risk": "loss saved",
}
"""What an influence is measured in, by behavior."""

EFFECTS = ("full", "partial", "pure")
"""Interactions that give every set a value of its own; others explain the whole prediction."""

PLACES = ("first", "second", "further")
"""What explanations without a name are called, by place."""


def chosen_question(g: Any, question: str | None) -> ResolvedQuestion:
    """One question of a fitted Granite.

    Parameters
    ----------
    g : Granite
        Fitted.
    question : str, optional
        Its label; None: the first.
    """
    questions = fitted_view(g).result.questions
    if question is None:
        return questions[0]
    by_label = {resolved.label: resolved for resolved in questions}
    return choose("question", question, by_label)


def sides_shown(
    compared: Sequence[Explainer], chosen: Any, fits: Callable[[Explainer], bool]
) -> tuple[Explainer, ...]:
    """The explanations that a display shows.

    Parameters
    ----------
    compared : sequence of Explainer
        Both sides of the question.
    chosen : Explainer, str, sequence of these, or None
        What the user chose, by name or as it is. None: both sides of the question where they fit, otherwise ICE and
        PDP.
    fits : callable
        Whether the display can show an explanation.
    """
    by_name = named_explanations()
    if chosen is None:
        if all(fits(side) for side in compared):
            return tuple(compared)
        return (by_name["ice"], by_name["pdp"])
    if isinstance(chosen, str | Explainer):
        chosen = [chosen]
    entries = list(chosen)
    if not entries:
        raise InputError(
            "explanations is empty.", code="P01", argument="explanations", hint="Name at least one."
        )
    return tuple(choose("explanations", entry, by_name) for entry in entries)


def side_names(sides: Sequence[Explainer]) -> tuple[str, ...]:
    """Names of some explanations; of those without one, their place.

    Parameters
    ----------
    sides : sequence of Explainer
    """
    names = []
    for number, side in enumerate(sides):
        place = PLACES[min(number, len(PLACES) - 1)]
        names.append(side.name or place)
    return tuple(names)


def shown_names(names: Iterable[str]) -> str:
    """Explanations by their titles, for a heading.

    Parameters
    ----------
    names : iterable of str
        As in the catalog of explanations.
    """
    return " and ".join(drawable(title(name)) for name in names)
