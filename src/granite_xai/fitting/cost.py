"""What a fit costs, counted in rows sent to the model.

Counts decide how many rows of a table are used, never the clock: the same table, model, options and
seed give the same plan on any machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from granite_xai.disagreement.disagreement import both_sides
from granite_xai.evaluations.probe import PROBED_ROWS
from granite_xai.evaluations.values import n_values, pilot_cost, pilot_size
from granite_xai.explanation.masking.accumulated import fit_steps
from granite_xai.explanation.request import EvaluationRequest
from granite_xai.fitting.fit_inputs import PILOT_SHARE, FitInputs
from granite_xai.fitting.fit_request import request_of_fit, single_columns
from granite_xai.tables import Table

BYTES_OF_NUMBER = 8
OTHER_ROWS = 1.1  # how much more other rows of a table may cost along their columns (ALE), at most


@dataclass(frozen=True, slots=True)
class Price:
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


def price(inputs: FitInputs, n_held_out: int, drawn_from: Table | None = None) -> Price:
    """The price of a fit.

    Parameters
    ----------
    inputs : FitInputs
    n_held_out : int
        Rows that judge the regions.
    drawn_from : Table, optional
        The table of which the rows are a part: a price that holds for any other part as well.
    """
    table = inputs.table
    if inputs.cells is None:
        plan = request_of_fit(inputs)
        of_search = plan.rows(table)
        return Price(
            pilot=0,
            of_search=of_search,
            of_held_out=_held_out_rows(plan, of_search, n_held_out),
            values={
                table.names[min(columns)]: len(distinct)
                for columns, distinct in plan.kept.stores.items()
                if len(columns) == 1
            },
            n_bytes=plan.bytes,
        )
    positions = single_columns(inputs)
    columns = [(drawn_from or table).columns[position] for position in positions]
    values = {column.name: n_values(column, inputs.cells) for column in columns}
    pilot_rows, most_values = pilot_size(columns, inputs.cells, PILOT_SHARE * inputs.budget)
    pilot_rows = min(pilot_rows, table.n_rows)
    cost_of_row = (
        1 + sum(values.values()) + _steps_of_row(inputs) * (OTHER_ROWS if drawn_from else 1)
    )
    outputs = len(inputs.predictor.outputs) or 1
    return Price(
        pilot=pilot_cost(columns, inputs.cells, pilot_rows, most_values),
        of_search=round(table.n_rows * cost_of_row),
        of_held_out=round(n_held_out * cost_of_row),
        values=values,
        n_bytes=round(BYTES_OF_NUMBER * outputs * table.n_rows * cost_of_row),
    )


def _held_out_rows(plan: EvaluationRequest, of_search: int, n_held_out: int) -> int:
    """Rows sent to the model about held-out rows: each at all their values, of which there are no more than rows."""
    growth = n_held_out / plan.kept.n_rows
    n_values = 0
    for stores in (plan.kept.stores, plan.streamed.stores):
        for distinct in stores.values():
            n_values += min(round(len(distinct) * max(growth, 1.0)), n_held_out)
    further = of_search - plan.kept.rows - plan.streamed.rows
    return n_held_out * n_values + round(further * growth)


def _steps_of_row(inputs: FitInputs) -> float:
    """Predictions of a row along its columns, for accumulated effects; on average."""
    keys = set().union(*(side.changes() for side in both_sides(inputs.comparisons)))
    intervals = [fit_steps(key, inputs.table, inputs.weights) for key in keys]
    counts = [own.points(own.fitted)[2] for own in intervals if own is not None]
    return sum(float(count.mean()) for count in counts)


def plan_facts(
    inputs: FitInputs, found: Price, n_held_out: int, n_available: int, seconds_per_row: float
) -> dict[str, Any]:
    """The plan of a fit in plain numbers, for `g.plan(X)` and ``diagnostics_["plan"]``."""
    return {
        "rows": inputs.table.n_rows,
        "held_out": n_held_out,
        "available": n_available,
        "columns": inputs.table.n_columns,
        "values": found.values,
        "pilot_rows": found.pilot,
        "model_rows": found.model_rows,
        "bytes": found.n_bytes,
        "seconds": found.model_rows * seconds_per_row,
    }
