"""Which explanations a display of local effects shows."""

from __future__ import annotations

from typing import Any

from granite_xai.algebra.explainer import Explainer
from granite_xai.base.errors import InputError
from granite_xai.results.values import EFFECTS, sides_shown


def local_sides(question_sides: tuple[Explainer, Explainer], wanted: Any) -> tuple[Explainer, ...]:
    """Explanations that are effects of single features on single predictions.

    Parameters
    ----------
    question_sides : pair of Explainer
        The sides of the question.
    wanted : name, Explainer, sequence of these, or None
        None: the sides of the question where they are such effects, otherwise ICE and PDP.

    Raises
    ------
    InputError
        P03: one that was asked for is something else.
    """
    sides = sides_shown(question_sides, wanted, _is_local_effect_of_features)
    for side in sides:
        if not _is_local_effect(side):
            name = side.name or "an explanation"
            raise InputError(
                f"{name!r} is no effect of single features on single predictions.",
                code="P03",
                argument="explanations",
                hint="Choose local ones such as 'ice', 'pdp', 'mplot', 'ale' or 'shap'.",
            )
    return sides


def _is_local_effect_of_features(side: Explainer) -> bool:
    """Whether a side of the question can be shown as it is: it is about single features."""
    return side.influence.key == "individual" and _is_local_effect(side)


def _is_local_effect(side: Explainer) -> bool:
    return side.behavior.key == "local" and side.interaction.key in EFFECTS
