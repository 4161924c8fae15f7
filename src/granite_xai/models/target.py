"""What comes with the rows: y, sample weights, chosen rows; and the columns that the model was fitted on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from granite_xai.base.errors import InputError, ModelError
from granite_xai.base.text import count_text, listing
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.models import Predictor, accepts_missing
from granite_xai.tables import Table, read_table
from granite_xai.tables.table import require_present

_SMALLEST, _LARGEST = 1e-100, 1e100  # between them squares of sums of weights are exact enough
_ONE_VALUE = "Pass one value a row."
_WEIGHT_HINT = "Pass one finite number ≥ 0 for each row, at least one above 0."


def read_target(
    y: Any,
    table: Table,
    predictor: Predictor,
    needed: bool = True,
    probability_loss: str | None = None,
    asked: str = "a question about risk",
) -> FloatArray | None:
    """The target as numbers, for a classifier 1 where it is the explained class and 0 elsewhere; None: not needed."""
    if needed and predictor.outputs and y is not None:  # a column for each output
        ones, own = predictor.outputs.values(), [y] * len(predictor.outputs)
        if predictor.classes is None and len(ones) > 1:
            if np.shape(y)[1:] != (len(ones),):
                raise _wrong(
                    f"y has shape {np.shape(y)}; {len(ones)} outputs are explained.",
                    "T04",
                    _ONE_VALUE,
                )
            own = [getattr(y, "iloc", np.asarray(y))[:, k] for k in range(len(ones))]
        each = zip(own, ones, strict=True)
        read: Any = [
            read_target(column, table, one, True, probability_loss, asked) for column, one in each
        ]
        return np.stack(read, axis=1)
    if not needed:
        if hasattr(y, "__len__"):  # not used, but a y of other rows is a slip worth telling
            _check_length(y, table)
        return None
    if y is None:
        text = f"{asked} needs y: it is about losses, and a loss compares a prediction with the target."
        raise _wrong(text, "T01", "Pass the target as the second argument.")
    if (
        probability_loss is not None and not predictor.is_probability
    ):  # a loss that is asked for and needs them
        text = f"the loss {probability_loss!r} needs probabilities; {predictor.label} is explained."
        hint = "Explain a probability (response='probability'), or use 'squared' or 'absolute'."
        raise _wrong(text, "P03", hint, "risk_loss")
    _check_labels(y, table, "y", "T06")
    values = _one_column(y)
    _check_length(values, table)
    if np.issubdtype(values.dtype, np.number):
        bad = ~np.isfinite(values)
    else:
        bad = pd.isna(values) | np.array(
            [isinstance(cell, float) and np.isinf(cell) for cell in values.tolist()], bool
        )
    if count := int(bad.sum()):
        labels = table.row_labels(np.flatnonzero(bad)[:5])
        text = (
            f"y has {count_text(count, 'missing or infinite value' + 's' * (count > 1), labels)}."
        )
        raise _wrong(text, "T03", "Drop or fill these rows.", rows=labels)
    if (
        classes := predictor.classes
    ) is not None:  # 1 where y is the explained class, 0 elsewhere (C18)
        unknown = [label for label in dict.fromkeys(values.tolist()) if label not in set(classes)]
        if unknown:
            text = f"y has labels that the model does not know: {listing(unknown)}; its classes are {listing(classes)}."
            raise _wrong(text, "T05", "Pass y with the labels the model was trained on.")
        return np.array(
            [label == predictor.explained_class for label in values.tolist()], dtype=np.float64
        )
    # labels of a probability whose classes have no names cannot be told apart
    hint = "The classes of the model are not known: pass y as 1 where the explained one holds, 0 elsewhere."
    numbers = _as_numbers(values, hint if predictor.is_probability else "Pass a numeric target.")
    if predictor.is_probability and len(outside := numbers[(numbers < 0) | (numbers > 1)]):
        raise _wrong(f"y holds {outside[0]:g}, which is neither 0 nor 1 nor between.", "T05", hint)
    return numbers


def _check_labels(values: Any, table: Table, argument: str, code: str) -> None:
    """Pandas aligns by label: values with the labels of other rows are probably not meant for these rows."""
    index, own = getattr(values, "index", None), getattr(table.native, "index", None)
    if index is None or own is None or callable(index) or callable(own) or len(index) != len(own):
        return
    if not index.equals(own):
        hint = f"Pass {argument}.to_numpy() if the rows are in the same order, otherwise {argument}.loc[X.index]."
        raise _wrong(f"the row labels of {argument} differ from those of X.", code, hint, argument)


def _one_column(y: Any) -> Any:
    if isinstance(y, np.ma.MaskedArray):
        raise _wrong(
            "y is a masked array.",
            "T04",
            "Pass y.filled(numpy.nan) and drop the rows without a value.",
        )
    try:
        values = np.asarray(y)
    except ValueError as error:  # lists of different lengths
        raise _wrong("y has rows of different lengths.", "T04", _ONE_VALUE) from error
    if values.ndim == 0:
        raise _wrong(
            f"y is a {type(y).__name__}, not one value a row.",
            "T04",
            "Pass a list, an array or a column.",
        )
    if values.ndim > 2 or (values.ndim == 2 and values.shape[1] != 1):
        text = f"y has shape {values.shape}; one target is explained at a time."
        raise _wrong(text, "T04", "Pass one column of y.")
    return values[:, 0] if values.ndim == 2 else values


def _wrong(text: str, code: str, hint: str, argument: str = "y", rows: Any = ()) -> InputError:
    return InputError(text, code=code, argument=argument, rows=rows, hint=hint)


def _check_length(values: Any, table: Table) -> None:
    if len(values) != table.n_rows:
        raise _wrong(f"y has {len(values)} values, X has {table.n_rows} rows.", "T02", _ONE_VALUE)


def _as_numbers(values: Any, hint: str) -> FloatArray:
    """Numbers as float64; text that looks like a number, dates and complex numbers are none."""
    if values.dtype.kind in "biuf":
        return np.array(values, dtype=np.float64)  # a copy: y is the caller's
    cells = values.tolist() if values.dtype == object else []
    if cells and all(isinstance(cell, Real | np.bool_) for cell in cells):
        return np.array([float(cell) for cell in cells])
    wrong = next((cell for cell in cells if not isinstance(cell, Real)), values[0])
    text = f"y holds values such as {str(wrong)!r} ({type(wrong).__name__}); the loss needs real numbers."
    raise _wrong(text, "T05", hint)


def read_weights(sample_weight: Any, table: Table) -> FloatArray:
    """Weights of the rows, all 1 where none are given; refused (D43) unless finite, none below and some above 0."""
    if sample_weight is None:
        return np.ones(table.n_rows)
    _check_labels(sample_weight, table, "sample_weight", "D43")
    if isinstance(sample_weight, np.ma.MaskedArray):
        raise _weight_error("is a masked array")
    try:
        weights = np.asarray(sample_weight)
        if weights.dtype.kind not in "UScMm":
            weights = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _weight_error("is not a list of numbers") from error
    if weights.dtype.kind != "f":
        raise _weight_error(
            f"holds values such as {str(weights.ravel()[0])!r}, which are no real numbers"
        )
    if weights.shape != (table.n_rows,):
        raise _weight_error(f"has shape {weights.shape}; X has {table.n_rows} rows")
    wrong = ~np.isfinite(weights) | (weights < 0)
    if wrong.any():
        labels = table.row_labels(np.flatnonzero(wrong)[:5])
        found = count_text(int(wrong.sum()), "negative, missing or infinite values", labels)
        raise _weight_error(f"has {found}", labels)
    if not weights.any():
        raise _weight_error("is zero for every row")
    if not _SMALLEST <= weights.max() <= _LARGEST:
        what = f"has its largest value at {weights.max():g}, where sums lose their digits"
        raise _weight_error(what, hint="Rescale it.")
    return weights


def _weight_error(what: str, rows: Any = (), hint: str = _WEIGHT_HINT) -> InputError:
    return _wrong(f"sample_weight {what}.", "D43", hint, "sample_weight", rows)


def read_clusters(clusters: Any, table: Table, argument: str = "clusters") -> IntArray:
    """Number of the cluster that each row belongs to, from 0 in the order in which they appear.

    Parameters
    ----------
    clusters : array or None
        A label for each row, aligned with the table as y is. None: every row is a cluster of its own.
    argument : str
        What the caller calls them, for messages.

    Raises
    ------
    InputError
        D43: labels of other rows, not one label a row, missing labels.
    """
    if clusters is None:
        return np.arange(table.n_rows)
    _check_labels(clusters, table, argument, "D43")
    try:
        labels = np.asarray(clusters)
    except ValueError as error:  # lists of different lengths
        raise _cluster_error(argument, "has rows of different lengths") from error
    if labels.shape != (table.n_rows,):
        raise _cluster_error(argument, f"has shape {labels.shape}; X has {table.n_rows} rows")
    absent = np.asarray(pd.isna(labels), dtype=bool)
    if isinstance(clusters, np.ma.MaskedArray):
        absent |= np.ma.getmaskarray(clusters)
    if count := int(absent.sum()):
        rows = table.row_labels(np.flatnonzero(absent)[:5])
        what = count_text(count, "missing label" + "s" * (count > 1), rows)
        hint = "A row that belongs to no other needs a label of its own; or drop these rows."
        raise _wrong(f"{argument} has {what}.", "D43", hint, argument, rows)
    numbers: dict[Any, int] = {}
    try:
        found = [numbers.setdefault(label, len(numbers)) for label in labels.tolist()]
    except TypeError as error:
        raise _cluster_error(
            argument, f"holds labels that are no single values ({error})"
        ) from error
    return np.array(found, dtype=np.intp)


def _cluster_error(argument: str, what: str) -> InputError:
    return _wrong(f"{argument} {what}.", "D43", "Pass one label for each row.", argument)


def read_rows(rows: Any, weights: FloatArray) -> IntArray:
    """Positions of chosen rows that count; all of these where none are given."""
    n_rows = len(weights)
    chosen = np.arange(n_rows, dtype=np.intp) if rows is None else np.asarray(rows)
    if chosen.dtype == np.bool_ and chosen.shape == (n_rows,):
        chosen = np.flatnonzero(chosen)
    inside = chosen.ndim == 1 and chosen.size and np.issubdtype(chosen.dtype, np.integer)
    if (
        not inside
        or chosen.min() < -n_rows
        or chosen.max() >= n_rows
        or len(np.unique(chosen % n_rows)) < len(chosen)
    ):
        text = f"rows must be different positions between 0 and {n_rows - 1}."
        raise _wrong(text, "P04", "Pass positions, not labels.", "rows")
    chosen = (chosen % n_rows).astype(np.intp)
    if not weights[chosen].any():
        raise _weight_error("is zero for every row of the region")
    return chosen[weights[chosen] > 0]


_TRIED = 16  # rows with missing cells that a model is tried on, at most: the first of each column that has some


def _fitted_names(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def used_columns(model: Any) -> set[str] | None:
    """The columns that a model which selects its columns by name looks at; None: whatever it gets."""
    step = getattr(
        model, "best_estimator_", model
    )  # of a pipeline, also of one that was searched for, the first
    while isinstance(steps := getattr(step, "steps", None), list) and steps:
        step = getattr(steps[0][1], "best_estimator_", steps[0][1])
    chosen, fitted = getattr(step, "transformers_", None), _fitted_names(step)
    if chosen is None or fitted is None:
        return None
    used: set[str] = set()
    for columns in [
        part[2] for part in chosen if not (isinstance(part[1], str) and part[1] == "drop")
    ]:
        texts = [columns] if isinstance(columns, str) else columns
        by_name = not isinstance(texts, slice) and all(isinstance(column, str) for column in texts)
        used |= (
            set(texts)
            if by_name
            else set(np.atleast_1d(np.array(fitted, dtype=object)[columns]).tolist())
        )
    return used


def read_input(
    X: Any, model: Any, kinds: Mapping[Any, str] | None = None, named: Collection[Any] = ()
) -> Table:
    """The table that a model is explained on; refused where the model was fitted on other columns (D37)."""
    fitted, used = _fitted_names(model), used_columns(model)
    table = read_table(X, kinds=kinds, missing="allow", named=named, used=used)
    found = list(table.names)
    if (
        fitted is None
        or not table.container.named
        or fitted == [f"Column_{i}" for i in range(len(fitted))]
    ):
        return table  # nobody has names, or lightgbm made some up for an array
    if type(model).__module__.startswith("lightgbm"):  # which writes blanks as underscores
        found = [name.replace(" ", "_") for name in found]
    if used is not None:  # it takes what it needs by name, in any order
        fitted = [name for name in fitted if name in used]
        found = [name for name in fitted if name in found]
    if found == fitted:
        return table
    missing, extra = [x for x in fitted if x not in found], [x for x in found if x not in fitted]
    parts = {"lacks": missing, "has, and the model was not fitted on,": extra}
    told = [f"X {verb} {listing(which)}" for verb, which in parts.items() if which]
    moved = [new for new, old in zip(found, fitted, strict=False) if new != old]
    told = told or [f"X has the model's columns in another order, from {moved[0]!r} on"]
    hint = "Pass the columns of the fit, in their order: X[list(model.feature_names_in_)]."
    message = f"{'; '.join(told)}. The model was fitted on {listing(fitted)}."
    raise InputError(
        message, code="D37", argument="X", columns=[*missing, *extra] or moved, hint=hint
    )


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
            return True
        except ModelError as error:
            failed = f" It was tried: {error.message}"
    require_present(table, failed)
    return False
