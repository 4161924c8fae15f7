"""A pilot chooses cells that follow the model, sends no more rows than its budget, and is read on other tables."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from granite_xai.evaluations import pilot as module
from granite_xai.evaluations.pilot import (
    CELLS,
    FEW_INTERACTIONS,
    PILOTS,
    learn_cells,
    n_values,
    plan_pilot,
)
from granite_xai.evaluations.values import Cells, places_among
from granite_xai.tables import read_table as read_any_table
from strategies import examples

JUMP = 0.217


def read_table(frame):
    return read_any_table(frame, missing="allow")


class Asked:
    """Answers about recombined rows of a frame, and counts them."""

    def __init__(self, frame, model):
        self.frame = frame
        self.model = model
        self.rows = 0
        self.calls = []

    def __call__(self, base, donors, column):
        self.rows += len(base)
        self.calls.append(column)
        mixed = self.frame.iloc[base].reset_index(drop=True)
        mixed[mixed.columns[column]] = self.frame.iloc[donors, column].to_numpy()
        answers = np.asarray(self.model(mixed), dtype=float)
        return answers[None] if answers.ndim == 1 else answers.T


def learned(frame, model, positions=None, *, cells=CELLS, budget=1e9, seed=0, weights=None):
    """The cells of a frame's columns, its table, and what was asked."""
    table = read_table(frame)
    asked = Asked(frame, model)
    weights = np.ones(len(frame)) if weights is None else weights
    positions = range(frame.shape[1]) if positions is None else positions
    found = learn_cells(table, weights, positions, asked, n_cells=cells, budget=budget, seed=seed)
    return found, table, asked


def cells_on(own, column):
    """The cell of each level of another table, by what stands for it there."""
    stand_in = places_among(column, own.column)[own.stand_ins(column)]
    return own.cell_of_level[np.maximum(stand_in, 0)]


def numbers(n=400, d=3, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, d))
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(d)])


def step(frame):
    """x0 turns its sign where x1 passes a value."""
    return frame["x0"] * np.where(frame["x1"] > JUMP, 1.0, -1.0) + frame["x2"] ** 2


def waves(frame):
    """Every row interacts in its own way."""
    return np.sin(3 * frame["x0"] * frame["x1"] + 5 * frame["x2"] * frame["x0"])


def pilot_levels(own):
    """Levels at which the pilot rows were asked."""
    return own.curves[0].levels


def straddling(cells, levels, at):
    """Cells with levels on both sides of a value."""
    lower = set(cells[levels <= at].tolist())
    upper = set(cells[levels > at].tolist())
    return lower & upper


def labelled(n=600, n_levels=40, seed=0):
    """Labels of four kinds, mixed in their order, and a number."""
    generator = np.random.default_rng(seed)
    labels = [f"l{k:03}" for k in range(n_levels)]
    frame = pd.DataFrame(
        {"x0": generator.normal(size=n), "label": generator.permutation(np.resize(labels, n))}
    )
    kind = dict(zip(labels, generator.permutation(np.arange(n_levels) % 4), strict=True))
    return frame, kind


def by_kind(kind):
    return lambda frame: frame["x0"] * frame["label"].map(kind).astype(float)


@pytest.mark.parametrize("seed", range(3))
def test_no_cell_straddles_a_jump(seed):
    """Cells of equal numbers of rows would."""
    frame = numbers(seed=seed)
    found, table, _ = learned(frame, step)
    own = found[1]
    assert straddling(own.cell_of_level, table.columns[1].levels, JUMP) == set()
    assert len(own.standing) == CELLS
    rows = np.argsort(np.argsort(frame["x1"].to_numpy())) * CELLS // 400
    assert straddling(rows, frame["x1"].to_numpy(), JUMP)


def test_of_more_values_than_are_asked_about_each_joins_the_nearest_that_was():
    """A jump is then met to the next value of the pilot: six rows of three thousand, at most."""
    frame = numbers(n=3000)
    found, table, _ = learned(frame, step, [1])
    own = found[1]
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
    assert set(found) == {0, 1, 2}
    for position, own in found.items():
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
    unused, curved = found[2], found[0]
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
    assert set(found) == {1}
    assert set(asked.calls) == {1}
    assert [n_values(column, 16) for column in table.columns] == [5, 16]
    none, _, unasked = learned(frame, lambda frame: frame["few"], [0])
    assert (none, unasked.rows) == ({}, 0)
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
    assert straddling(found[1].cell_of_level, table.columns[1].levels, JUMP) == set()


def test_weights_decide_where_cells_are_fine():
    """x0 interacts smoothly: where the mass is, there are more cells."""
    frame = numbers(n=500)
    shares = []
    for heavy in (1.0, 200.0):
        weights = np.where(frame["x0"] > 0, heavy, 1.0)
        found, table, _ = learned(frame, lambda f: f["x0"] * f["x1"], [0], weights=weights)
        standing = table.columns[0].levels[found[0].standing]
        shares.append(np.mean(standing > 0))
    assert 0.35 < shares[0] < 0.65 < 0.75 < shares[1]


