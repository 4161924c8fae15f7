"""The matrix ``E_S``: predictions for every value of the columns S at every row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute.primitives import Pairs

LONG_LINE = 512  # cells of a line from which cutting it out is worth a call of its own
COMPARED_CELLS = 8  # of neighbouring lines, before the whole lines are compared
ROWS_PER_VALUE = (
    4  # from so many rows for each value on, averaging by value is cheaper than by pair
)


class PresentValues(NamedTuple):
    """The values of S that occur among some rows."""

    lines: IntArray  # (n_present,): the line of each value in the matrix, ascending
    first_rows: IntArray  # (n_present,): the first row that has it
    number_of_row: IntArray  # (n,): the number of each row's value among them


@dataclass(frozen=True, eq=False)
class Matrix:
    """``E_S[u, n]`` on some rows: one line for each distinct value of S, one column for each row.

    The rows of a node with few values are cut out of the matrix of all rows. With about as many values
    as rows that would copy nearly everything: the node then reads ``values`` of all rows through
    ``column_of_row``.

    Parameters
    ----------
    values : array of shape (n_lines, n_all_rows)
        Centred by the offset of the evaluations; on a device where the evaluations are there.
    codes : array of shape (n,)
        The line that holds the value of each row.
    levels : array of shape (n_lines,), optional
        Where the lines are a grid of one column, their levels; -1 is missing.
    column_of_row : array of shape (n,), optional
        The column of ``values`` that holds each row; None: all columns, in their order.
    """

    values: Any
    codes: IntArray
    levels: IntArray | None = None
    column_of_row: IntArray | None = None

    @cached_property
    def present(self) -> PresentValues:
        """The values that occur among the rows."""
        lines, numbers = dense_numbers(self.codes, int(self.values.shape[0]))
        first_rows = np.empty(len(lines), dtype=np.intp)
        # Written backwards: of several rows with the same value the first one stays.
        first_rows[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
        return PresentValues(lines=lines, first_rows=first_rows, number_of_row=numbers)

    @property
    def n_values(self) -> int:
        """Values that are read."""
        if self.column_of_row is None:
            return int(self.values.shape[0])
        return len(self.present.lines)

    @property
    def has_many_values(self) -> bool:
        """Whether there are about as many values as rows: then pairs of rows are averaged, not values."""
        return ROWS_PER_VALUE * self.n_values >= len(self.codes)

    @cached_property
    def pairs(self) -> Pairs:
        """The line and the column of each row."""
        columns = self.column_of_row
        if columns is None:
            columns = np.arange(len(self.codes))
        return Pairs(lines=self.codes, columns=columns)

    def restrict(self, rows: IntArray) -> Matrix:
        """Only these rows; cut out, with only the values that occur in them, where these are few."""
        part = Matrix(
            values=self.values,
            codes=self.codes[rows],
            levels=self.levels,
            column_of_row=self.pairs.columns[rows],
        )
        if part.has_many_values:
            return part
        return part.compact()

    def compact(self) -> Matrix:
        """The same with ``values`` of its own rows alone."""
        if self.column_of_row is None:
            return self
        lines = self.present.lines
        values = cut_out(self.values, lines, self.column_of_row)
        levels = None
        if self.levels is not None:
            levels = self.levels[lines]
        return Matrix(values=values, codes=self.present.number_of_row, levels=levels)

    def join_equal_lines(self) -> Matrix:
        """The same with equal neighbouring lines as one: values that the model does not tell apart.

        For a matrix of all rows as it was evaluated, not on a grid: the result has neither
        ``levels`` nor ``column_of_row``.
        """
        values = self.values
        begins_equal = values[1:, :COMPARED_CELLS] == values[:-1, :COMPARED_CELLS]
        is_new = np.ones(len(values), dtype=np.bool_)
        for line in 1 + np.flatnonzero(np.all(begins_equal, axis=1)):
            is_new[line] = not np.array_equal(values[line], values[line - 1])
        if is_new.all():
            return self
        lines = np.flatnonzero(is_new)
        line_of_value = np.cumsum(is_new) - 1
        return Matrix(
            values=cut_out(values, lines, np.arange(values.shape[1])),
            codes=line_of_value[self.codes],
        )


def cut_out(values: FloatArray, lines: IntArray, columns: IntArray) -> FloatArray:
    """Some lines and columns of an array: short lines in one call, long ones line by line."""
    if len(columns) < LONG_LINE:
        return np.asarray(values[np.ix_(lines, columns)])
    result = np.empty((len(lines), len(columns)))
    for number, line in enumerate(lines):
        # "clip" writes into the result; the default mode would buffer it.
        values[line].take(columns, out=result[number], mode="clip")
    return result


def dense_numbers(codes: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """The codes below ``count`` that occur, ascending, and the place of each code among them."""
    occurs = np.zeros(count, dtype=np.bool_)  # counting beats sorting
    occurs[codes] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]
