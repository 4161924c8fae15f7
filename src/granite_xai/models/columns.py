"""What a fitted model says about the columns it takes: which ones, in which order, which it ignores, missing cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError, ModelError, listing
from granite_xai.models import accepts_missing
from granite_xai.models.predictor import Predictor
from granite_xai.tables import Table, read_table, require_present

_TRIED = 16
"""Rows with missing cells that a model is tried on, at most: the first of each column that has some."""


def _first_step(model: Any) -> Any:
    """The step of a pipeline, also of one that was searched for, that meets the table."""
    model = getattr(model, "best_estimator_", model)
    steps = getattr(model, "steps", None)
    return _first_step(steps[0][1]) if isinstance(steps, list) and steps else model


def _fitted_names(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def used_columns(model: Any) -> set[str] | None:
    """The columns that a model which selects its columns by name looks at; None: whatever it gets.

    >>> from sklearn.linear_model import LinearRegression
    >>> used_columns(LinearRegression()) is None
    True
    """
    step = _first_step(model)
    chosen, fitted = getattr(step, "transformers_", None), _fitted_names(step)
    if chosen is None or fitted is None:
        return None
    used: set[str] = set()
    for _, transformer, columns in chosen:
        if isinstance(transformer, str) and transformer == "drop":
            continue
        texts = [columns] if isinstance(columns, str) else columns
        by_name = not isinstance(texts, slice) and all(isinstance(column, str) for column in texts)
        used |= set(texts) if by_name else set(np.atleast_1d(np.array(fitted, dtype=object)[columns]).tolist())
    return used


def require_columns(model: Any, table: Table) -> None:
    """Refuse a table whose columns the model was not fitted on, by name and before the model is asked (D37)."""
    fitted, used, found = _fitted_names(model), used_columns(model), list(table.names)
    if fitted is None or not table.named or fitted == [f"Column_{i}" for i in range(len(fitted))]:
        return  # nobody has names, or lightgbm made some up for an array
    if type(model).__module__.startswith("lightgbm"):  # which writes blanks as underscores
        found = [name.replace(" ", "_") for name in found]
    if used is not None:  # it takes what it needs by name, in any order
        fitted = [name for name in fitted if name in used]
        found = [name for name in fitted if name in found]
    if found == fitted:
        return
    missing, extra = [x for x in fitted if x not in found], [x for x in found if x not in fitted]
    parts = {"lacks": missing, "has, and the model was not fitted on,": extra}
    told = [f"X {verb} {listing(which)}" for verb, which in parts.items() if which]
    moved = [new for new, old in zip(found, fitted, strict=False) if new != old]
    told = told or [f"X has the model's columns in another order, from {moved[0]!r} on"]
    hint = "Pass the columns of the fit, in their order: X[list(model.feature_names_in_)]."
    message = f"{'; '.join(told)}. The model was fitted on {listing(fitted)}."
    raise InputError(message, code="D37", argument="X", columns=[*missing, *extra] or moved, hint=hint)


def read_input(X: Any, model: Any, kinds: Mapping[Any, str] | None = None, named: Collection[Any] = ()) -> Table:
    """The table that a model is explained on, checked against the columns the model was fitted on."""
    table = read_table(X, kinds=kinds, missing="allow", named=named, used=used_columns(model))
    require_columns(model, table)
    return table


def allows_missing(choice: str, model: Any, predictor: Predictor, table: Table) -> bool:
    """Whether missing cells are allowed; "auto" asks the model's tags, then the model, about rows with some (D01)."""
    allowed = choice == "allow" or (choice == "auto" and accepts_missing(model))
    flags = [table.columns[j].missing for j in table.explained]
    rows = np.unique([int(np.argmax(flag)) for flag in flags if flag.any()])[:_TRIED]
    if allowed or not len(rows):
        return allowed
    failed = ""
    if choice == "auto" and not predictor.model_output.is_function:
        try:
            predictor.recombined(table, rows, table, rows, ())
        except ModelError as error:
            failed = f" It was tried: {error.message}"
        else:
            return True
    hint = 'The model is not declared to accept missing values: pass missing="allow" if it does, or impute/drop.'
    require_present(table, hint + failed)
    return False
