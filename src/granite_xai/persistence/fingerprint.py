"""What a file knows of the model that it does not hold.

It is the output that was explained, with the model's answers on some rows. A file with the data names rows of its
table. A file without them must not hold a row of the data, so that its rows are made up (`made_up_rows`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from granite_xai.base.diagnostics import warn
from granite_xai.base.errors import InputError, ModelError, ModelWarning
from granite_xai.base.files import require
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.models import Predictor
from granite_xai.persistence.checks import are_numbers
from granite_xai.persistence.made_up_rows import made_up_codes, rows_of_levels, synthetic_rows
from granite_xai.tables import Table, rows_to_dict

MAX_ANSWERS = 1_000  # that are kept and compared
MIN_OF_REGION = 8  # rows of each region among them (where it has so many)
# Of answers, as a share of the largest: machines round differently, models differ by more.
TOLERANCE = 1e-5
_CANNOT_ASK = (InputError, ModelError, TypeError, ValueError)


def _no_rows() -> IntArray:
    return np.empty(0, dtype=np.intp)


def _no_codes() -> IntArray:
    return np.empty((0, 0), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """Which output was explained, and what the model answered.

    Attributes
    ----------
    label, probability, classes, explained
        The explained output, as the `Predictor` describes it.
    rows : Table or None
        The table of the file (with its data), rows that carry the dtypes (without), or None: nothing could be asked.
    predictions : (n,) float
        What the model answered.
    positions : (n,) int
        With the data: rows of the table that the model was asked about.
    codes : (n, columns) int
        Without them: the levels that each made-up row consists of; -1 is missing. Where both are empty, as in files of
        version 2, the model was asked about `rows` themselves.
    """

    label: str
    probability: bool
    classes: tuple[Any, ...] | None
    explained: Any
    rows: Table | None
    predictions: FloatArray
    positions: IntArray = field(default_factory=_no_rows)
    codes: IntArray = field(default_factory=_no_codes)

    def __post_init__(self) -> None:
        if self.positions.size:
            count = len(self.positions)
        elif self.codes.size:
            count = len(self.codes)
        else:
            count = 0 if self.rows is None else self.rows.n_rows
        if not are_numbers(self.predictions, count):
            raise ValueError(f"its predictions are not {count} numbers")

    @classmethod
    def of(
        cls, predictor: Predictor, table: Table, regions: IntArray, *, with_data: bool
    ) -> Fingerprint:
        """Ask the model about rows of every region: of the data if the file may hold them, otherwise made-up ones.

        Parameters
        ----------
        predictor : Predictor
            The model.
        table : Table
            The fitting rows.
        regions : array of shape (n,)
            Region of each row of the table.
        with_data : bool
            Whether the file may hold rows of the data.
        """
        unasked = cls(
            label=predictor.label,
            probability=predictor.is_probability,
            classes=predictor.classes,
            explained=predictor.explained_class,
            rows=None,
            predictions=np.empty(0),
        )
        counts = _answers_of_regions(np.bincount(regions))
        if with_data:
            positions = _spread_over_regions(regions, counts)
            of_data = replace(
                unasked, rows=table, positions=positions, predictions=np.zeros(len(positions))
            )
            return of_data.answered(predictor, table) or unasked
        carriers = synthetic_rows(table)
        try:
            rows_to_dict(carriers)
        except InputError:  # a dtype that no file holds
            return unasked
        codes = made_up_codes(table, regions, counts)
        made_up = replace(unasked, rows=carriers, codes=codes, predictions=np.zeros(len(codes)))
        carriers_only = replace(unasked, rows=carriers, predictions=np.zeros(carriers.n_rows))
        # A model may refuse some rows that nobody has seen, and take the carriers.
        for fingerprint in (made_up, carriers_only):
            answered = fingerprint.answered(predictor, table)
            if answered is not None:
                return answered
        return unasked

    def answered(self, predictor: Predictor, table: Table) -> Fingerprint | None:
        """The same with the answers of a model; None where it cannot be asked about these rows."""
        try:
            return replace(self, predictions=predictor.on_rows(self.asked_rows(table)))
        except _CANNOT_ASK:
            return None

    def asked_rows(self, table: Table) -> Table:
        """The rows that the model was asked about; ``table``: that of the file, whose levels the codes mean."""
        if self.rows is None:
            raise ValueError("the file holds no rows to ask a model about")
        if self.positions.size:
            return self.rows.take(self.positions)
        if self.codes.size:
            return rows_of_levels(table, self.rows, self.codes)
        return self.rows

    def require_rows_of(self, table: Table, place: str) -> None:
        """Refuse positions and codes that the table of the file does not have."""
        n_rows = 0 if self.rows is None else self.rows.n_rows
        are_rows = bool(np.all((self.positions >= 0) & (self.positions < n_rows)))
        are_positions = self.positions.ndim == 1 and are_rows
        require(are_positions, f"{place}.positions", f"are not among {n_rows} rows")
        if not self.codes.size:
            return
        has_columns = self.rows is not None and self.codes.shape[1:] == (table.n_columns,)
        what = f"are not one for each of {table.n_columns} columns"
        require(has_columns, f"{place}.codes", what)
        for column in table.columns:
            if column.passes:
                continue
            codes = self.codes[:, column.position]
            lowest = -1 if column.missing.any() else 0
            are_levels = bool(np.all((codes >= lowest) & (codes < len(column.levels))))
            require(are_levels, f"{place}.codes", f"are no levels of column {column.name!r}")

    def check(self, predictor: Predictor, table: Table) -> int:
        """Refuse a model that explains another output or answers differently (F09).

        Parameters
        ----------
        predictor : Predictor
            The model that the user passed.
        table : Table
            That of the file.

        Returns
        -------
        int
            How many answers were compared.
        """
        this_output = (predictor.is_probability, predictor.explained_class)
        if this_output != (self.probability, self.explained):
            raise _another_model(f"{predictor.label} is explained, not {self.label}")
        if self.rows is None:
            text = "the file holds no predictions, so whether this is the same model is not known."
            warn(f"F09: {text}", ModelWarning)
            return 0
        gaps = np.abs(predictor.on_rows(self.asked_rows(table)) - self.predictions)
        largest = float(np.max(np.abs(self.predictions)))
        n_different = int(np.count_nonzero(gaps > TOLERANCE * largest))
        if n_different:
            counts = f"{n_different:,} of the {len(gaps):,} predictions that were compared differ"
            raise _another_model(f"{counts}, by up to {gaps.max():.3g}")
        return len(gaps)


def _another_model(why: str) -> ModelError:
    message = f"this is not the model that was saved with: {why}."
    hint = "Load with the model that the object was fitted with, or fit again."
    return ModelError(message, code="F09", argument="model", hint=hint)


def _answers_of_regions(sizes: IntArray) -> IntArray:
    """How many of at most `MAX_ANSWERS` rows are of each region: in proportion, but some of every region."""
    n_rows = int(sizes.sum())
    n_answers = min(MAX_ANSWERS, n_rows)
    counts = np.maximum(sizes * n_answers // max(n_rows, 1), MIN_OF_REGION)
    return np.asarray(np.minimum(counts, sizes), dtype=np.intp)


def _spread_over_regions(regions: IntArray, counts: IntArray) -> IntArray:
    """Positions of so many rows of each region, at equal distances."""
    chosen = [_no_rows()]
    for region, count in enumerate(counts.tolist()):
        rows = np.flatnonzero(regions == region)
        places = (2 * np.arange(count) + 1) * len(rows) // (2 * max(count, 1))
        chosen.append(rows[places])
    return np.sort(np.concatenate(chosen))
