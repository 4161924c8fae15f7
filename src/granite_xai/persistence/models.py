"""A model in a file: what it was, and how to recognise it without storing a row of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from granite_xai.base.diagnostics import warn
from granite_xai.base.errors import InputError, ModelError, ModelWarning
from granite_xai.base.typing import FloatArray
from granite_xai.models import Predictor, Usage
from granite_xai.tables import Outline, Table, read_alike, recombine, rows_to_dict

COUNT = 8
TOLERANCE = 1e-5
"""Largest difference of predictions, in shares of their size: machines round differently, models differ by more."""


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """What the model answered on a few rows, and which of its outputs was explained, in words and by its class.

    The rows are None where the file could not hold any.
    """

    label: str
    probability: bool
    classes: tuple[Any, ...] | None
    explained: Any
    rows: Table | None
    predictions: FloatArray

    def __post_init__(self) -> None:
        count = 0 if self.rows is None else self.rows.n_rows
        if self.predictions.shape != (count,) or not np.all(np.isfinite(self.predictions)):
            raise ValueError(f"its predictions are not {count} numbers")

    @classmethod
    def of(cls, predictor: Predictor, table: Table, with_data: bool) -> Fingerprint:
        """Ask the model about rows of the data if the file may hold them, otherwise about rows made of levels."""
        rows: Table | None = table.take(np.arange(min(COUNT, table.n_rows))) if with_data else synthetic_rows(table)
        predictions = np.empty(0)
        try:
            if rows is not None:
                rows_to_dict(rows)
                predictions = predictor.on_rows(rows)
        except (InputError, ModelError):  # a dtype that no file holds, or a row that the model refuses
            rows = None
        explained = predictor.explained_class
        return cls(predictor.label, predictor.is_probability, predictor.classes, explained, rows, predictions)

    def check(self, predictor: Predictor) -> None:
        """Refuse a model that answers differently (F09)."""
        if (predictor.is_probability, predictor.explained_class) != (self.probability, self.explained):
            raise _another_model(f"{predictor.label} is explained, not {self.label}")
        if self.rows is None:
            warn("F09: the file holds no predictions, so whether this is the same model is not known.", ModelWarning)
            return
        gaps = np.abs(predictor.on_rows(self.rows) - self.predictions)
        size = float(np.max(np.abs(self.predictions)))
        wrong = int(np.count_nonzero(gaps > TOLERANCE * size))
        if wrong:
            raise _another_model(f"{wrong} of {len(gaps)} predictions differ, by up to {gaps.max():.3g}")


class Detached:
    """Stands where the model was: it knows what was explained, and any question to it is an F09 error."""

    native_float32 = False
    usage = Usage()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # copy and pickle ask for names that need not be there
            raise AttributeError(name)
        self()

    def __init__(self, fingerprint: Fingerprint) -> None:
        self.label, self.classes = fingerprint.label, fingerprint.classes
        self.is_probability, self.explained_class = fingerprint.probability, fingerprint.explained

    def __call__(self, *_: Any) -> NoReturn:
        """Refused: there is no model."""
        message = "this object was loaded without its model, which has to be asked here."
        raise InputError(message, code="F09", argument="model", hint="Load with gx.load(path, model=model).")


def has_rows(table: Table) -> bool:
    """Tell whether a table still has its rows."""
    return not isinstance(table.container, Outline)


def _another_model(why: str) -> ModelError:
    hint = "Load with the model that the object was fitted with, or fit again."
    return ModelError(f"this is not the model that was saved with: {why}.", code="F09", argument="model", hint=hint)


def synthetic_rows(table: Table) -> Table:
    """Combine levels that are spread over each column, every column in another order."""
    rows = np.arange(COUNT)
    made = table.take(np.zeros(COUNT, dtype=np.intp))
    for column in table.columns:
        j, count = column.position, len(column.levels)
        codes = (2 * ((rows * (2 * j + 1) + j) % COUNT) + 1) * count // (2 * COUNT)
        carriers = [int(np.argmax(column.codes == code)) for code in codes]  # the first rows with these levels
        made = read_alike(recombine(made, rows, table, carriers, [j]), table)
    return made


def without_rows(part: Table, position: int, like: Table) -> Table:
    """Keep one column of some rows and put synthetic cells into the others."""
    base = synthetic_rows(like)
    first = np.zeros(part.n_rows, dtype=np.intp)
    return read_alike(recombine(base, first, part, np.arange(part.n_rows), [position]), like)
