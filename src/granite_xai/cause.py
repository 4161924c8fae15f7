"""Why explanations disagree: what would be left of a disagreement if the model had no interactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray
from granite_xai.behavior import Local
from granite_xai.behavior.behavior import Game
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations, Matrix
from granite_xai.interaction import union
from granite_xai.masking import Marginal

MOST = 500
"""Rows that the additive model is looked at on."""
INTERACT, DEPEND, EITHER = (
    "columns interact",
    "columns depend on each other",
    "columns interact or depend on each other",
)


def cause(question: ResolvedQuestion) -> str:
    """What makes the two explanations of a question differ.

    Local effects under marginal masking differ by interactions alone; conditional against marginal by dependence alone
    where effects are otherwise the same; variances and risks mix both, since covariances count in them.
    """
    first, second = question.question.first, question.question.second
    if first.masking.key != second.masking.key:
        return DEPEND if first.interaction == second.interaction else EITHER
    return INTERACT if question.question.behavior.key == "local" and first.masking.key != "conditional" else EITHER


def causes(
    questions: Sequence[ResolvedQuestion], evaluations: Evaluations, floors: FloatArray
) -> dict[str, dict[str, Any]]:
    """For each question its cause, and the share of the disagreement that an additive model would keep.

    The additive model has one average curve for each column (or group) of all rows; its recombined rows are sums of
    curves, so the model is not asked. None where its values are not known.
    """
    count = min(evaluations.n_rows, MOST)
    rows = np.linspace(0, evaluations.n_rows - 1, count).astype(np.intp)
    some = evaluations.restrict(rows) if count < evaluations.n_rows else evaluations
    return {
        question.question.label: {"cause": cause(question), "without_interactions": _kept(question, some, floor)}
        for question, floor in zip(questions, floors.tolist(), strict=True)
    }


def _kept(question: ResolvedQuestion, evaluations: Evaluations, floor: float) -> float | None:
    if cause(question) == INTERACT:
        return 0.0
    without = additive_evaluations(question, evaluations)
    whole = Splits.whole(evaluations.weights)
    total = float(question.regional(evaluations, whole)[0, 0])
    if without is None or total <= floor:
        return None
    return float(question.regional(without, whole)[0, 0]) / total


def additive_evaluations(question: ResolvedQuestion, evaluations: Evaluations) -> Evaluations | None:
    """The evaluations of the additive model on the same rows; None where they cannot be read from those of the model.

    With the curve ``c_i`` of each player, ``E_S[x, x'] = sum over S of c_i(x) + sum over the others of c_i(x')``.
    """
    players = question.first.layout.players
    if evaluations.snapped or evaluations.against or not all(player in evaluations.stored_as for player in players):
        return None
    game = Game.of(Local(), Marginal(), evaluations, Splits.whole(evaluations.weights))
    curves = {player: game.values({player: 1.0, frozenset(): -1.0})[0] for player in players}
    total: FloatArray = np.sum(list(curves.values()), axis=0)

    start = float(np.average(evaluations.predictions, weights=evaluations.weights))

    def of(columns: Coalition) -> FloatArray:
        inside = [curve for player, curve in curves.items() if player <= columns]
        return np.sum(inside, axis=0) if inside else np.zeros_like(total)

    def pairs(matrix: Matrix, own: FloatArray, rest: FloatArray) -> Matrix:
        _, carriers, index = matrix.present
        return Matrix(own[carriers][:, None] + rest[None, :], index)

    matrices, phi = {}, {}
    for columns, matrix in evaluations.matrices.items():
        matrices[columns] = pairs(matrix, of(columns), start + total - of(columns))
    for term, matrix in evaluations.attributions.items():
        own = of(union(term.members)) if len(term.members) == 1 else 0.0 * total  # no effects of several players
        phi[term] = pairs(matrix, own, -own)
    return replace(evaluations, predictions=start + total, matrices=matrices, attributions=phi)
