"""The target and what else comes with the rows: y, sample weights, chosen rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.errors import InputError, count_text, listing
from granite_xai.operators.behavior import PROBABILITY_LOSSES, Behavior, Risk
from granite_xai.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from granite_xai.frames import Table
    from granite_xai.models import Predictor


def read_target(y: Any, table: Table, predictor: Predictor, *behaviors: Behavior) -> FloatArray | None:
    """The target as numbers, or None where no behavior needs it.

    For a classifier y is 1 where it equals the explained class and 0 elsewhere.

    Raises
    ------
    InputError
        T01 risk without y, T02 wrong length, T03 missing or infinite values, T04 several columns, T05 labels that the
        model does not know, T06 labels of rows that differ from those of X, P03 a loss that needs probabilities.
    """
    risks = [behavior for behavior in behaviors if isinstance(behavior, Risk)]
    if not risks:
        return None
    if y is None:
        raise InputError(
            "behavior='risk' needs y: pass the target as the second argument.",
            code="T01",
            argument="y",
            hint="pass the target as the second argument",
        )
    for risk in risks:
        _check_loss(risk, predictor)
    _check_labels(y, table)
    values = _one_column(y)
    if len(values) != table.n_rows:
        raise InputError(
            f"y has {len(values)} values, X has {table.n_rows} rows.", code="T02", argument="y", hint="pass one value a row"
        )
    _check_missing(values, table)
    return _as_numbers(values, predictor)


def _check_loss(risk: Risk, predictor: Predictor) -> None:
    if isinstance(risk.loss, str) and risk.loss in PROBABILITY_LOSSES and not predictor.is_probability:
        raise InputError(
            f"the loss {risk.loss!r} needs probabilities; {predictor.label} is explained.",
            code="P03",
            argument="risk_loss",
            hint="explain a probability (response='probability'), or use 'squared' or 'absolute'",
        )


def _check_labels(y: Any, table: Table) -> None:
    """pandas aligns by label: a y with the labels of other rows is probably not meant for these rows."""
    index, own = getattr(y, "index", None), getattr(table.native, "index", None)
    if index is None or own is None or callable(index) or callable(own) or len(index) != len(own):
        return
    if not index.equals(own):
        raise InputError(
            "the row labels of y differ from those of X.",
            code="T06",
            argument="y",
            hint="pass y.to_numpy() if the rows are in the same order, otherwise y.loc[X.index]",
        )


def _one_column(y: Any) -> Any:
    values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    if values.ndim != 1:
        raise InputError(
            f"y has shape {values.shape}; one target is explained at a time.",
            code="T04",
            argument="y",
            hint="pass one column of y",
        )
    return values


def _check_missing(values: Any, table: Table) -> None:
    numbers = np.issubdtype(values.dtype, np.number)
    bad = ~np.isfinite(values) if numbers else np.array([v is None or v != v for v in values.tolist()], dtype=bool)
    if not numbers and not bad.any() and values.dtype == object:
        bad = np.array([isinstance(v, float) and np.isinf(v) for v in values.tolist()], dtype=bool)
    if bad.any():
        positions = np.flatnonzero(bad)
        labels = table.row_labels(positions[:5])
        raise InputError(
            f"y has {count_text(len(positions), 'missing or infinite values', labels)}.",
            code="T03",
            argument="y",
            rows=labels,
            hint="drop or fill these rows",
        )


def _as_numbers(values: Any, predictor: Predictor) -> FloatArray:
    if predictor.classes is not None:
        known = set(predictor.classes)
        unknown = [label for label in dict.fromkeys(values.tolist()) if label not in known]
        if unknown:
            raise InputError(
                f"y has labels that the model does not know: {listing(unknown)}; its classes are "
                f"{listing(predictor.classes)}.",
                code="T05",
                argument="y",
                hint="pass y with the labels the model was trained on",
            )
        return np.array([label == predictor.explained_class for label in values.tolist()], dtype=np.float64)
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"y holds {values.dtype} values such as {values[0]!r}; the loss needs numbers.",
            code="T05",
            argument="y",
            hint="pass a numeric target",
        ) from error


def read_weights(sample_weight: Any, table: Table) -> FloatArray:
    """Weights of the rows, all 1 where none are given.

    Raises
    ------
    InputError
        D43: wrong length, negative, missing or infinite values, or nothing but zeros.
    """
    if sample_weight is None:
        return np.ones(table.n_rows)
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _weight_error("is not a list of numbers") from error
    if weights.shape != (table.n_rows,):
        raise _weight_error(f"has shape {weights.shape}; X has {table.n_rows} rows")
    wrong = ~np.isfinite(weights) | (weights < 0)
    if wrong.any():
        labels = table.row_labels(np.flatnonzero(wrong)[:5])
        raise _weight_error(f"has {count_text(int(wrong.sum()), 'negative, missing or infinite values', labels)}", labels)
    if not weights.any():
        raise _weight_error("is zero for every row")
    return weights


def _weight_error(what: str, rows: Any = ()) -> InputError:
    return InputError(
        f"sample_weight {what}.",
        code="D43",
        argument="sample_weight",
        rows=rows,
        hint="pass one finite number ≥ 0 for each row, at least one above 0",
    )


def read_rows(rows: Any, n_rows: int) -> IntArray:
    """Positions of chosen rows; all rows where none are given.

    >>> read_rows([0, 2], 3)
    array([0, 2])
    """
    if rows is None:
        return np.arange(n_rows, dtype=np.intp)
    chosen = np.asarray(rows)
    if chosen.dtype == np.bool_ and chosen.shape == (n_rows,):
        chosen = np.flatnonzero(chosen)
    inside = chosen.ndim == 1 and chosen.size and np.issubdtype(chosen.dtype, np.integer)
    if not inside or chosen.min() < -n_rows or chosen.max() >= n_rows or len(np.unique(chosen % n_rows)) < len(chosen):
        raise InputError(
            f"rows must be different positions between 0 and {n_rows - 1}.",
            code="P04",
            argument="rows",
            hint="pass positions, not labels",
        )
    return (chosen % n_rows).astype(np.intp)
