"""Why two explanations differ: because features interact, or because they depend on each other.

Variances and risks under marginal masking mix both, so it is measured: how much of the disagreement would the additive
model keep, the sum of one curve per feature? Its evaluations follow from those of the model without asking it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.typing import Coalition, FloatArray, IntArray, Players
from granite_xai.disagreement.disagreement import Disagreement, ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.matrix import Matrix
from granite_xai.explanation.behavior import Local
from granite_xai.explanation.behavior.behavior import Game
from granite_xai.explanation.masking import Marginal
from granite_xai.surrogate.grid_curves import grid_residuals
from granite_xai.tables import Table

MOST_ROWS = 500
"""Rows on which the additive model is looked at, at most: its matrices are made in memory."""

BYTES_OF_NUMBER = 8  # double precision
INTERACT = "features interact"
DEPEND = "features depend on each other"
EITHER = f"{INTERACT} or depend on each other"


def cause(question: Disagreement) -> str:
    """What makes the two explanations of a question differ; covariances count in variances and risks."""
    first = question.first
    second = question.second
    if first.masking.key != second.masking.key:
        if first.interaction == second.interaction:
            return DEPEND
        return EITHER
    if question.behavior.key == "local" and first.masking.key != "conditional":
        return INTERACT
    return EITHER


def causes(
    questions: Sequence[ResolvedQuestion],
    evaluations: Evaluations,
    floors: FloatArray,
    table: Table,
) -> dict[str, Any]:
    """The cause of each question's disagreement, and the share of it that is left without interactions.

    Parameters
    ----------
    questions : sequence of Q questions
    evaluations : Evaluations
    floors : array of shape (Q,)
        Their noise floors.
    table : Table
        The rows that search.

    Returns
    -------
    dict
        By the label of a question: ``cause``, and ``without_interactions``, the share of the disagreement that a sum of
        the model's curves keeps; None where that cannot be read.
    """
    rows = _rows_looked_at(evaluations)
    causes_by_label = {}
    for question, noise_floor in zip(questions, floors.tolist(), strict=True):
        reason = cause(question.question)
        share: float | None = 0.0
        if reason != INTERACT:
            output = evaluations.outputs[question.output]
            share = _share_without_interactions(
                question.about_output(0), output, noise_floor, table, rows
            )
        causes_by_label[question.question.label] = {
            "cause": reason,
            "without_interactions": share,
        }
    return causes_by_label


def _rows_looked_at(evaluations: Evaluations) -> IntArray:
    """Positions of rows, evenly spread: as many as matrices of all pairs of them fit into a block of memory."""
    n_matrices = 1 + len(evaluations.matrices)
    n_that_fit = int((evaluations.block / BYTES_OF_NUMBER / n_matrices) ** 0.5)
    n_rows = min(evaluations.n_rows, MOST_ROWS, n_that_fit)
    return np.linspace(0, evaluations.n_rows - 1, n_rows).astype(np.intp)


def _share_without_interactions(
    question: ResolvedQuestion,
    evaluations: Evaluations,
    noise_floor: float,
    table: Table,
    rows: IntArray,
) -> float | None:
    """Share of the disagreement of some rows that the additive model keeps; None where it cannot be read."""
    of_rows = evaluations
    if len(rows) < evaluations.n_rows:
        of_rows = evaluations.restrict(rows)
    weight_shares = (evaluations.weights / evaluations.weights.sum())[None]  # (1, n)
    grid_offsets = {}
    for column in evaluations.snapped:  # columns on a grid of a few values (C22)
        offsets = grid_residuals(table, evaluations, column, weight_shares)
        grid_offsets[column] = offsets[0, rows]
    additive = additive_evaluations(question, of_rows, grid_offsets)
    all_rows = Splits.whole(of_rows.weights)
    disagreement_of_model = float(question.regional(of_rows, all_rows)[0, 0])
    if additive is None or disagreement_of_model <= noise_floor:
        return None
    return float(question.regional(additive, all_rows)[0, 0]) / disagreement_of_model


def additive_evaluations(
    question: ResolvedQuestion,
    evaluations: Evaluations,
    grid_offsets: Mapping[Coalition, FloatArray],
) -> Evaluations | None:
    """The evaluations of the additive model on the same rows.

    With the curve ``c_i`` of each player and the mean prediction ``c_0``, the additive model's answer about row x in
    the columns S and row x' in the others is ``c_0 + sum over S of c_i(x) + sum over the others of c_i(x')``.

    Parameters
    ----------
    question : ResolvedQuestion
        Its players are those of the additive model.
    evaluations : Evaluations
    grid_offsets : mapping of column to array of shape (n,)
        For each column on a grid, the curve at a row's own value minus the curve at the value of the grid that stands
        for it.

    Returns
    -------
    Evaluations or None
        None where the curves cannot be read from those of the model.
    """
    players = question.first.layout.players
    reads_baselines = bool(evaluations.against)  # answers about rows whose columns are a baseline's
    has_all_curves = all(player in evaluations.stored_as for player in players)
    if reads_baselines or not has_all_curves:
        return None
    model = _additive_model(players, evaluations, grid_offsets)
    matrices = {}
    for columns, matrix in evaluations.matrices.items():
        visible_part = model.part_of(columns)
        hidden_part = model.part_without(columns)
        matrices[columns] = _sum_of_pairs(matrix, visible_part, hidden_part)
    on_grid = {}
    for columns, grid in evaluations.snapped.items():
        predictions = model.predictions - grid_offsets[columns]
        on_grid[columns] = replace(grid, predictions=predictions)
    attributions = {}
    for term, matrix in evaluations.attributions.items():
        effect = np.zeros(evaluations.n_rows)
        if len(term.members) == 1:  # interactions of an additive model are 0
            effect = model.part_of(union(term.members))
        attributions[term] = _sum_of_pairs(matrix, effect, -effect)
    return replace(
        evaluations,
        predictions=model.predictions,
        matrices=matrices,
        snapped=on_grid,
        attributions=attributions,
    )


class _AdditiveModel(NamedTuple):
    """A mean and one curve per player, read at every row.

    Where a player is on a grid (C22), the model was asked about a row at the value of the grid that stands for the
    row's own. Both readings of its curve are kept; without a grid they are the same.
    """

    mean: float
    curves_on_grid: Mapping[
        Coalition, FloatArray
    ]  # (n,) each, at the value that stands for the row's own
    curves_at_rows: Mapping[Coalition, FloatArray]  # (n,) each, at the row's own value

    @property
    def predictions(self) -> FloatArray:
        """Its answer about every row, (n,)."""
        return self.mean + _sum_of(list(self.curves_at_rows.values()))

    def part_of(self, columns: Coalition) -> FloatArray:
        """What a row's values in these columns add to an answer, (n,): the sum over S of c_i(x)."""
        inside = [curve for player, curve in self.curves_on_grid.items() if player <= columns]
        if not inside:
            return np.zeros_like(self.predictions)
        return _sum_of(inside)

    def part_without(self, columns: Coalition) -> FloatArray:
        """What a row's values in all other columns add to an answer, with the mean, (n,)."""
        inside = [curve for player, curve in self.curves_at_rows.items() if player <= columns]
        if not inside:
            return self.predictions
        return self.predictions - _sum_of(inside)


