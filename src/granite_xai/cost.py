"""What a fit costs, counted in rows sent to the model.

Counts decide how many rows of a table are used, never the clock: the same table, model, options and
seed give the same plan on any machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from granite_xai.disagreement import both_sides
from granite_xai.evaluations.noise_floor import PROBED_ROWS
from granite_xai.evaluations.values import n_values, pilot_size, pilot_values
from granite_xai.fit import PILOT_SHARE, FitInputs, requested, singles_compared

BYTES_OF_NUMBER = 8
STEPS_OF_ROW = 4  # predictions of each row along a column for accumulated effects, at most


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


def price(inputs: FitInputs, n_held_out: int, budget: int) -> Price:
    """The price of a fit.

    Parameters
    ----------
    inputs : FitInputs
    n_held_out : int
        Rows that judge the regions.
    budget : int
        Rows that may be sent to the model: the pilot takes a share of it, at most.
    """
    table = inputs.table
    if inputs.cells is None:
        plan = requested(inputs)
        of_search = plan.rows(table)
        growth = n_held_out / max(table.n_rows, 1)
        of_held_out = round(of_search * growth * min(growth, 1.0))
        return Price(
            pilot=0,
            of_search=of_search,
            of_held_out=of_held_out,
            values={
                table.names[min(columns)]: len(distinct)
                for columns, distinct in plan.kept.stores.items()
                if len(columns) == 1
            },
            n_bytes=plan.bytes,
        )
    columns = [table.columns[min(own)] for own in singles_compared(inputs)]
    columns = sorted(columns, key=lambda column: column.position)
    values = {column.name: n_values(column, inputs.cells) for column in columns}
    pilot_rows, most_values = pilot_size(columns, inputs.cells, PILOT_SHARE * budget)
    asked = sum(pilot_values(column, inputs.cells, most_values) for column in columns)
    cost_of_row = 1 + sum(values.values())
    steps = set().union(*(side.changes() for side in both_sides(inputs.comparisons)))
    cost_of_row += STEPS_OF_ROW * len(steps)
    outputs = len(inputs.predictor.outputs) or 1
    return Price(
        pilot=min(pilot_rows, table.n_rows) * asked,
        of_search=table.n_rows * cost_of_row,
        of_held_out=n_held_out * cost_of_row,
        values=values,
        n_bytes=BYTES_OF_NUMBER * outputs * table.n_rows * cost_of_row,
    )


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
