"""A question about some columns, however it was given."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from granite_xai.disagreement import Disagreement
from granite_xai.influence import Individual


def about(question: Any, features: Sequence[Hashable]) -> Any:
    """Ask a question that is an object, and about all columns, about some columns; `Granite` does so for names.

    Examples
    --------
    >>> from granite_xai.questions import question
    >>> about(question("ice-pdp"), ["temp"]).first.influence.features
    ('temp',)
    """
    if isinstance(question, Disagreement) and question.first.influence == Individual():
        return question.with_influence(Individual(features))
    return question
