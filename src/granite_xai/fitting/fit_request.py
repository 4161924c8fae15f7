"""What a fit asks of its model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from granite_xai.base.coalitions import union
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.disagreement.disagreement import both_sides
from granite_xai.engine.splits import CUT_BYTES
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.pilot import learn_values, placeholder_cells
from granite_xai.evaluations.value_cells import LearnedValues
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.interaction import Additive
from granite_xai.explanation.masking.fitted import FittedMaskings
from granite_xai.explanation.memory import require_room_for
from granite_xai.explanation.request import EvaluationRequest, request
from granite_xai.fitting.fit_inputs import PILOT_SHARE, FitInputs
from granite_xai.models import SentRows
from granite_xai.tables import recombine


def request_of_fit(inputs: FitInputs) -> EvaluationRequest:
    """What a fit asks of the model before it searches.

    Both sides of every question, what the partitioner reads besides, and what the surrogate reads, unless the
    questions are about some of the columns: then the others are asked about when somebody reads the surrogate.
    """
    effects = [*both_sides(inputs.comparisons), *inputs.extra_effects]
    of_surrogate = set[Coalition]()
    if asks_about_all_players(inputs):
        of_surrogate = _coalitions_of_surrogate(inputs)
    requested = request(inputs.table, effects, of_surrogate, inputs.values, inputs.route.cells)
    n_outputs = len(inputs.predictor.outputs) or 1
    return replace(requested, outputs=n_outputs)


def single_columns(inputs: FitInputs) -> list[int]:
    """Positions of the columns that a fit changes one at a time, for its questions or its surrogate."""
    coalitions = set[Coalition]()
    for comparison in inputs.comparisons:
        for members in comparison.first.layout.sets:
            coalitions.add(union(members))
    if asks_about_all_players(inputs):
        coalitions |= _coalitions_of_surrogate(inputs)
    return _positions_of_single_columns(coalitions)


def require_memory(inputs: FitInputs) -> None:
    """Refuse a fit that needs more memory than allowed, before the model is asked (D33)."""
    if inputs.n_pilot_values is not None:  # as many values as a pilot will choose, at most
        values = placeholder_cells(inputs.table, single_columns(inputs), inputs.n_pilot_values)
        inputs = replace(inputs, values=values)
    requested = request_of_fit(inputs)
    require_room_for(requested, inputs.route, inputs.resources, candidate_bytes(inputs))


def candidate_bytes(inputs: FitInputs) -> int:
    """Memory of the search for one candidate split; more of them are scored at once where they fit."""
    n_rows = inputs.table.n_rows
    of_questions = [question.split_bytes(n_rows, n_rows) for question in inputs.comparisons]
    return CUT_BYTES * n_rows + max(of_questions)


def with_learned_values(inputs: FitInputs) -> FitInputs:
    """The inputs with the values that a pilot chooses for each column; unchanged where there is no pilot."""
    if inputs.n_pilot_values is None:
        return inputs
    with inputs.diagnostics.stage("pilot"):
        values = _learn_values(inputs, single_columns(inputs), inputs.n_pilot_values)
    return replace(inputs, values=values)


def complete_for_surrogate(inputs: FitInputs, evaluations: Evaluations) -> Evaluations:
    """The evaluations with all that the surrogate reads; the model is asked about what the questions did not need.

    Parameters
    ----------
    inputs : FitInputs
    evaluations : Evaluations
        What the model answered about the same rows.
    """
    answered = {frozenset(), evaluations.everything, *evaluations.stored_as}
    lacking = _coalitions_of_surrogate(inputs) - answered
    if not lacking:
        return evaluations
    values = inputs.values
    if inputs.n_pilot_values is not None:
        values = _learn_values(inputs, _positions_of_single_columns(lacking), inputs.n_pilot_values)
    added, _ = evaluate(
        inputs.route,
        request(inputs.table, [], lacking, values, inputs.route.cells),
        FittedMaskings({}, {}, {}),
        resources=inputs.resources,
        weights=inputs.weights,
        y=inputs.y,
        n_jobs=inputs.n_jobs,
    )
    return replace(
        evaluations,
        stored_as={**added.stored_as, **evaluations.stored_as},
        matrices={**added.matrices, **evaluations.matrices},
        snapped={**added.snapped, **evaluations.snapped},
    )


def asks_about_all_players(inputs: FitInputs) -> bool:
    """Whether a fit reads the effects of all players before it searches; otherwise it pays for some.

    It does where its questions are about all of them, where all outputs are explained, and where a column has so many
    levels that the search puts them into the order of their effects (C13).
    """
    if inputs.predictor.outputs:
        return True
    compared = set[Coalition]()
    for comparison in inputs.comparisons:
        for members in comparison.first.layout.sets:
            compared.update(members)
    players = set(inputs.comparisons[0].first.layout.explained)
    return compared >= players or _orders_levels_by_effect(inputs)


def _orders_levels_by_effect(inputs: FitInputs) -> bool:
    """Whether a nominal column has more divisions of its levels into two than candidates are tried (C13)."""
    split_columns = inputs.tree.columns(inputs.table)
    for column in inputs.table.columns:
        if column.kind == "nominal" and column.position in split_columns:
            n_divisions = 2 ** (len(column.levels) - 1)
            if n_divisions > inputs.tree.max_candidates:
                return True
    return False


def _coalitions_of_surrogate(inputs: FitInputs) -> set[Coalition]:
    """Columns that are visible together for the terms of the surrogate, and every column by itself."""
    players = inputs.comparisons[0].first.layout.explained
    terms = Additive(inputs.comparisons[0].effect_order).terms(players, ())
    coalitions = {term for term in terms if isinstance(term, frozenset)}
    return coalitions | {frozenset({position}) for position in inputs.table.explained}


def _positions_of_single_columns(coalitions: Iterable[Coalition]) -> list[int]:
    return sorted(min(columns) for columns in coalitions if len(columns) == 1)


def _learn_values(inputs: FitInputs, positions: list[int], n_values: int) -> LearnedValues:
    """Values that stand for some columns, chosen by what the model does for a few rows."""
    table = inputs.table

    def ask(base_rows: IntArray, donor_rows: IntArray, column: int) -> FloatArray:
        """Predictions of all outputs for rows with one column taken from other rows."""

        def build(batch: slice | IntArray) -> Any:
            return recombine(table, base_rows[batch], table, donor_rows[batch], [column])

        sent = SentRows(len(base_rows), table, base_rows, table, donor_rows, (column,))
        return inputs.predictor.evaluate_outputs(build, sent)

    return learn_values(
        table,
        inputs.weights,
        positions,
        ask,
        n_cells=n_values,
        budget=PILOT_SHARE * inputs.budget,
        seed=inputs.seed,
    )
