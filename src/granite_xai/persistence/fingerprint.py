"""What a file knows of the model that it does not hold: which output was explained, and answers on some rows.

A file with the data names rows of its table. A file without them must not hold a row of the data, so that its rows are
made up: in each region, every column takes values that occur there, in an order of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.diagnostics import warn
from granite_xai.base.errors import InputError, ModelError, ModelWarning
from granite_xai.base.files import require
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.models import Predictor, Usage
from granite_xai.tables import Column, Outline, Table, read_alike, recombine, rows_to_dict

MOST = 1_000  # answers that are kept and compared, at most
PER_REGION = 8  # rows of each region among them, at least (where it has so many)
CARRIERS = 8  # made-up rows that are stored with their cells: they carry the dtypes of all others
TOLERANCE = 1e-5
"""Of answers, in shares of their size: machines round differently, models differ by more."""
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
        regions : (n,) int
            Region of each row of the table.
        """
        unasked = cls(
            label=predictor.label,
            probability=predictor.is_probability,
            classes=predictor.classes,
            explained=predictor.explained_class,
            rows=None,
            predictions=np.empty(0),
        )
        shares = _share_among(np.bincount(regions))
        if with_data:
            positions = _spread_over_regions(regions, shares)
            of_data = replace(
                unasked, rows=table, positions=positions, predictions=np.zeros(len(positions))
            )
            return of_data.answered(predictor, table) or unasked
        carriers = synthetic_rows(table)
        try:
            rows_to_dict(carriers)
        except InputError:  # a dtype that no file holds
            return unasked
        codes = _made_up_codes(table, regions, shares)
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
            return _rows_of_levels(table, self.rows, self.codes)
        return self.rows

    def require_rows_of(self, table: Table, place: str) -> None:
        """Refuse positions and codes that the table of the file does not have."""
        count = 0 if self.rows is None else self.rows.n_rows
        inside = bool(np.all((self.positions >= 0) & (self.positions < count)))
        right = self.positions.ndim == 1 and inside
        require(right, f"{place}.positions", f"are not among {count} rows")
        if not self.codes.size:
            return
        right = self.rows is not None and self.codes.shape[1:] == (table.n_columns,)
        require(right, f"{place}.codes", f"are not one for each of {table.n_columns} columns")
        for column in table.columns:
            if column.passes:
                continue
            codes = self.codes[:, column.position]
            lowest = -1 if column.missing.any() else 0
            right = bool(np.all((codes >= lowest) & (codes < len(column.levels))))
            require(right, f"{place}.codes", f"are no levels of column {column.name!r}")

    def check(self, predictor: Predictor, table: Table) -> int:
        """Refuse a model that explains another output or answers differently (F09); how many answers were compared."""
        this_output = (predictor.is_probability, predictor.explained_class)
        if this_output != (self.probability, self.explained):
            raise _another_model(f"{predictor.label} is explained, not {self.label}")
        if self.rows is None:
            text = "the file holds no predictions, so whether this is the same model is not known."
            warn(f"F09: {text}", ModelWarning)
            return 0
        gaps = np.abs(predictor.on_rows(self.asked_rows(table)) - self.predictions)
        largest = float(np.max(np.abs(self.predictions)))
        wrong = int(np.count_nonzero(gaps > TOLERANCE * largest))
        if wrong:
            counts = f"{wrong:,} of the {len(gaps):,} predictions that were compared differ"
            raise _another_model(f"{counts}, by up to {gaps.max():.3g}")
        return len(gaps)


def _another_model(why: str) -> ModelError:
    message = f"this is not the model that was saved with: {why}."
    hint = "Load with the model that the object was fitted with, or fit again."
    return ModelError(message, code="F09", argument="model", hint=hint)


