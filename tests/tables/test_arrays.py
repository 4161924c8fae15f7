"""Arrays as tables: gathered rows, dtypes that hold the cells, the next floats."""

import numpy as np
import pytest

from granite_xai.tables import ArrayContainer, Column
from granite_xai.tables.containers import gathered, next_cells

BASE = np.arange(12.0).reshape(4, 3)
DONOR = 100 + np.arange(15.0).reshape(5, 3)
ROWS = np.array([3, 0, 0])
DONOR_ROWS = np.array([4, 4, 1])


def by_cells(base, rows, donor, donor_rows, columns):
    made = []
    for row, donor_row in zip(rows, donor_rows, strict=True):
        cells = list(base[row])
        for column in columns:
            cells[column] = donor[donor_row, column]
        made.append(cells)
    return made


@pytest.mark.parametrize("columns", [[], [1], [0, 2], [0, 1, 2]])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
@pytest.mark.parametrize("donor_layout", [np.ascontiguousarray, np.asfortranarray])
def test_gathered_rows_equal_a_loop_over_cells(columns, layout, donor_layout):
    base = layout(BASE)
    donor = donor_layout(DONOR)
    made = gathered(base, ROWS, donor, DONOR_ROWS, columns)
    assert made.tolist() == by_cells(BASE, ROWS, DONOR, DONOR_ROWS, columns)
    made[:] = -1.0  # the model may write into what it gets
    assert base.tolist() == BASE.tolist()
    assert donor.tolist() == DONOR.tolist()


def test_the_dtype_of_the_base_stays_where_it_holds_the_cells():
    base = BASE.astype(np.int8)
    assert gathered(base, ROWS, DONOR, DONOR_ROWS, [1]).dtype == np.int8
    halves = DONOR + 0.5
    made = gathered(base, ROWS, halves, DONOR_ROWS, [1])
    assert made.dtype == np.float64
    assert made.tolist() == by_cells(base, ROWS, halves, DONOR_ROWS, [1])
    # Rows that are not taken do not count, nor do columns.
    halves[DONOR_ROWS] = DONOR[DONOR_ROWS]
    halves[:, 2] += 0.25
    assert gathered(base, ROWS, halves, DONOR_ROWS, [1]).dtype == np.int8


def test_a_number_beyond_the_dtype_of_the_base_widens_it():
    base = BASE.astype(np.int8)
    donor = np.full((5, 3), 1000)
    made = gathered(base, ROWS, donor, DONOR_ROWS, [0])
    assert made[:, 0].tolist() == [1000, 1000, 1000]


def test_a_missing_donor_stays_missing():
    donor = DONOR.astype(np.float32)
    donor[4, 0] = np.nan
    made = gathered(BASE, ROWS, donor, DONOR_ROWS, [0])
    assert made.dtype == np.float64
    assert np.isnan(made[:, 0]).tolist() == [True, True, False]
    assert gathered(BASE.astype(int), ROWS, donor, DONOR_ROWS, [0]).dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("direction", [1, -1])
def test_the_next_float_is_that_of_the_dtype(dtype, direction):
    cells = np.array([[1.0, -2.5], [0.0, np.nan]], dtype=dtype)
    moved = next_cells(cells, direction)
    assert moved.dtype == dtype
    wanted = np.nextafter(cells, dtype(direction * np.inf))
    np.testing.assert_array_equal(moved, wanted)
    assert np.all((moved != cells)[~np.isnan(cells)])


def test_what_has_no_next_float_stays():
    largest = np.finfo(np.float32).max
    assert next_cells(np.array([largest], dtype=np.float32), 1).tolist() == [largest]
    for cells in (np.array([1, 2]), np.array(["a"]), np.array([True])):
        assert next_cells(cells, 1) is cells
    objects = np.array([1.0, 2, "a", None, True, np.float32(1)], dtype=object)
    moved = next_cells(objects, 1)
    assert moved.tolist()[1:5] == [2, "a", None, True]
    assert moved[0] == np.nextafter(1.0, 2.0)
    assert moved[5] == np.nextafter(np.float32(1), np.float32(2))
    assert type(moved[5]) is np.float32
    assert objects[0] == 1.0


def test_rows_know_their_place_in_the_table_of_the_user():
    container = ArrayContainer(BASE)
    part = container.take(np.array([3, 1, 2])).take(np.array([0, 2]))
    assert part.matrix.tolist() == BASE[[3, 2]].tolist()
    assert part.row_labels(np.array([1, 0])) == [2, 3]
    assert container.row_labels(np.array([1, 0])) == [1, 0]


def test_selected_columns_are_a_copy():
    base = BASE.copy()
    selected = ArrayContainer(base).select([2, 0])
    assert selected.tolist() == BASE[:, [2, 0]].tolist()
    selected[:] = 0.0
    assert base.tolist() == BASE.tolist()


def test_adopted_columns_are_floats_or_else_objects():
    numbers = Column("a", 0, "numeric", np.array([1.0, 2.0]))
    labels = Column("b", 1, "nominal", np.array(["x", None], dtype=object))
    container = ArrayContainer(BASE)
    assert container.adopt([numbers, numbers]).matrix.dtype == np.float64
    assert container.adopt([numbers, labels]).matrix.tolist() == [[1.0, "x"], [2.0, None]]


def test_nudged_rows_leave_other_columns_alone():
    moved = ArrayContainer(BASE).nudged(np.array([1, 1]), -1, [2])
    assert moved[:, :2].tolist() == BASE[[1, 1], :2].tolist()
    assert moved[:, 2].tolist() == [np.nextafter(5.0, 0.0)] * 2
    assert BASE[1, 2] == 5.0
