"""Operators of today's package as those of the new core, by their names and fields."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from granite_xai.algebra import accumulated, behavior, influence, interaction, masking
from granite_xai.algebra.disagreement import Disagreement
from granite_xai.algebra.explainer import Explainer

MODULES = (masking, accumulated, behavior, interaction, influence)


def operator(today: Any) -> Any:
    """The same operator, or the same explanation or question made of operators."""
    if type(today).__name__ == "Explainer":
        axes = (today.masking, today.behavior, today.interaction, today.influence)
        return Explainer(*map(operator, axes), name=today.name)
    if type(today).__name__ == "Disagreement":
        return Disagreement(operator(today.first), operator(today.second), today.loss, today.name)
    for module in MODULES:
        kind = getattr(module, type(today).__name__, None)
        if kind is not None:
            names = {field.name for field in fields(kind)}
            values = {name: getattr(today, name) for name in names if hasattr(today, name)}
            return kind(**values)
    raise TypeError(f"{today!r} has no counterpart")
