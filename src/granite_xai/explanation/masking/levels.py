"""Where the values of a column stand among the levels of the fit."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from granite_xai.base.typing import IntArray
from granite_xai.tables import Column


def ranks_among(column: Column, fitted: Column, side: Literal["left", "right"]) -> IntArray:
    """Position of each value among the levels of the fit, (n,).

    Parameters
    ----------
    column, fitted : Column
        The same column on some rows, and on the fitting rows.
    side : "left" or "right"
        Whether a value between two levels counts as the upper one or as the lower one.

    Returns
    -------
    array of int
        -1 for missing values, and on the right for a value below all levels.
    """
    if column is fitted:
        return column.codes
    fitted_levels, levels = sortable(column, fitted)
    ranks = np.searchsorted(fitted_levels, levels, side=side)
    if side == "right":
        ranks = ranks - 1
    rank_of_code = np.append(ranks, -1)  # missing values have code -1: the last entry
    return rank_of_code[column.codes].astype(np.intp)


def sortable(column: Column, fitted: Column) -> tuple[Any, Any]:
    """Levels of the fit, and those of the new column, on one scale that ascends.

    The scale of an ordinal column is the place in its declared order, behind all of which an unseen label stands.

    Parameters
    ----------
    column, fitted : Column
        The same column on some rows, and on the fitting rows.
    """
    if fitted.order is None:
        return fitted.levels, column.levels
    place_of_label = {label: place for place, label in enumerate(fitted.order)}
    fitted_places = [place_of_label[level] for level in fitted.levels]
    behind_all = len(place_of_label)
    places = [place_of_label.get(level, behind_all) for level in column.levels]
    return fitted_places, places


def level_codes(column: Column, fitted: Column) -> IntArray:
    """Code of each row's level in the fit, (n,).

    Missing values get the number after those of the fit, and every unseen level a number of its own after that.

    Parameters
    ----------
    column, fitted : Column
        The same column on n rows, and on the fitting rows.
    """
    code_in_fit = {level: code for code, level in enumerate(fitted.levels.tolist())}
    missing_code = len(code_in_fit)
    first_unseen_code = missing_code + 1
    codes = []
    for number, level in enumerate(column.levels.tolist()):
        codes.append(code_in_fit.get(level, first_unseen_code + number))
    codes.append(missing_code)  # missing values have code -1: the last entry
    return np.array(codes, dtype=np.intp)[column.codes]


def carriers(column: Column, codes: IntArray) -> IntArray:
    """The first row that carries each of some levels.

    Parameters
    ----------
    column : Column
    codes : array of int
        The levels, by their positions among those of the column.

    Returns
    -------
    array of int
        A row for each code.
    """
    first_rows = [int(np.flatnonzero(column.codes == code)[0]) for code in codes]
    return np.array(first_rows, dtype=np.intp)
