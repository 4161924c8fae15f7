"""A table in the numbers that a library's trees compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.tables import Column, Table
from granite_xai.trees.refusal import RefusalError

LARGEST_EXACT = 2.0**53  # beyond it float64 holds only some whole numbers
LIGHTGBM_ZERO = float(np.float32(1e-35))  # what is this small counts as zero
UNSEEN = -1.0  # the code of a label that a model does not know


def single_precision(labels: Mapping[int, Sequence[Any]], table: Table) -> FloatArray:
    """Float32, as scikit-learn's trees and xgboost see numbers, (n, d).

    Parameters
    ----------
    labels : mapping of position to sequence
        Of columns that the model knows as categories, their labels in the order of their codes.
    """
    columns = []
    for column in table.columns:
        if labels.get(column.position):
            columns.append(_label_codes(column, labels[column.position]))
            continue
        numbers = _column_numbers(table, column)
        with np.errstate(over="ignore"):
            columns.append(numbers.astype(np.float32).astype(np.float64))
    return np.stack(columns, axis=1)


NUMBERS = partial(single_precision, {})


def _label_codes(column: Column, labels: Sequence[Any]) -> FloatArray:
    """The code of each row's label, NaN for missing ones, (n,); a RefusalError for labels that are not known."""
    code_of: dict[Any, float] = {label: float(code) for code, label in enumerate(labels)}
    code_of[None] = np.nan
    codes = np.array([code_of.get(label, UNSEEN) for label in column.values])
    if np.any(codes == UNSEEN):
        raise RefusalError("a column has categories that xgboost has not seen", "M25")
    return codes


def lightgbm_matrix(model: Any, table: Table) -> FloatArray:
    """Lightgbm's own conversion: categories by the codes of the training frame, the dtype by the frame's."""
    native = table.native
    if isinstance(native, np.ndarray):
        if native.dtype in (np.float32, np.float64):
            matrix = native.astype(np.float64)
        else:
            matrix = NUMBERS(table)
    elif table.container.library == "pandas":
        matrix = _lightgbm_frame(model, native)
    else:
        raise RefusalError(
            f"lightgbm's conversion of a {table.container.library} table is not known to us"
        )
    # A row travels without its zeros.
    return np.where(np.abs(matrix) <= LIGHTGBM_ZERO, 0.0, matrix)


def _lightgbm_frame(model: Any, frame: Any) -> FloatArray:
    from lightgbm.basic import _data_from_pandas

    converted = _data_from_pandas(
        data=frame,
        feature_name="auto",
        categorical_feature="auto",
        pandas_categorical=model.pandas_categorical,
    )[0]
    if converted.dtype not in (np.float32, np.float64):
        raise RefusalError(f"lightgbm converts this frame to {converted.dtype}")
    return np.asarray(converted, dtype=np.float64)


def histogram_matrix(model: Any, table: Table) -> FloatArray:
    """The matrix of scikit-learn's histogram boosting: ordinal codes for categories, in the table's own order."""
    encoded = np.asarray(model._preprocess_X(table.native, reset=False), dtype=np.float64)
    if getattr(model, "_preprocessor", None) is None:
        return encoded
    is_categorical = np.asarray(model.is_categorical_, dtype=bool)
    categorical = np.flatnonzero(is_categorical)
    matrix = np.empty_like(encoded)
    # The preprocessor puts categories first.
    matrix[:, np.concatenate([categorical, np.flatnonzero(~is_categorical)])] = encoded
    bins = model._bin_mapper.bin_thresholds_
    for position, binned in zip(categorical, bins, strict=False):
        # Categories that only the validation rows carried have no bin: they go the way of missing values.
        matrix[~np.isin(matrix[:, position], binned), position] = np.nan
    return matrix


def _column_numbers(table: Table, column: Column) -> FloatArray:
    """Numbers of a column whose own dtype is one of numbers, whatever it was declared to mean."""
    values = column.values
    if column.kind != "numeric":
        if column.kind == "date" or _dtype_kind(table.select([column.position])) not in "iufb":
            raise RefusalError(f"column {column.name!r} does not hold numbers")
        values = np.array([np.nan if label is None else float(label) for label in values])
    if column.integer and np.any(np.abs(values) > LARGEST_EXACT):
        raise RefusalError(f"column {column.name!r} has whole numbers beyond 2^53")
    return values


def _dtype_kind(native: Any) -> str:
    """NumPy's letter for the type of a container's only column; "O" where it has none."""
    if isinstance(native, np.ndarray):
        return str(native.dtype.kind)
    dtype = next(iter(getattr(native, "dtypes", [None])))
    return str(getattr(dtype, "kind", "O"))