def test_labels_merge_without_order():
    """Four kinds, scattered over the alphabet: four cells."""
    frame, kind = labelled()
    found, table, _ = learned(frame, by_kind(kind), [1], cells=4)
    own = found[1]
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
    own = found[1]
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
    own = found[1]
    kinds = np.array([kind[label] for label in table.columns[1].levels])
    rare = np.setdiff1d(np.arange(60), pilot_levels(own))
    assert len(rare) == 28
    assert set(kinds[own.standing[own.cell_of_level[rare]]]) == {2}
    assert asked.rows <= 8 * 32


def test_the_same_seed_gives_the_same_cells_and_another_seed_another_pilot():
    frame = numbers()
    first, again, other = (learned(frame, waves, seed=seed)[0] for seed in (1, 1, 2))
    curves = [each[1].curves[0].offsets for each in (first, again, other)]
    for position, own in first.items():
        np.testing.assert_array_equal(own.cell_of_level, again[position].cell_of_level)
    np.testing.assert_array_equal(curves[0], curves[1])
    assert not np.allclose(curves[0], curves[2])


@pytest.mark.parametrize("budget", [700, 5_000, 20_000, 40_000, 100_000])
def test_a_pilot_sends_no_more_rows_than_its_budget(budget):
    """Numbers and labels, with more values than are asked about; rare labels that are asked one by one."""
    frame = numbers(n=1500, d=2)
    frame["label"] = np.resize([f"l{k}" for k in range(700)], 1500)
    found, table, asked = learned(frame, lambda f: f["x0"] * f["x1"], budget=budget)
    assert set(found) == {0, 1, 2}
    assert asked.rows <= plan_pilot(table.columns, CELLS, budget, n_rows=1500).cost
    coarsest = PILOTS[-1].cost(table.columns, CELLS)
    assert asked.rows <= max(budget, coarsest)
    assert coarsest < 3000


def test_the_finest_pilot_that_can_be_paid_is_taken():
    table = read_table(numbers(n=600))
    for finer, coarser in pairwise(PILOTS):
        price = 3 * finer[0] * (finer[1] + 2)
        assert plan_pilot(table.columns, CELLS, price).size == finer
        assert plan_pilot(table.columns, CELLS, price - 1).size == coarser
    assert plan_pilot(table.columns, CELLS, 0).size == PILOTS[-1]


def test_after_a_screen_the_columns_that_interact_are_asked_at_more_values():
    """Of twenty columns two interact; all together send no more rows than twenty equal pilots could."""
    frame = numbers(n=600, d=20)

    def model(table):
        return step(table) + table[[f"x{k}" for k in range(2, 20)]].sum(axis=1)

    budget = 180_000
    columns = read_table(frame).columns
    assert plan_pilot(columns, CELLS, budget).has_screen
    found, table, asked = learned(frame, model, budget=budget)
    n_levels = [len(found[k].curves[0].levels) for k in range(20)]
    assert min(n_levels[:2]) >= PILOTS[0].n_values
    assert max(n_levels[2:]) <= FEW_INTERACTIONS.n_values + 2
    assert asked.rows <= plan_pilot(table.columns, CELLS, budget, n_rows=600).cost == budget
    assert straddling(found[1].cell_of_level, table.columns[1].levels, JUMP) == set()


def test_where_all_columns_interact_alike_a_screen_changes_nothing():
    frame = numbers(n=600, d=20)
    budget = 170_000
    columns = read_table(frame).columns
    size = plan_pilot(columns, CELLS, budget).size
    assert plan_pilot(columns, CELLS, budget).has_screen
    assert not plan_pilot(columns[:15], CELLS, budget).has_screen
    found, _, asked = learned(
        frame, lambda table: np.prod(1 + table.to_numpy() / 9, axis=1), budget=budget
    )
    n_levels = {len(found[k].curves[0].levels) for k in range(20)}
    assert n_levels <= {size.n_values, size.n_values + 1, size.n_values + 2}
    assert asked.rows <= budget


def test_a_small_table_is_its_own_pilot():
    _, _, asked = learned(numbers(n=30), step)
    assert asked.rows == 3 * 30 * 30


# On other tables --------------------------------------------------------------------------------


def test_missing_values_keep_their_own():
    """Cells are of levels; the code -1 has none, and stays what it is."""
    frame = numbers()
    frame.loc[::7, "x1"] = np.nan
    found, table, _ = learned(frame, lambda f: f["x0"] * np.where(f["x1"].fillna(9) > JUMP, 1, -1))
    own, column = found[1], table.columns[1]
    assert straddling(own.cell_of_level, column.levels, JUMP) == set()
    assert own.cell_of_level.min() >= 0
    stand_ins = found[1].stand_ins(table.columns[1])
    assert len(stand_ins) == len(column.levels)
    codes = np.append(stand_ins, -1)[column.codes]
    np.testing.assert_array_equal(codes < 0, frame["x1"].isna())


