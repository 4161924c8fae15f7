"""The target that losses compare predictions with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from granite_xai.base.typing import FloatArray
from granite_xai.explanation.behavior.behavior import Behavior
from granite_xai.models import Predictor
from granite_xai.models.targets import read_target
from granite_xai.tables import Table


def target_for(
    y: Any,
    table: Table,
    predictor: Predictor,
    *behaviors: Behavior,
    labels: Sequence[str] = (),
) -> FloatArray | None:
    """The target as these behaviors need it; None where none of them does.

    Parameters
    ----------
    y : array-like or None
        The user's target.
    table : Table
        The rows it belongs to.
    predictor : Predictor
        The model.
    behaviors : Behavior
        One for each question.
    labels : sequence of str
        What the user calls the question of each behavior, for the message about a target that is missing.

    Returns
    -------
    array of shape (n,) or None
    """
    needing = [place for place, behavior in enumerate(behaviors) if behavior.needs_y]
    label = "a question about risk"
    if needing and labels:
        label = labels[needing[0]]
    probability_loss = None
    for behavior in behaviors:
        probability_loss = probability_loss or behavior.needs_probability
    return read_target(y, table, predictor, bool(needing), probability_loss, needed_by=label)