class Detached:
    """Stands where the model was: it knows what was explained, and any question to it is an F09 error."""

    native_float32 = False
    usage = Usage()
    outputs: Mapping[Any, Detached] = MappingProxyType({})  # one that stands for several has them

    def __init__(self, fingerprint: Fingerprint) -> None:
        self.label = fingerprint.label
        self.classes = fingerprint.classes
        self.is_probability = fingerprint.probability
        self.explained_class = fingerprint.explained

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # copy and pickle ask for names that need not be there
            raise AttributeError(name)
        self()

    def __call__(self, *_: Any) -> NoReturn:
        """Refused: there is no model."""
        message = "this object was loaded without its model, which has to be asked here."
        hint = "Load with gx.load(path, model=model)."
        raise InputError(message, code="F09", argument="model", hint=hint)


def has_rows(table: Table) -> bool:
    """Tell whether a table still has its rows."""
    return not isinstance(table.container, Outline)


def are_numbers(values: Any, count: int) -> bool:
    """Whether there are so many numbers, all of them finite."""
    return np.shape(values) == (count,) and bool(np.all(np.isfinite(values)))


def synthetic_rows(table: Table) -> Table:
    """Combine levels that are spread over each column, every column in another order."""
    rows = np.arange(CARRIERS)
    synthetic = table.take(np.zeros(CARRIERS, dtype=np.intp))
    for column in table.columns:
        position = column.position
        places = (rows * (2 * position + 1) + position) % CARRIERS  # an order of its own
        codes = (2 * places + 1) * len(column.levels) // (2 * CARRIERS)
        first_rows = [int(np.argmax(column.codes == code)) for code in codes]
        mixed = recombine(synthetic, rows, table, first_rows, [position])
        synthetic = read_alike(mixed, table)
    return synthetic


def _share_among(sizes: IntArray) -> IntArray:
    """How many of at most `MOST` rows each region gets: in proportion, but some of every region."""
    n_rows = int(sizes.sum())
    n_kept = min(MOST, n_rows)
    shares = np.maximum(sizes * n_kept // max(n_rows, 1), PER_REGION)
    return np.asarray(np.minimum(shares, sizes), dtype=np.intp)


def _spread_over_regions(regions: IntArray, shares: Sequence[int] | IntArray) -> IntArray:
    """Positions of so many rows of each region, at equal distances."""
    chosen = [_no_rows()]
    for region, count in enumerate(shares):
        rows = np.flatnonzero(regions == region)
        places = (2 * np.arange(count) + 1) * len(rows) // (2 * max(int(count), 1))
        chosen.append(rows[places])
    return np.sort(np.concatenate(chosen))


def _made_up_codes(table: Table, regions: IntArray, shares: Sequence[int] | IntArray) -> IntArray:
    """Levels of made-up rows, (rows, columns): they satisfy the rule of a region, since each of their cells does."""
    generator = np.random.default_rng(0)
    blocks = []
    for region, count in enumerate(shares):
        rows = np.flatnonzero(regions == region)
        block = np.zeros((int(count), table.n_columns), dtype=np.intp)
        for column in table.columns:
            present = np.unique(column.codes[rows])
            order = generator.permutation(int(count))
            if count and not column.passes:
                block[:, column.position] = present[order * len(present) // int(count)]
        blocks.append(block)
    return np.concatenate(blocks)


def _rows_of_levels(table: Table, carriers: Table, codes: IntArray) -> Table:
    """Rows that consist of levels of a table, in the dtypes of some carriers, which also fill passing columns."""
    first_carrier = np.zeros(len(codes), dtype=np.intp)
    columns = []
    for column in table.columns:
        if column.passes:
            columns.append(carriers.columns[column.position].take(first_carrier))
        else:
            values = _values_at(column, codes[:, column.position])
            columns.append(replace(column, values=values))
    donor = Table(tuple(columns), carriers.container.adopt(columns))
    rows = np.arange(len(codes))
    mixed = recombine(carriers, rows % carriers.n_rows, donor, rows, table.explained)
    return read_alike(mixed, carriers)


def _values_at(column: Column, codes: IntArray) -> NDArray[Any]:
    """The values that some codes of a column stand for; -1 is missing."""
    gap = {"O": None, "f": np.nan}.get(column.levels.dtype.kind, "NaT")
    return np.append(column.levels, np.array([gap], dtype=column.levels.dtype))[codes]
