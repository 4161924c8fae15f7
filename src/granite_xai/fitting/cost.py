"""What a fit costs, counted in rows sent to the model.

Counts decide how many rows of a table are used, never the clock: the same table, model, options and
seed give the same plan on any machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from granite_xai.base.typing import AleColumn
from granite_xai.disagreement.disagreement import both_sides
from granite_xai.evaluations.pilot import n_values, planned_cost
from granite_xai.evaluations.probe import PROBED_ROWS
from granite_xai.explanation.masking.accumulated import fit_intervals
from granite_xai.explanation.request import EvaluationRequest
from granite_xai.fitting.fit_inputs import PILOT_SHARE, FitInputs
from granite_xai.fitting.fit_request import request_of_fit, single_columns
from granite_xai.tables import Table

BYTES_OF_NUMBER = 8  # double precision
MARGIN_FOR_OTHER_ROWS = 1.1
"""How many times the predictions of a row along its columns (ALE) other rows of the table may need, at most."""


@dataclass(frozen=True, slots=True)
class FitCost:
    """What a fit on some rows sends to the model and keeps in memory.

    Parameters
    ----------
    pilot, of_search, of_held_out : int
        Rows sent to the model by the pilot, for the rows that search, and for those held out.
    values : dict
        Values at which the model is asked about each column, by name.
    n_bytes : int
        Bytes of the predictions that are kept.
    """

    pilot: int
    of_search: int
    of_held_out: int
    values: dict[str, int]
    n_bytes: int

    @property
    def model_rows(self) -> int:
        """Rows sent to the model in all, the probe included."""
        return PROBED_ROWS + self.pilot + self.of_search + self.of_held_out


def cost_of_fit(inputs: FitInputs, n_held_out: int, drawn_from: Table | None = None) -> FitCost:
    """Count the rows that a fit sends to the model, and the bytes of its answers.

    Parameters
    ----------
    inputs : FitInputs
    n_held_out : int
        Rows that judge the regions.
    drawn_from : Table, optional
        The table of which the rows are a part: a cost that holds for any other part as well.
    """
    if inputs.n_pilot_values is None:
        return _cost_of_request(inputs, n_held_out)
    return _cost_with_pilot(inputs, inputs.n_pilot_values, n_held_out, drawn_from)


def _cost_of_request(inputs: FitInputs, n_held_out: int) -> FitCost:
    """The cost where no pilot chooses values: that of the request itself."""
    table = inputs.table
    requested = request_of_fit(inputs)
    of_search = requested.n_model_rows(table)
    values = {}
    for columns, distinct in requested.kept.stores.items():
        if len(columns) == 1:
            values[table.names[min(columns)]] = len(distinct)
    return FitCost(
        pilot=0,
        of_search=of_search,
        of_held_out=_n_sent_for_held_out(requested, of_search, n_held_out),
        values=values,
        n_bytes=requested.n_bytes,
    )


def _cost_with_pilot(
    inputs: FitInputs, n_pilot_values: int, n_held_out: int, drawn_from: Table | None
) -> FitCost:
    """The cost where a pilot chooses values: every row is asked about as it is and at these values (C22)."""
    n_rows = inputs.table.n_rows
    table = inputs.table if drawn_from is None else drawn_from
    columns = [table.columns[position] for position in single_columns(inputs)]
    values = {column.name: n_values(column, n_pilot_values) for column in columns}
    steps_of_row = _steps_of_row(inputs)
    if drawn_from is not None:
        steps_of_row *= MARGIN_FOR_OTHER_ROWS
    cost_of_row = 1 + sum(values.values()) + steps_of_row
    n_outputs = len(inputs.predictor.outputs) or 1
    return FitCost(
        pilot=planned_cost(columns, n_pilot_values, PILOT_SHARE * inputs.budget, n_rows),
        of_search=round(n_rows * cost_of_row),
        of_held_out=round(n_held_out * cost_of_row),
        values=values,
        n_bytes=round(BYTES_OF_NUMBER * n_outputs * n_rows * cost_of_row),
    )


def _n_sent_for_held_out(requested: EvaluationRequest, of_search: int, n_held_out: int) -> int:
    """Rows sent to the model about held-out rows, where no pilot chooses values.

    Every held-out row is recombined with every distinct value of the held-out rows. These are expected to have as many
    values as the rows that search, more if there are more of them, and no more than there are held-out rows.

    Parameters
    ----------
    requested : EvaluationRequest
        About the rows that search.
    of_search : int
        Rows that it sends to the model.
    n_held_out : int
    """
    growth = n_held_out / requested.kept.n_rows
    n_distinct_values = 0
    for stores in (requested.kept.stores, requested.streamed.stores):
        for distinct in stores.values():
            n_distinct_values += min(round(len(distinct) * max(growth, 1.0)), n_held_out)
    n_recombined = requested.kept.n_model_rows + requested.streamed.n_model_rows
    return n_held_out * n_distinct_values + round((of_search - n_recombined) * growth)


def _steps_of_row(inputs: FitInputs) -> float:
    """Predictions of a row along its columns, for accumulated effects; on average."""
    columns = set[AleColumn]()
    for effect in both_sides(inputs.comparisons):
        columns |= effect.changes()
    steps_by_column = []
    for column in columns:
        intervals = fit_intervals(column, inputs.table, inputs.weights)
        if intervals is not None:
            _, _, n_points = intervals.points(intervals.fitted)
            steps_by_column.append(float(n_points.mean()))
    return math.fsum(steps_by_column)  # the same in any order of the columns


def plan_facts(
    inputs: FitInputs, cost: FitCost, *, n_held_out: int, n_available: int, seconds_per_row: float
) -> dict[str, Any]:
    """The plan of a fit in plain numbers, for `g.plan(X)` and ``diagnostics_["plan"]``.

    Parameters
    ----------
    inputs : FitInputs
    cost : FitCost
    n_held_out, n_available : int
        Rows that are held out, and rows of the user's table.
    seconds_per_row : float
        Of the model, for a remark about the time.
    """
    return {
        "rows": inputs.table.n_rows,
        "held_out": n_held_out,
        "available": n_available,
        "columns": inputs.table.n_columns,
        "values": cost.values,
        "pilot_rows": cost.pilot,
        "model_rows": cost.model_rows,
        "bytes": cost.n_bytes,
        "seconds": cost.model_rows * seconds_per_row,
    }
