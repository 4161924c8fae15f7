"""Cells of the fit are read on other tables."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from granite_xai.evaluations.value_cells import LearnedValues, ValueCells, ordered_places
from hypothesis import given, strategies as st

from evaluations.learned import (
    JUMP,
    by_kind,
    labelled,
    learned,
    numbers,
    read_table,
    step,
    straddling,
)
from strategies import examples


def test_missing_values_keep_their_own():
    """Cells are of levels; the code -1 has none, and stays what it is."""
    frame = numbers()
    frame.loc[::7, "x1"] = np.nan
    found, table, _ = learned(frame, lambda f: f["x0"] * np.where(f["x1"].fillna(9) > JUMP, 1, -1))
    own, column = found.columns[1], table.columns[1]
    assert straddling(own.cell_of_level, column.levels, JUMP) == set()
    assert own.cell_of_level.min() >= 0
    stand_ins = found.stand_ins(table)[1]
    assert len(stand_ins) == len(column.levels)
    codes = np.append(stand_ins, -1)[column.codes]
    np.testing.assert_array_equal(codes < 0, frame["x1"].isna())


def test_values_of_another_table_join_the_cells_of_the_fit():
    """A value between two of the fit joins the lower; one below all joins the first."""
    frame = numbers()
    found, table, _ = learned(frame, step, [1])
    own, fitted = found.columns[1], table.columns[1]
    levels = fitted.levels
    new = np.array([-9.0, levels[0], (levels[3] + levels[4]) / 2, levels[200], 9.0])
    other = read_table(numbers(n=5).assign(x1=new))
    np.testing.assert_array_equal(ordered_places(other.columns[1], fitted), [-1, 0, 3, 200, 399])
    wanted = own.cell_of_level[[0, 0, 3, 200, 399]]
    np.testing.assert_array_equal(own.cells_of(other.columns[1]), wanted)


@cache
def five_cells():
    """Five cells of a column of a hundred values, and the column."""
    found, table, _ = learned(numbers(n=100), step, [1], cells=5)
    return found.columns[1], table.columns[1]


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40))
@examples(30)
def test_stand_ins_of_another_table_are_its_own_levels_of_the_same_cell(seed, n):
    """The one nearest to the fit's standing value, by rank; all levels of a cell have the same."""
    own, fitted = five_cells()
    other = read_table(numbers(n=n, seed=seed)).columns[1]
    cells = own.cells_of(other)
    stand_ins = own.stand_ins(other)
    places = ordered_places(other, fitted)
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
    assert set(found.stand_ins(again)) == {0, 1, 2}
    for position, stand_ins in found.stand_ins(again).items():
        np.testing.assert_array_equal(stand_ins, found.stand_ins(table)[position])


def test_labels_of_another_table():
    """Known labels keep their cell; one that the fit has not seen joins the largest, and stands for nothing known."""
    frame, kind = labelled()
    levels = sorted(set(frame["label"]))
    kind = {label: 0 if k < 25 else kind[label] for k, label in enumerate(levels)}
    found, table, _ = learned(frame, by_kind(kind), [1], cells=4)
    own = found.columns[1]
    new = ["l001", "l002", "l030", "zzz", "aaa"]
    other = read_table(pd.DataFrame({"x0": np.zeros(5), "label": new})).columns[1]
    cells = dict(zip(other.levels, own.cells_of(other), strict=True))
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
    own = ValueCells(fitted, np.zeros(10, dtype=np.intp), np.array([0]))
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
    own = found.columns[1]
    assert straddling(own.cell_of_level, np.arange(29), 12) == set()
    few = [order[3], order[20], order[29]]
    other = read_table(
        pd.DataFrame({"x0": np.zeros(3), "o": pd.Categorical(few, dtype=declared)})
    ).columns[1]
    np.testing.assert_array_equal(ordered_places(other, table.columns[1]), [3, 20, 28])
    np.testing.assert_array_equal(own.cells_of(other), own.cell_of_level[[3, 20, 28]])


def test_learned_values_of_nothing_are_empty():
    assert LearnedValues().stand_ins(read_table(numbers(n=3))) == {}