def _additive_model(
    players: Players, evaluations: Evaluations, grid_offsets: Mapping[Coalition, FloatArray]
) -> _AdditiveModel:
    """The centred curve of each player (its PDP) and the mean prediction."""
    all_rows = Splits.whole(evaluations.weights)
    game = Game.of(Local(), Marginal(), evaluations, all_rows)
    curves_on_grid = {}
    curves_at_rows = {}
    for player in players:
        curve = game.values({player: 1.0, frozenset(): -1.0})[0]
        curves_on_grid[player] = curve
        curves_at_rows[player] = curve + grid_offsets.get(player, 0.0)
    return _AdditiveModel(
        mean=float(np.average(evaluations.predictions, weights=evaluations.weights)),
        curves_on_grid=curves_on_grid,
        curves_at_rows=curves_at_rows,
    )


def _sum_of(curves: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(np.sum(curves, axis=0))


def _sum_of_pairs(matrix: Matrix, visible: FloatArray, hidden: FloatArray) -> Matrix:
    """In the form of a matrix of the model, what a row that is seen and one that is hidden add up to.

    Parameters
    ----------
    matrix : Matrix
        Its lines stand for values, each carried by one of the rows.
    visible, hidden : arrays of shape (n,)
        What each row adds where it is seen, and where it stands for the columns that are not.
    """
    _, carriers, line_of_row = matrix.present
    visible_part = visible[carriers][:, None]
    hidden_part = hidden[None, :]
    return Matrix(visible_part + hidden_part, line_of_row)
