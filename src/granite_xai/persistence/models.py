"""A model in a file: what it was, and how to recognise it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from granite_xai.base.diagnostics import warn
from granite_xai.base.errors import InputError, ModelError, ModelWarning
from granite_xai.base.files import broken, entry, members, numbers
from granite_xai.base.typing import FloatArray
from granite_xai.models import Usage
from granite_xai.persistence.rows import COUNT, synthetic_rows
from granite_xai.persistence.values import value_from_json, value_to_json
from granite_xai.tables import Outline, rows_from_dict, rows_to_dict

if TYPE_CHECKING:
    from granite_xai.models import Predictor
    from granite_xai.tables import Table

TOLERANCE = 1e-5
"""Largest difference of predictions, in shares of their size: machines round differently, models differ by more."""


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """What the model answered on a few rows, and which of its outputs was explained.

    Parameters
    ----------
    label : str
        What was explained, in words.
    probability : bool
        Whether that was a probability.
    classes : tuple, optional
        The model's classes.
    explained : object
        The class that was explained.
    rows : Table, optional
        The rows asked; None where the file could not hold any.
    predictions : (n,) float
        The answers.
    """

    label: str
    probability: bool
    classes: tuple[Any, ...] | None
    explained: Any
    rows: Table | None
    predictions: FloatArray

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

    def to_dict(self) -> dict[str, Any]:
        """Write the fingerprint."""
        return {
            "label": self.label,
            "probability": self.probability,
            "classes": None if self.classes is None else value_to_json(list(self.classes), "classes"),
            "explained": value_to_json(self.explained, "output"),
            "rows": None if self.rows is None else rows_to_dict(self.rows),
            "predictions": self.predictions.tolist(),
        }

    @classmethod
    def from_dict(cls, data: object, table: Table, place: str) -> Fingerprint:
        """Read what `to_dict` wrote."""
        classes, explained, stored = (entry(data, key, object, place) for key in ("classes", "explained", "rows"))
        names = None if classes is None else tuple(members(data, "classes", place))
        if not all(isinstance(name, str | int | float) for name in names or ()):
            raise broken(f"{place}.classes", "is not a list of labels")
        rows = None if stored is None else rows_from_dict(stored, table, f"{place}.rows")
        predictions = numbers(data, "predictions", place, count=0 if rows is None else rows.n_rows)
        label, probability = entry(data, "label", str, place), entry(data, "probability", bool, place)
        return cls(label, probability, names, value_from_json(explained, f"{place}.explained"), rows, predictions)


class Detached:
    """Stands where the model was: it knows what was explained, and any question to it is an F09 error.

    Parameters
    ----------
    fingerprint : Fingerprint
    """

    native_float32 = False
    usage = Usage()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # copy and pickle ask for names that need not be there
            raise AttributeError(name)
        self()

    def __init__(self, fingerprint: Fingerprint) -> None:
        self.label = fingerprint.label
        self.classes = fingerprint.classes
        self.is_probability = fingerprint.probability
        self.explained_class = fingerprint.explained

    def __call__(self, *_: Any) -> NoReturn:
        """Refused: there is no model."""
        raise InputError(
            "this object was loaded without its model, which has to be asked here.",
            code="F09",
            argument="model",
            hint="Load with gx.load(path, model=model).",
        )


def has_rows(table: Table) -> bool:
    """Tell whether a table still has its rows."""
    return not isinstance(table.container, Outline)


def _another_model(why: str) -> ModelError:
    return ModelError(
        f"this is not the model that was saved with: {why}.",
        code="F09",
        argument="model",
        hint="Load with the model that the object was fitted with, or fit again.",
    )