def test_values_of_another_table_join_the_cells_of_the_fit():
    """A value between two of the fit joins the lower; one below all joins the first."""
    frame = numbers()
    found, table, _ = learned(frame, step, [1])
    own, fitted = found[1], table.columns[1]
    levels = fitted.levels
    new = np.array([-9.0, levels[0], (levels[3] + levels[4]) / 2, levels[200], 9.0])
    other = read_table(numbers(n=5).assign(x1=new))
    np.testing.assert_array_equal(places_among(other.columns[1], fitted), [-1, 0, 3, 200, 399])
    wanted = own.cell_of_level[[0, 0, 3, 200, 399]]
    np.testing.assert_array_equal(cells_on(own, other.columns[1]), wanted)


@cache
def five_cells():
    """Five cells of a column of a hundred values, and the column."""
    found, table, _ = learned(numbers(n=100), step, [1], cells=5)
    return found[1], table.columns[1]


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40))
@examples(30)
def test_stand_ins_of_another_table_are_its_own_levels_of_the_same_cell(seed, n):
    """The one nearest to the fit's standing value, by rank; all levels of a cell have the same."""
    own, fitted = five_cells()
    other = read_table(numbers(n=n, seed=seed)).columns[1]
    cells = cells_on(own, other)
    stand_ins = own.stand_ins(other)
    places = places_among(other, fitted)
    assert stand_ins.shape == other.levels.shape
    np.testing.assert_array_equal(cells[stand_ins], cells)
    for cell in set(cells.tolist()):
        members = np.flatnonzero(cells == cell)
        (chosen,) = set(stand_ins[members].tolist())
        distances = [abs(int(places[member]) - int(own.standing[cell])) for member in members]
        assert abs(int(places[chosen]) - int(own.standing[cell])) == min(distances)


def test_the_same_rows_again_have_the_same_stand_ins():
    """A table that is another object, and a part of the rows that holds all standing values."""
    frame, kind = labelled()
    frame["x2"] = np.arange(600.0)
    found, table, _ = learned(frame, lambda f: by_kind(kind)(f) * f["x2"], cells=4)
    again = read_table(frame)
    assert set(found) == {0, 1, 2}
    for position, own in found.items():
        np.testing.assert_array_equal(
            own.stand_ins(again.columns[position]), own.stand_ins(table.columns[position])
        )


def test_labels_of_another_table():
    """Known labels keep their cell; one that the fit has not seen joins the largest, and stands for nothing known."""
    frame, kind = labelled()
    levels = sorted(set(frame["label"]))
    kind = {label: 0 if k < 25 else kind[label] for k, label in enumerate(levels)}
    found, table, _ = learned(frame, by_kind(kind), [1], cells=4)
    own = found[1]
    new = ["l001", "l002", "l030", "zzz", "aaa"]
    other = read_table(pd.DataFrame({"x0": np.zeros(5), "label": new})).columns[1]
    cells = dict(zip(other.levels, cells_on(own, other), strict=True))
    for label in new[:3]:
        place = table.columns[1].levels.tolist().index(label)
        assert cells[label] == own.cell_of_level[place]
    assert cells["zzz"] == cells["aaa"] == cells["l001"]  # the cell of l001 is the largest by far
    stand_ins = dict(zip(other.levels, other.levels[own.stand_ins(other)], strict=True))
    assert set(stand_ins.values()) <= {"l001", "l002", "l030"}
    assert stand_ins["zzz"] == stand_ins["l001"] == stand_ins["l002"]
    alone = read_table(pd.DataFrame({"x0": np.zeros(2), "label": ["zzz", "aaa"]})).columns[1]
    np.testing.assert_array_equal(own.stand_ins(alone), [0, 0])


def test_a_label_that_nobody_knows_stands_for_no_other():
    """The standing label is not in the table: another one of the fit takes its place, however far."""
    labels = list("abcdefghij")
    fitted = read_table(pd.DataFrame({"label": labels})).columns[0]
    own = Cells(fitted, np.zeros(10, dtype=np.intp), np.array([0]))
    other = read_table(pd.DataFrame({"label": ["j", "aa", "zz"]})).columns[0]
    assert set(other.levels[own.stand_ins(other)]) == {"j"}


def test_ordered_labels_keep_the_order_that_was_declared():
    """Also where the other table lacks labels of the fit, or has one that the fit never saw."""
    order = [f"o{(7 * k) % 30:02}" for k in range(30)]
    declared = pd.CategoricalDtype(order, ordered=True)
    generator = np.random.default_rng(0)
    rows = np.resize(order[:-1], 300)
    frame = pd.DataFrame(
        {"x0": generator.normal(size=300), "o": pd.Categorical(rows, dtype=declared)}
    )
    place = {label: k for k, label in enumerate(order)}

    def model(frame):
        return frame["x0"] * (frame["o"].astype(object).map(place).astype(float) > 12)

    found, table, _ = learned(frame, model, [1], cells=6)
    own = found[1]
    assert straddling(own.cell_of_level, np.arange(29), 12) == set()
    few = [order[3], order[20], order[29]]
    other = read_table(
        pd.DataFrame({"x0": np.zeros(3), "o": pd.Categorical(few, dtype=declared)})
    ).columns[1]
    np.testing.assert_array_equal(places_among(other, table.columns[1]), [3, 20, 28])
    np.testing.assert_array_equal(cells_on(own, other), own.cell_of_level[[3, 20, 28]])
