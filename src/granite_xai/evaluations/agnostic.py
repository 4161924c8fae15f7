"""Evaluations for any model: every planned recombined row is sent once, and what is summed up as they come.

On a device recombined rows are made there, the model is asked there, and its answers stay there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from granite_xai.base.errors import GraniteError, InputError
from granite_xai.base.typing import Coalition, FloatArray, PairwiseShapley, Terms
from granite_xai.compute import BLOCK, slices
from granite_xai.compute.compiled import device_faults
from granite_xai.compute.primitives import Array, ArrayNamespace
from granite_xai.evaluations.evaluations import Matrix
from granite_xai.evaluations.plan import Distinct
from granite_xai.models import DEFAULT_BATCH, Predictor
from granite_xai.models.networks import number_matrix
from granite_xai.models.predictor import Raised
from granite_xai.tables import Table

CHUNK = (
    2**20
)  # recombined rows indexed at a time, at most; the predictor sends them in smaller batches
SEEN = 2**16  # evaluations looked at together
SEEN_THERE = 2**26  # the same on a device
# Disagreements are up to fourth powers of predictions: within these sizes they are numbers with all their digits.
LARGEST_SIZE = 1e70
SMALLEST_SIZE = 1e-70
ROWS = (
    2**20
)  # recombined rows asked about at a time, where the user sets no size: enough to keep a device busy
COMPARED = 64  # rows whose answers on the device and on the host are compared, at most
ALIKE = 1e-5  # how far they may be apart, as a share of their size: beyond this the model is another one there
LIBRARIES = (
    "cupy",
    "jax.numpy",
)  # further ones a function may be written in; their arrays are shared, not copied


def out_of_range(message: str) -> InputError:
    """The refusal of predictions that cannot be squared, and squared again (N06)."""
    return InputError(message, code="N06", argument="model", hint="Rescale the predictions.")


def require_at_most(what: str, largest: float) -> None:
    """Refuse predictions, or a target, of which the largest is too large (N06)."""
    if largest > LARGEST_SIZE:
        raise out_of_range(f"{what} {largest:.3g}; up to {LARGEST_SIZE:g} can be explained.")


@dataclass(slots=True)
class EvaluationRange:
    """What the noise floor needs to know of all evaluations."""

    scale: float = 0.0  # their largest size
    float32: bool = True
    integers: bool = True
    changed: float = 0.0  # how much the answers for the same row differ
    others: tuple[EvaluationRange, ...] = ()  # of further outputs

    def see(self, values: Any, primitives: ArrayNamespace | None = None) -> Any:
        """Take note of some evaluations and pass them on, unless they are too large (N06)."""
        here, xp = primitives is None, np if primitives is None else primitives.xp
        every, step = xp.reshape(values, (-1,)), SEEN if here else SEEN_THERE
        for start in range(0, every.shape[0], step):
            part = every[start : min(start + step, every.shape[0])]
            self.scale = max(self.scale, float(xp.max(xp.abs(part))))
            require_at_most("predictions reach", self.scale)
            with np.errstate(over="ignore"):  # what is beyond float32 becomes infinite, and differs
                single = (
                    part.astype(np.float32)
                    if here
                    else xp.astype(xp.astype(part, xp.float32), xp.float64)
                )
            self.float32 = self.float32 and bool(xp.all(single == part))
            self.integers = self.integers and bool(xp.all(xp.round(part) == part))
        return values

    def require_sizeable(self) -> None:
        """Refuse evaluations that are tiny in every output, though not all 0 (N06)."""
        largest = max(extent.scale for extent in (self, *self.others))
        if 0.0 < largest < SMALLEST_SIZE:
            text = f"no prediction is larger than {largest:.3g} in size; "
            raise out_of_range(text + f"from {SMALLEST_SIZE:g} on they can be explained.")

    def note_change(self, one: FloatArray, other: FloatArray) -> None:
        """Take note of how much two answers for the same rows differ."""
        self.changed = max(self.changed, float(np.max(np.abs(one - other))))

    @property
    def single_precision(self) -> bool:
        """Every value is exactly a float32, and not all are integers."""
        return self.float32 and not self.integers


def evaluate_matrix(
    predictor: Predictor,
    table: Table,
    columns: Coalition,
    distinct: Distinct,
    block: int = BLOCK,
) -> FloatArray:
    """``E_S[u, n] = F(value u on S, row n elsewhere)``, shape (U, n)."""
    result = np.empty((len(distinct), table.n_rows))
    # Blocks of whole lines while they are short enough, otherwise parts of single lines.
    size = _affordable(predictor, table, block)
    step, width = max(1, size // table.n_rows), min(table.n_rows, size)
    for line, row in product(range(0, len(distinct), step), range(0, table.n_rows, width)):
        donors, base = (
            distinct.representatives[line : line + step],
            np.arange(table.n_rows)[row : row + width],
        )
        every = np.tile(base, len(donors))
        answers = predictor.recombined(
            table, every, table, np.repeat(donors, len(base)), sorted(columns)
        )
        result[line : line + step, row : row + width] = answers.reshape(len(donors), len(base))
    return result


def _affordable(predictor: Predictor, table: Table, block: int) -> int:
    """Recombined rows whose places, cells and answers fit a block, before the model itself begins to work."""
    indices, cells = 32, 24 * table.n_columns + 48
    if block >= (indices + cells) * predictor.batch_size:
        rows = (block - cells * predictor.batch_size) // indices
        return int(np.clip(rows, predictor.batch_size, CHUNK))
    return max(1, block // (indices + cells))


class ShapleySums:
    """Pairwise attributions ``Phi[n, m]`` from centred matrices ``E_S`` as they are evaluated: none has to be kept."""

    # The effect of a set on row n against the single reference m. A local effect under marginal masking is linear in
    # ``R^T[n, m]``, so the sum over coalitions is taken before any region is known: Phi[n, m] = sum over T of
    # a_T R^T[n, m], and the effect of row n in a region is the mean of Phi[n, m] over its rows m.

    def __init__(
        self,
        wanted: Mapping[PairwiseShapley, Terms],
        predictions: FloatArray,
        everything: Coalition,
        block: int,
    ) -> None:
        self._wanted, self._everything, self._block = wanted, everything, block
        self.values: dict[PairwiseShapley, FloatArray] = {}
        n = len(predictions)
        for term, terms in wanted.items():
            # The full coalition reads the row's own prediction, the empty one the reference's.
            own, reference = terms.get(everything, 0.0), terms.get(frozenset(), 0.0)
            self.values[term] = np.empty((n, n))
            for part in slices(n, 16 * n, block):
                self.values[term][part] = (
                    own * predictions[part, None] + reference * predictions[None, :]
                )

    def add(self, store: Coalition, matrix: Matrix) -> None:
        """Add ``R^S`` and its transpose ``R^{-S}`` to every attribution that reads them."""
        count, n = matrix.values.shape
        for coalition in (store, self._everything - store):
            reading = {
                term: terms[coalition]
                for term, terms in self._wanted.items()
                if terms.get(coalition)
            }
            for part in slices(n if reading else 0, 8 * (2 * n + count), self._block):
                if coalition == store:
                    lines = matrix.values[matrix.codes[part]]
                else:
                    lines = matrix.values[:, part].T.take(matrix.codes, axis=1)
                for term, coefficient in reading.items():
                    self.values[term][part] += coefficient * lines


class SamplingErrors:
    """Standard errors of sampled effects: the masked model of every coalition, combined draw by draw."""

    def __init__(self, predictions: FloatArray, weights: FloatArray, everything: Coalition) -> None:
        mean = np.full_like(predictions, np.average(predictions, weights=weights))
        self._masked: dict[Coalition, FloatArray] = {everything: predictions, frozenset(): mean}
        self._shares, self._everything = weights / weights.sum(), everything

    def add(self, store: Coalition, matrix: Matrix) -> None:
        """Keep the marginal masked model of ``store`` and of its complement."""
        by_value = np.bincount(matrix.codes, weights=self._shares, minlength=len(matrix.values))
        self._masked[store] = (matrix.values @ self._shares)[matrix.codes]
        self._masked[self._everything - store] = by_value @ matrix.values

    def errors(self, draws: Iterable[Terms]) -> FloatArray:
        """Standard error of the mean over the draws, one for each row."""
        known = self._masked
        parts = (
            [value * known[t] for t, value in terms.items() if isinstance(t, frozenset)]
            for terms in draws
        )
        effects = np.stack([np.sum(each, axis=0) for each in parts])
        return np.asarray(effects.std(axis=0, ddof=1) / np.sqrt(len(effects)))


@dataclass(frozen=True, slots=True, eq=False)
class Resident:
    """A table on a device, and a model that takes and returns arrays there."""

    predictor: Predictor
    table: Table
    primitives: ArrayNamespace
    cells: Array  # (n, d): the table's numbers
    give: Callable[[Array], Any] = lambda values: (
        values
    )  # an array of ours as one of the model's library
    take: Callable[[Any], Array] = lambda values: values  # an answer as an array of ours

    @property
    def batch_size(self) -> int:
        """Rows asked about at a time: more than on the host, unless the user sets a size."""
        return ROWS if (size := self.predictor.batch_size) == DEFAULT_BATCH else size

    def ask(self, rows: Array) -> Array | None:
        """F of rows on the device, in double precision there; None where an answer is no number."""
        return self.predictor.on_device(self.give(rows), rows.shape[0], self.take, self.primitives)

    def predictions(self) -> Array:
        """F of the table's own rows."""
        own = np.zeros(self.table.n_rows, dtype=np.intp)
        return self.matrix(frozenset(), Distinct(own, own[:1]))[0, :]

    def matrix(self, columns: Coalition, distinct: Distinct) -> Array:
        """``E_S[u, n] = F(value u on S, row n elsewhere)``, shape (U, n), on the device."""
        P, xp, n = self.primitives, self.primitives.xp, self.table.n_rows
        replaced = P.flags(np.isin(np.arange(self.table.n_columns), sorted(columns)))[None, None, :]
        step, lines = max(1, self.batch_size // n), []
        with device_faults(P):
            for start in range(0, len(distinct), step):
                donors = distinct.representatives[start : start + step]
                rows = xp.where(
                    replaced, P.take(self.cells, donors, 0)[:, None, :], self.cells[None, :, :]
                )
                lines.append(
                    xp.reshape(
                        self._checked(xp.reshape(rows, (-1, rows.shape[2])), donors, columns),
                        (-1, n),
                    )
                )
            return lines[0] if len(lines) == 1 else xp.concat(lines, axis=0)

    def _checked(self, rows: Array, donors: Any, columns: Coalition) -> Array:
        """Answers that are numbers; otherwise the host is asked about the same rows, and says which are at fault."""
        try:
            values, cause = self.ask(rows), None
        except Raised as raised:
            values, cause = None, raised.cause
        if values is not None:
            return values
        every, again = (
            np.tile(np.arange(self.table.n_rows), len(donors)),
            np.repeat(donors, self.table.n_rows),
        )
        self.predictor.recombined(self.table, every, self.table, again, sorted(columns))
        raise cause or RuntimeError(
            "the model's answers there are no numbers, those on the host are"
        )


def resident(
    predictor: Predictor, table: Table, primitives: ArrayNamespace | None
) -> Resident | None:
    """The model on a device; None where it is asked on the host."""
    # A module lives where its parameters are. A function is tried with a few rows of the device, of the libraries that
    # are loaded: it is at home there if it answers with an array of the same library and with the host's numbers.
    if primitives is None:
        return None
    kind = predictor.model_output
    if kind.is_module:
        cells = kind.prepare(table.native)
        at_home = getattr(cells.device, "type", None) == getattr(primitives.device, "type", None)
        return Resident(predictor, table, primitives, cells) if at_home else None
    if not kind.is_function:
        return None
    try:
        cells = primitives.array(number_matrix(table.native, "the device"))
    except GraniteError:  # text or dates: no matter for a device
        return None
    ways: list[tuple[Any, ...]] = [
        (),
        *(_shared(sys.modules[name]) for name in LIBRARIES if name in sys.modules),
    ]
    found = (Resident(predictor, table, primitives, cells, *way) for way in ways)
    return next((each for each in found if _answers(each)), None)


def _answers(found: Resident) -> bool:
    """Whether a function answers there as it does on the host; whatever it raises says that it does not."""
    few = found.table.take(np.arange(min(COMPARED, found.table.n_rows)))
    try:
        there = found.ask(found.cells[: few.n_rows, :])
    except Exception:  # a function of frames or of NumPy can fail in any way
        return False
    if there is None:
        return False
    here = found.predictor.on_rows(few)
    return bool(np.all(np.abs(found.primitives.host(there) - here) <= ALIKE * np.max(np.abs(here))))


def _shared(library: Any) -> tuple[Callable[[Array], Any], Callable[[Any], Array]]:
    """Arrays of another library in the same memory, and back."""
    from torch.utils.dlpack import from_dlpack

    return library.from_dlpack, from_dlpack
