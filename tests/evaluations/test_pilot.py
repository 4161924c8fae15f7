"""A pilot chooses cells that follow the model, and sends no more rows than its budget."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from evaluations.learned import (
    JUMP,
    by_kind,
    labelled,
    learned,
    numbers,
    pilot_levels,
    read_table,
    step,
    straddling,
    waves,
)
from granite_xai.evaluations import pilot as module
from granite_xai.evaluations.pilot import (
    CELLS,
    FEW_INTERACTIONS,
    PILOTS,
    first_carriers,
    is_screened,
    n_values,
    pilot_cost,
    pilot_size,
    planned_cost,
)


@pytest.mark.parametrize("seed", range(3))
def test_no_cell_straddles_a_jump(seed):
    """Cells of equal numbers of rows would."""
    frame = numbers(seed=seed)
    found, table, _ = learned(frame, step)
    own = found.columns[1]
    assert straddling(own.cell_of_level, table.columns[1].levels, JUMP) == set()
    assert len(own.standing) == CELLS
    rows = np.argsort(np.argsort(frame["x1"].to_numpy())) * CELLS // 400
    assert straddling(rows, frame["x1"].to_numpy(), JUMP)


def test_of_more_values_than_are_asked_about_each_joins_the_nearest_that_was():
    """A jump is then met to the next value of the pilot: six rows of three thousand, at most."""
    frame = numbers(n=3000)
    found, table, _ = learned(frame, step, [1])
    own = found.columns[1]
    levels = table.columns[1].levels
    assert len(pilot_levels(own)) <= 512 + 2  # the ends as well
    assert {0, 2999} <= set(pilot_levels(own).tolist())
    gaps = np.abs(np.arange(3000)[:, None] - pilot_levels(own))
    asked = pilot_levels(own)[np.argmin(gaps, axis=1)]
    np.testing.assert_array_equal(own.cell_of_level, own.cell_of_level[asked])
    for cell in straddling(own.cell_of_level, levels, JUMP):
        inside = levels[own.cell_of_level == cell]
        assert min(np.sum(inside > JUMP), np.sum(inside <= JUMP)) <= 6


@pytest.mark.parametrize("cells", [2, 5, 16])
def test_cells_are_ascending_runs_and_a_level_of_each_stands_for_it(cells):
    frame = numbers()
    found, table, _ = learned(frame, step, cells=cells)
    assert set(found.columns) == {0, 1, 2}
    for position, own in found.columns.items():
        assert len(own.cell_of_level) == len(table.columns[position].levels)
        assert np.all(np.diff(own.cell_of_level) >= 0)
        assert sorted(set(own.cell_of_level.tolist())) == list(range(cells))
        np.testing.assert_array_equal(own.cell_of_level[own.standing], np.arange(cells))
        stand_in = own.stand_ins(table.columns[position])
        np.testing.assert_array_equal(stand_in, own.standing[own.cell_of_level])


def test_where_nothing_interacts_the_mean_curve_decides_and_then_the_mass():
    """A column without an effect has even cells; one with a flat part of its curve has a large one there."""
    frame = numbers(n=320)
    weights = np.where(frame["x0"] > 0, 3.0, 1.0)
    found, table, _ = learned(
        frame, lambda frame: frame["x0"] ** 3 + np.sin(frame["x1"]), weights=weights
    )
    unused, curved = found.columns[2], found.columns[0]
    codes = [column.codes for column in table.columns]
    mass = np.bincount(unused.cell_of_level[codes[2]], weights=weights)
    assert mass.max() < 4 * mass.min()
    mass = np.bincount(curved.cell_of_level[codes[0]], weights=weights)
    assert abs(table.columns[0].levels[curved.standing[np.argmax(mass)]]) < 0.3
    (curve,) = curved.curves
    levels = table.columns[0].levels
    known = 2.0 + levels[curved.standing] ** 3
    np.testing.assert_allclose(curve.at_levels(known), 2.0 + levels[curve.levels] ** 3, atol=1e-9)


def test_few_values_are_all_evaluated():
    """No cells and no questions for columns with no more levels than cells; missing is a value of its own."""
    frame = pd.DataFrame({"few": np.arange(60) % 5, "many": np.arange(60.0)})
    found, table, asked = learned(frame, lambda frame: frame["few"] * frame["many"])
    assert set(found.columns) == {1}
    assert set(asked.calls) == {1}
    assert [n_values(column, 16) for column in table.columns] == [5, 16]
    none, _, unasked = learned(frame, lambda frame: frame["few"], [0])
    assert (none.columns, none.pilot_rows, unasked.rows) == ({}, 0, 0)
    gaps = read_table(pd.DataFrame({"few": [1.0, np.nan, 2.0]}))
    assert n_values(gaps.columns[0], 16) == 3


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_scale_of_several_outputs_does_not_matter(scale):
    """Each output counts by its own spread, also where it is compared with what is flat."""
    frame = numbers()

    def outputs(frame):
        return np.column_stack([scale * step(frame), 1e3 * scale * (frame["x2"] * frame["x0"])])

    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=400)
    found, table, _ = learned(frame, outputs, [1], weights=weights)
    assert straddling(found.columns[1].cell_of_level, table.columns[1].levels, JUMP) == set()


def test_weights_decide_where_cells_are_fine():
    """x0 interacts smoothly: where the mass is, there are more cells."""
    frame = numbers(n=500)
    shares = []
    for heavy in (1.0, 200.0):
        weights = np.where(frame["x0"] > 0, heavy, 1.0)
        found, table, _ = learned(frame, lambda f: f["x0"] * f["x1"], [0], weights=weights)
        standing = table.columns[0].levels[found.columns[0].standing]
        shares.append(np.mean(standing > 0))
    assert 0.35 < shares[0] < 0.65 < 0.75 < shares[1]


def test_labels_merge_without_order():
    """Four kinds, scattered over the alphabet: four cells."""
    frame, kind = labelled()
    found, table, _ = learned(frame, by_kind(kind), [1], cells=4)
    own = found.columns[1]
    kinds = np.array([kind[label] for label in table.columns[1].levels])
    for cell in range(4):
        assert len(set(kinds[own.cell_of_level == cell])) == 1
    assert len(set(own.cell_of_level.tolist())) == 4
    np.testing.assert_array_equal(own.cell_of_level[own.standing], np.arange(4))


def test_labels_that_the_pilot_did_not_ask_about_join_by_their_prediction():
    """More labels than values of the pilot: the rare ones go where a row of theirs is predicted alike."""
    frame, kind = labelled(n=900, n_levels=60)
    frame.loc[:, "x0"] = np.abs(frame["x0"]) + 0.5
    budget = 8 * 32 + 28 * 5  # the coarsest pilot, and 28 labels one by one
    found, table, _ = learned(frame, by_kind(kind), [1], cells=4, budget=budget)
    own = found.columns[1]
    assert len(pilot_levels(own)) == 32
    kinds = np.array([kind[label] for label in table.columns[1].levels])
    standing = kinds[own.standing]
    np.testing.assert_array_equal(standing[own.cell_of_level], kinds)


def test_beyond_so_many_rare_labels_all_join_the_heaviest_cell(monkeypatch):
    """They are not asked about; the cell with most mass is the safest guess."""
    monkeypatch.setattr(module, "RARE_LABELS", 0)
    frame, kind = labelled(n=900, n_levels=60)
    of_kind = frame["label"].map(kind) == 2
    heavy = frame["label"] == frame["label"][of_kind].min()  # alone in its cell: others are rare
    weights = np.where(heavy, 100.0, np.where(of_kind, 0.5, 1.0))
    found, table, asked = learned(
        frame, by_kind(kind), [1], cells=4, budget=8 * 32, weights=weights
    )
    own = found.columns[1]
    kinds = np.array([kind[label] for label in table.columns[1].levels])
    rare = np.setdiff1d(np.arange(60), pilot_levels(own))
    assert len(rare) == 28
    assert set(kinds[own.standing[own.cell_of_level[rare]]]) == {2}
    assert asked.rows <= 8 * 32


def test_the_same_seed_gives_the_same_cells_and_another_seed_another_pilot():
    frame = numbers()
    first, again, other = (learned(frame, waves, seed=seed)[0] for seed in (1, 1, 2))
    curves = [each.columns[1].curves[0].offsets for each in (first, again, other)]
    for position, own in first.columns.items():
        np.testing.assert_array_equal(own.cell_of_level, again.columns[position].cell_of_level)
    np.testing.assert_array_equal(curves[0], curves[1])
    assert not np.allclose(curves[0], curves[2])
    assert first.pilot_rows == 64


@pytest.mark.parametrize("budget", [700, 5_000, 20_000, 40_000, 100_000])
def test_a_pilot_sends_no_more_rows_than_its_budget(budget):
    """Numbers and labels, with more values than are asked about; rare labels that are asked one by one."""
    frame = numbers(n=1500, d=2)
    frame["label"] = np.resize([f"l{k}" for k in range(700)], 1500)
    found, table, asked = learned(frame, lambda f: f["x0"] * f["x1"], budget=budget)
    assert set(found.columns) == {0, 1, 2}
    size = pilot_size(table.columns, CELLS, budget)
    assert found.pilot_rows == size.n_rows
    assert asked.rows <= planned_cost(table.columns, CELLS, budget, n_rows=1500)
    coarsest = pilot_cost(table.columns, CELLS, PILOTS[-1])
    assert asked.rows <= max(budget, coarsest)
    assert coarsest < 3000


def test_the_finest_pilot_that_can_be_paid_is_taken():
    table = read_table(numbers(n=600))
    for finer, coarser in pairwise(PILOTS):
        price = 3 * finer[0] * (finer[1] + 2)
        assert pilot_size(table.columns, CELLS, price) == finer
        assert pilot_size(table.columns, CELLS, price - 1) == coarser
    assert pilot_size(table.columns, CELLS, 0) == PILOTS[-1]


def test_after_a_screen_the_columns_that_interact_are_asked_at_more_values():
    """Of twenty columns two interact; all together send no more rows than twenty equal pilots could."""
    frame = numbers(n=600, d=20)

    def model(table):
        return step(table) + table[[f"x{k}" for k in range(2, 20)]].sum(axis=1)

    budget = 180_000
    columns = read_table(frame).columns
    assert is_screened(columns, CELLS, pilot_size(columns, CELLS, budget))
    found, table, asked = learned(frame, model, budget=budget)
    n_levels = [len(found.columns[k].curves[0].levels) for k in range(20)]
    assert min(n_levels[:2]) >= PILOTS[0].n_values
    assert max(n_levels[2:]) <= FEW_INTERACTIONS.n_values + 2
    assert asked.rows <= planned_cost(table.columns, CELLS, budget, n_rows=600) == budget
    assert straddling(found.columns[1].cell_of_level, table.columns[1].levels, JUMP) == set()


def test_where_all_columns_interact_alike_a_screen_changes_nothing():
    frame = numbers(n=600, d=20)
    budget = 170_000
    columns = read_table(frame).columns
    size = pilot_size(columns, CELLS, budget)
    assert is_screened(columns, CELLS, size)
    assert not is_screened(columns[:15], CELLS, size)
    found, _, asked = learned(
        frame, lambda table: np.prod(1 + table.to_numpy() / 9, axis=1), budget=budget
    )
    n_levels = {len(found.columns[k].curves[0].levels) for k in range(20)}
    assert n_levels <= {size.n_values, size.n_values + 1, size.n_values + 2}
    assert asked.rows <= budget


def test_a_small_table_is_its_own_pilot():
    found, _, asked = learned(numbers(n=30), step)
    assert found.pilot_rows == 30
    assert asked.rows == 3 * 30 * 30


def test_the_first_row_of_each_level_carries_it():
    column = read_table(pd.DataFrame({"x": [3.0, np.nan, 1.0, 3.0, 1.0, 2.0]}))
    np.testing.assert_array_equal(first_carriers(column.columns[0]), [2, 5, 0])
