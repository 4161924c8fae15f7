"""The columns of the table that a model is explained on: their names, those it looks at, missing cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError, ModelError
from granite_xai.base.text import listing
from granite_xai.models.kinds import accepts_missing
from granite_xai.models.model import Predictor
from granite_xai.tables import Table, read_table, require_present

# Rows that a model is tried on to see whether it takes missing values: the first such row of each
# feature, at most so many.
TRIED_ROWS = 16


def read_input(
    X: Any, model: Any, kinds: Mapping[Any, str] | None = None, requested: Collection[Any] = ()
) -> Table:
    """The table that a model is explained on.

    Parameters
    ----------
    X : object
        Any container that `read_table` reads.
    model : object
        As in `Granite`.
    kinds : mapping, optional
        Kinds of columns that the user declares.
    requested : collection
        Columns that the user's other arguments name.

    Raises
    ------
    InputError
        D37: the model was fitted on other columns, or on these in another order.
    """
    used = used_columns(model)
    table = read_table(X, kinds=kinds, missing="allow", requested=requested, used=used)
    fitted = _fitted_names(model)
    if fitted is None or not table.container.named:
        return table
    if fitted == [f"Column_{number}" for number in range(len(fitted))]:
        return table  # made up by lightgbm for the columns of an array
    present = list(table.names)
    if type(model).__module__.startswith("lightgbm"):  # which writes blanks as underscores
        present = [name.replace(" ", "_") for name in present]
    if used is not None:  # it takes what it needs by name, in any order
        fitted = [name for name in fitted if name in used]
        present = [name for name in fitted if name in present]
    if present != fitted:
        raise _other_columns(present, fitted)
    return table


def _fitted_names(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return None
    return [str(name) for name in names]


def _other_columns(present: Sequence[str], fitted: Sequence[str]) -> InputError:
    """The error that says how the columns differ from those of the model's fit (D37)."""
    missing = [name for name in fitted if name not in present]
    extra = [name for name in present if name not in fitted]
    differences = []
    if missing:
        differences.append(f"X lacks {listing(missing)}")
    if extra:
        differences.append(f"X has, and the model was not fitted on, {listing(extra)}")
    columns = [*missing, *extra]
    if not differences:
        pairs = zip(present, fitted, strict=False)
        columns = [new for new, old in pairs if new != old]
        differences = [f"X has the model's columns in another order, from {columns[0]!r} on"]
    return InputError(
        f"{'; '.join(differences)}. The model was fitted on {listing(fitted)}.",
        code="D37",
        argument="X",
        columns=columns,
        hint="Pass the columns of the fit, in their order: X[list(model.feature_names_in_)].",
    )


def used_columns(model: Any) -> set[str] | None:
    """The columns that a model looks at; None: whatever it gets.

    Only a column transformer at the start of a model selects its columns.
    """
    # What sees the table first: of pipelines, also of those that a search found, the first step.
    step = getattr(model, "best_estimator_", model)
    while isinstance(steps := getattr(step, "steps", None), list) and steps:
        _, first = steps[0]
        step = getattr(first, "best_estimator_", first)
    transformers = getattr(step, "transformers_", None)
    fitted = _fitted_names(step)
    if transformers is None or fitted is None:
        return None
    used: set[str] = set()
    for _, transformer, columns in transformers:
        is_dropped = isinstance(transformer, str) and transformer == "drop"
        if not is_dropped:
            used |= _selected_names(columns, fitted)
    return used


def _selected_names(columns: Any, fitted: Sequence[str]) -> set[str]:
    """Names of columns that are selected by name, by position, by a slice or by truth values."""
    if isinstance(columns, str):
        return {columns}
    if not isinstance(columns, slice) and all(isinstance(column, str) for column in columns):
        return set(columns)
    by_position = np.array(fitted, dtype=object)[columns]
    return set(np.atleast_1d(by_position).tolist())


def allows_missing(choice: str, model: Any, predictor: Predictor, table: Table) -> bool:
    """Whether cells of the table may be missing; False also where none is.

    Parameters
    ----------
    choice : {"allow", "auto", "error"}
        "auto": the model's tags decide, otherwise a trial on a few rows with missing cells.
    model : object
    predictor : Predictor
        Asks the model.
    table : Table

    Raises
    ------
    InputError
        D01: cells are missing, and may not be.
    """
    if choice == "allow" or (choice == "auto" and accepts_missing(model)):
        return True
    first_rows = []  # of each feature with missing values, the first that has one
    for position in table.explained:
        missing = table.columns[position].missing
        if missing.any():
            first_rows.append(int(np.argmax(missing)))
    if not first_rows:
        return False
    rows = np.unique(first_rows)[:TRIED_ROWS]
    trial = ""
    # A function answers anything; that it does not fail says nothing about missing values.
    if choice == "auto" and not predictor.model_output.is_function:
        try:
            predictor.recombined(table, rows, table, rows, ())
            return True
        except ModelError as error:
            trial = f" It was tried: {error.message}"
    require_present(table, trial)  # always raises: some cell of an explained column is missing
    return False
