"""A table in the numbers that a model itself compares: its casting, its codes of categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.trees.refusal import RefusalError

if TYPE_CHECKING:
    from granite_xai.tables import Table

_LARGEST_EXACT = 2.0**53
_LIGHTGBM_ZERO = float(np.float32(1e-35))


def single_precision(model: Any, table: Table) -> FloatArray:
    """Float32, as scikit-learn's trees and xgboost see every column of numbers."""
    with np.errstate(over="ignore"):
        return _numbers(table).astype(np.float32).astype(np.float64)


def lightgbm_matrix(model: Any, table: Table) -> FloatArray:
    """Lightgbm's own conversion: categories by the codes of the training frame, the dtype by the frame's."""
    matrix = _lightgbm_numbers(model, table)
    # A row travels without its zeros, and what is this small counts as one.
    return np.where(np.abs(matrix) <= _LIGHTGBM_ZERO, 0.0, matrix)


def _lightgbm_numbers(model: Any, table: Table) -> FloatArray:
    native = table.native
    if isinstance(native, np.ndarray):
        if native.dtype in (np.float32, np.float64):
            return native.astype(np.float64)
        return single_precision(model, table)
    if table.container.library != "pandas":
        raise RefusalError(f"lightgbm's conversion of a {table.container.library} table is not known to us")
    from lightgbm.basic import _data_from_pandas

    converted = _data_from_pandas(
        data=native, feature_name="auto", categorical_feature="auto", pandas_categorical=model.pandas_categorical
    )[0]
    if converted.dtype not in (np.float32, np.float64):
        raise RefusalError(f"lightgbm converts this frame to {converted.dtype}")
    return np.asarray(converted, dtype=np.float64)


def histogram_matrix(model: Any, table: Table) -> FloatArray:
    """The matrix of scikit-learn's histogram boosting: ordinal codes for categories, in the table's own order."""
    encoded = np.asarray(model._preprocess_X(table.native, reset=False), dtype=np.float64)  # noqa: SLF001
    if getattr(model, "_preprocessor", None) is None:
        return encoded
    categorical = np.asarray(model.is_categorical_, dtype=bool)
    matrix = np.empty_like(encoded)
    matrix[:, np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])] = encoded
    for position, known in zip(np.flatnonzero(categorical), _known_codes(model), strict=True):
        # Categories that only the validation rows carried have no bin: they go the way of missing values.
        matrix[~np.isin(matrix[:, position], known), position] = np.nan
    return matrix


def _known_codes(model: Any) -> list[Any]:
    count = int(np.sum(model.is_categorical_))
    return [np.asarray(model._bin_mapper.bin_thresholds_[j]) for j in range(count)]  # noqa: SLF001


def _numbers(table: Table) -> FloatArray:
    columns = []
    for column in table.columns:
        if column.kind == "numeric":
            values = column.values
        elif column.kind != "date" and _holds_numbers(table, column.position):
            values = np.array([np.nan if label is None else float(label) for label in column.values])
        else:
            raise RefusalError(f"column {column.name!r} does not hold numbers")
        if column.integer and np.any(np.abs(values) > _LARGEST_EXACT):
            raise RefusalError(f"column {column.name!r} has whole numbers beyond 2^53")
        columns.append(values)
    return np.stack(columns, axis=1)


def _holds_numbers(table: Table, position: int) -> bool:
    """Whether the user's column has a dtype of numbers, whatever it was declared to mean."""
    native = table.select([position])
    dtype = native.dtype if isinstance(native, np.ndarray) else next(iter(getattr(native, "dtypes", [None])))
    return getattr(dtype, "kind", "O") in "iufb"
