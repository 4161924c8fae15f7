"""The cost of a fit in rows sent to the model: what it counts, and that it is never too low."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from granite_xai.fitting.cost import FitCost, cost_of_fit
from granite_xai.fitting.inputs import open_inputs

import granite_xai as gx
from granite_xai.base.errors import Diagnostics
from granite_xai.evaluations.pilot import CELLS, PILOTS
from granite_xai.evaluations.probe import PROBED_ROWS

DRAW = np.random.default_rng(0)
N = 900
FRAME = pd.DataFrame(
    {
        "wide": DRAW.normal(size=N),
        "also wide": DRAW.normal(size=N),
        "few": DRAW.integers(0, 5, N),
        "gaps": np.where(DRAW.random(N) < 0.2, np.nan, DRAW.normal(size=N)),
    }
)


def model(frame):
    gaps = frame["gaps"].isna().to_numpy()
    return (frame["wide"] * (frame["also wide"] > 0)).to_numpy() + frame["few"].to_numpy() * gaps


def inputs_of(question="ice-pdp", n_rows=600, frame=FRAME, **options):
    g = gx.Granite(model, question, missing="allow", **options)
    opened = open_inputs(g, frame, None, None, None, Diagnostics())
    return opened.resolve(np.arange(n_rows), Diagnostics())


def test_the_parts_add_up_with_the_probe():
    found = FitCost(pilot=10, of_search=200, of_held_out=3000, values={}, n_bytes=0)
    assert found.model_rows == PROBED_ROWS + 3210


def test_every_row_costs_one_and_the_values_of_each_column():
    found = cost_of_fit(inputs_of(), n_held_out=300)
    assert found.values == {"wide": 16, "also wide": 16, "few": 5, "gaps": 17}
    assert found.of_search == 600 * (1 + 16 + 16 + 5 + 17)
    assert found.of_held_out == 300 * (1 + 16 + 16 + 5 + 17)
    assert found.n_bytes == 8 * found.of_search


def test_columns_with_few_values_have_no_pilot():
    assert cost_of_fit(inputs_of(features=["few"]), 0).pilot == 0
    rows, values = PILOTS[0]
    assert cost_of_fit(inputs_of(features=["wide"]), 0).pilot == rows * min(600, values + 2)


def test_of_some_columns_the_others_cost_nothing():
    found = cost_of_fit(inputs_of(features=["few", "gaps"]), 0)
    assert found.values == {"few": 5, "gaps": 17}
    assert found.of_search == 600 * (1 + 5 + 17)


def test_max_grid_is_the_number_of_values():
    found = cost_of_fit(inputs_of(resources=gx.Resources(max_grid=8)), 0)
    assert found.values == {"wide": 8, "also wide": 8, "few": 5, "gaps": 9}
    exact = cost_of_fit(inputs_of(resources=gx.Resources(max_grid=None)), 0)
    assert exact.pilot == 0
    assert exact.values["wide"] == 600
    assert exact.of_search > 600 * 1200


@pytest.mark.parametrize("budget", [3000, 20_000, 100_000, 1_000_000])
def test_a_pilot_takes_a_quarter_of_the_budget_or_is_the_smallest(budget):
    inputs = inputs_of(resources=gx.Resources(max_evaluations=budget))
    rows, values = PILOTS[-1]
    smallest = 3 * rows * (values + 2)
    assert cost_of_fit(inputs, 0).pilot <= max(budget / 4, smallest)


def test_a_pilot_has_no_more_rows_than_the_table():
    few = cost_of_fit(inputs_of(n_rows=20, features=["wide"]), 0)
    assert few.pilot == 20 * 20  # rows times values
    assert few.values == {"wide": CELLS}


def test_the_cost_for_any_part_of_a_table_is_not_below_that_of_one():
    """600 rows have one value of a column, the other 300 have 12."""
    rare = FRAME.assign(few=np.where(np.arange(N) < 600, 0, np.arange(N) % 12))
    g = gx.Granite(model, missing="allow")
    opened = open_inputs(g, rare, None, None, None, Diagnostics())
    frequent = np.flatnonzero(opened.rows.positions < 600)
    others = np.flatnonzero(opened.rows.positions >= 300)
    alone, other = (opened.resolve(rows, Diagnostics()) for rows in (frequent, others))
    anywhere = cost_of_fit(alone, 0, opened.rows.table)
    assert cost_of_fit(alone, 0).values["few"] == 1
    assert anywhere.values["few"] == 12
    assert cost_of_fit(alone, 0).of_search < cost_of_fit(other, 0).of_search <= anywhere.of_search


@pytest.mark.parametrize("question", ["shap-pdp", "coe", "ale"])
def test_held_out_rows_of_other_questions_cost_what_they_would_search_for(question):
    options = {} if question == "ale" else {"resources": gx.Resources(max_grid=None)}
    searching = cost_of_fit(inputs_of(question, n_rows=100, **options), 0).of_search
    judging = cost_of_fit(inputs_of(question, n_rows=200, **options), n_held_out=100).of_held_out
    # Columns with gaps have fewer values than rows: what 100 other rows have is not known beforehand.
    assert 0.97 * searching <= judging <= 1.1 * searching
