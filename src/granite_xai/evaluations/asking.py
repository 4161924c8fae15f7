"""The model is asked once for everything that a request names, all outputs together."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import Diagnostics, GraniteError, ModelError, ResourceError
from granite_xai.base.limits import Resources, require_evaluations, slices
from granite_xai.base.parallel import Meter, progress
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.evaluations.ensembles import PartsOnTable, Reading
from granite_xai.evaluations.evaluations import Attribution, Evaluations, Matrix
from granite_xai.evaluations.probe import Extent, require_at_most
from granite_xai.evaluations.request import (
    Request,
    Summed,
    Weighted,
    bytes_kept,
    require_room,
)
from granite_xai.evaluations.values import Values
from granite_xai.models import Predictor, Scale, SentRows
from granite_xai.models.model import CELL_BYTES, Raised
from granite_xai.tables import Rows, Table

MOST_ROWS = 2**20  # recombined rows indexed at a time; the model gets them in smaller batches
INDEX_BYTES = 32  # of a recombined row: its base row and its donor, tiled and repeated
ANSWER_BYTES = 48  # of a row's answer, as it comes and as it is read


class Asked(NamedTuple):
    """What the model said about some rows, in each of its outputs, and how large that was."""

    outputs: tuple[Evaluations, ...]
    extents: tuple[Extent, ...]


class Ends(NamedTuple):
    """Key of the predictions at the smallest and the largest value of a column at quantiles."""

    columns: Coalition


class RowValues(NamedTuple):
    """Numbers of each row, (n, ...)."""

    values: FloatArray

    def take(self, places: IntArray) -> RowValues:
        """The same of some of the rows."""
        return RowValues(self.values[places])


def ask(
    model: Predictor,
    rows: Rows,
    request: Request,
    reading: Reading,
    *,
    resources: Resources,
    n_jobs: int | None = None,
    record: Diagnostics | None = None,
) -> Asked:
    """Evaluate all of a request, after checking that it fits the limits.

    Parameters
    ----------
    model : Predictor
    rows : Rows
    request : Request
        About the table of these rows.
    reading : Reading
        The model on this table, which may be read instead.
    resources : Resources
    n_jobs : int, optional
        Threads of walks through trees.
    record : Diagnostics, optional
        Gets a note on how evaluations were made.

    Raises
    ------
    ResourceError
        D33: too little memory; M13: too many rows.
    """
    parts, note = reading.answering(request, n_jobs, resources.block)
    n_outputs = len(model.outputs) or 1
    network = None
    needs_host = request.needs.attributions or request.combines_values or n_outputs > 1
    if not parts and not needs_host:
        network = network_on_device(model, rows.table, resources.device)
    require_room(request, rows.table, resources, n_outputs)
    n_model_rows = request.n_model_rows(is_read=bool(parts))
    require_evaluations(resources, n_model_rows)
    if record is not None:
        if network is not None:
            note["path"] = "model (device)"
        record.note("evaluations", note)
        record.note("bytes", bytes_kept(request, n_outputs))
    # Either the rows that the model answers are shown, or the matrices that are made from its trees.
    quiet = replace(resources, progress=False)
    shows_rows = not parts and not model.is_watched
    meter = Meter(resources if shows_rows else quiet, n_model_rows)
    asker = _Asker(model=model, rows=rows, parts=parts, network=network, block=resources.block)
    with closing(meter), model.watched(meter):
        return asker.ask(request, progress_of=resources if parts else quiet)


@dataclass(frozen=True, eq=False)
class _Asker:
    """Whoever answers about some rows: the parts of a model, a network on a device, or the model.

    Parameters
    ----------
    model : Predictor
    rows : Rows
    parts : tuple of PartsOnTable
        For each output; none where the model is asked.
    network : NetworkOnDevice, optional
    block : int
        Bytes of what is made on the way.
    """

    model: Predictor
    rows: Rows
    parts: tuple[PartsOnTable, ...]
    network: NetworkOnDevice | None
    block: int

    def ask(self, request: Request, progress_of: Resources) -> Asked:
        """The predictions, then one matrix after the other, all outputs of it: answers are kept no longer."""
        rows = self.rows
        attributed = request.needs.attributions
        every_row = np.arange(len(rows))
        # Models that are read are asked as well, as a further check of their answers.
        table = rows.table
        predictions = self.model.recombined_outputs(table, every_row, table, every_row, ())
        if self.parts:
            predictions = np.stack([part.predictions() for part in self.parts])
        outputs = [_Output(of_output, rows.weights) for of_output in predictions]
        if rows.y is not None:
            require_at_most("y reaches", float(np.max(np.abs(rows.y))))
        sums = [
            Sums(attributed, output.f, rows.weights, rows.table.n_columns, self.block)
            for output in outputs
            if attributed
        ]
        both = {**request.matrices, **request.summed}
        for columns in progress(both, progress_of, "evaluations", len(both)):
            values = both[columns]
            answers = self._predictions(columns, values.carriers, values.donors)
            for number, output in enumerate(outputs):
                matrix = output.matrix(values, answers[number])
                if attributed:
                    sums[number].add(columns, matrix)
                if columns in request.matrices:
                    output.matrices[columns] = matrix
        self._add_facts(request, outputs)
        if attributed:
            for output, of_output in zip(outputs, sums, strict=True):
                output.facts |= of_output.attributions()
            self._add_attributions_by_paths(attributed, outputs)
        scales = [each.scale for each in self.model.outputs.values()] or [self.model.scale]
        return Asked(
            tuple(
                output.evaluations(rows, number, scales[number])
                for number, output in enumerate(outputs)
            ),
            tuple(output.extent for output in outputs),
        )

    def _predictions(
        self, columns: Coalition, carriers: IntArray, donor_table: Table | None = None
    ) -> list[FloatArray]:
        """``F(value u on S, row n elsewhere)`` of each output, (n, U); the model is sent each pair once."""
        if self.parts:
            return [part.matrix(columns, carriers) for part in self.parts]
        if self.network is not None:
            return [self.network.matrix(columns, carriers)]
        table = self.rows.table
        n_rows = table.n_rows
        n_outputs = len(self.model.outputs) or 1
        results = [np.empty((n_rows, len(carriers))) for _ in range(n_outputs)]
        # Whole values, several at a time, while they are short enough; otherwise parts of single ones.
        batch = self.model.batch_rows(table.n_columns)
        at_once = _affordable_rows(batch, table.n_columns, self.block)
        for values in slices(len(carriers), n_rows, at_once):
            donors = carriers[values]
            for part in slices(n_rows, 1, at_once):
                base = np.arange(part.start, part.stop)
                answers = self.model.recombined_outputs(
                    table,
                    np.tile(base, len(donors)),
                    donor_table or table,
                    np.repeat(donors, len(base)),
                    sorted(columns),
                )
                for result, of_output in zip(results, answers, strict=True):
                    result[part, values] = of_output.reshape(len(donors), len(base)).T
        return results

    def _add_facts(self, request: Request, outputs: Sequence[_Output]) -> None:
        """What maskings learned, and the ends of columns at quantiles.

        Of columns of few values the gap reads facts of the row with the standing value. What the model said
        follows the values everywhere; where a pilot chose them by what the model does, they do not say which
        rows are alike, so that rows stay in their bins.
        """
        table = self.rows.table
        few = request.columns_of_few_values
        for output in outputs:
            output.moved = {columns: {} for columns in few}
        moving = [columns for columns in few if request.matrices[columns].donors is None]
        for key, learned in request.learned.items():
            _, visible = key
            asked = learned.asks(table)
            answers: Sequence[FloatArray | None] = [None] * len(outputs)
            if asked is not None:
                answers = list(self.model.recombined_outputs(*asked))
            is_moved = visible in moving and learned.follows_values
            is_moved = is_moved and (asked is not None or request.at_quantiles)
            for output, predictions in zip(outputs, answers, strict=True):
                if predictions is not None:
                    output.centre(predictions)
                fact = learned.fact(table, predictions)
                output.facts[key] = fact
                if is_moved:
                    values = request.matrices[visible]
                    output.moved[visible][key] = fact.take(values.carriers[values.codes])
        if not request.at_quantiles:
            return
        for columns in few:
            codes = table.columns[min(columns)].codes
            ends = np.array([np.argmax(codes == 0), np.argmax(codes)])
            for output, at_ends in zip(outputs, self._predictions(columns, ends), strict=True):
                output.centre(at_ends)
                output.facts[Ends(columns)] = RowValues(at_ends)

    def _add_attributions_by_paths(
        self, attributed: Mapping[Hashable, Summed], outputs: Sequence[_Output]
    ) -> None:
        """Attributions from the paths of trees, all of the same players in one walk."""
        by_players: dict[tuple[Coalition, ...], dict[Hashable, int]] = {}
        for key, summed in attributed.items():
            if not summed.terms:
                by_players.setdefault(summed.players, {})[key] = summed.place
        if by_players and not self.parts:
            raise ModelError(
                "exact attributions were planned from the model's trees, but the model is asked.",
                code="M23",
                argument="model",
                hint="Fit again: the model or the kind of table has changed.",
            )
        for players, places in by_players.items():
            for output, part in zip(outputs, self.parts, strict=True):
                values = part.attributions(players, list(places.values()))
                for key, phi in zip(places, values, strict=True):
                    output.facts[key] = Attribution(phi)


class _Output:
    """What was said so far in one output.

    Parameters
    ----------
    predictions : array of shape (n,)
    weights : array of shape (n,)
    """

    def __init__(self, predictions: FloatArray, weights: FloatArray) -> None:
        self.extent = Extent()
        self.extent.note_values(predictions)
        self.offset = float(np.average(predictions, weights=weights))
        self.f = predictions - self.offset
        self.matrices: dict[Coalition, Matrix] = {}
        self.facts: dict[Hashable, Any] = {}
        self.moved: dict[Coalition, dict[Hashable, Any]] = {}

    def centre(self, predictions: FloatArray) -> None:
        """Take the mean prediction of the rows away, in place, after a look at the extent of what was said."""
        self.extent.note_values(predictions)
        predictions -= self.offset

    def matrix(self, values: Values, predictions: FloatArray) -> Matrix:
        """``E_S``, centred in place."""
        self.centre(predictions)
        if values.donors is None:
            # A row with its own values is the row itself: its entry is compared with its prediction. Where
            # few values stand for others, only the rows that carry these have an entry of their own.
            carriers = values.carriers if values.stand_for_others else np.arange(len(self.f))
            repeated = predictions[carriers, values.codes[carriers]]
            self.extent.note_change(repeated, self.f[carriers])
        return Matrix(predictions, values.codes, values.levels, values.sizes)

    def evaluations(self, rows: Rows, number: int, scale: Scale) -> Evaluations:
        """All of it on a scale; ``number``: of the output, among the columns of y."""
        y = rows.y
        if y is not None and y.ndim == 2:
            y = y[:, number]
        return Evaluations(
            f=self.f,
            weights=rows.weights,
            y=y,
            matrices=self.matrices,
            everything=Coalition(range(rows.table.n_columns)),
            facts=self.facts,
            moved=self.moved,
            offset=self.offset,
            scale=scale,
        )


def _affordable_rows(batch: int, n_columns: int, block: int) -> int:
    """Recombined rows whose indices, cells and answers fit a block, before the model itself works.

    Indices are made for all n of these rows, cells and answers for one batch of them:

        bytes = n · INDEX_BYTES + batch · (cells and answer of a row)
    """
    bytes_in_batch = CELL_BYTES * n_columns + ANSWER_BYTES  # of one row, beside its indices
    if block < (INDEX_BYTES + bytes_in_batch) * batch:  # not even one whole batch
        return max(1, block // (INDEX_BYTES + bytes_in_batch))
    affordable = (block - bytes_in_batch * batch) // INDEX_BYTES
    return int(np.clip(affordable, batch, MOST_ROWS))


# Effects against single reference rows -------------------------------------------------------------


class Sums:
    """Effects of every row against every single reference row, summed up while matrices are asked.

    A local effect under marginal masking is linear in ``R_T[n, m]``, the prediction of row n with the
    columns outside T taken from row m. So the sum over coalitions is taken before any region is known,

        Phi[n, m] = sum over T of a_T R_T[n, m],

    and the effect of row n in a region is the mean of ``Phi[n, m]`` over its rows m. No matrix is kept.

    Of sampled effects every draw (a pair of opposite orders of arrival) is computed again, against all
    rows: the effect is their mean, and their standard deviation over the root of their number is its
    standard error (C19).

    Parameters
    ----------
    wanted : mapping of key to Summed
        Those without terms are left out: the paths of trees give them.
    f, weights : arrays of shape (n,)
        Centred predictions of the rows, and their weights.
    n_columns : int
    block : int
        Bytes of what is computed at a time.
    """

    def __init__(
        self,
        wanted: Mapping[Hashable, Summed],
        f: FloatArray,
        weights: FloatArray,
        n_columns: int,
        block: int,
    ) -> None:
        self._wanted = {key: summed for key, summed in wanted.items() if summed.terms}
        self._everything = Coalition(range(n_columns))
        self._shares = weights / weights.sum()
        self._block = block
        # The masked model of each coalition against all rows, (n,): what draws are made of.
        mean = np.full_like(f, self._shares @ f)
        self._masked: dict[Coalition, FloatArray] = {self._everything: f, Coalition(): mean}
        self._phi: dict[Hashable, FloatArray] = {}
        for key, summed in self._wanted.items():
            # With everything visible the row's own prediction is read, with nothing the reference's.
            of_row = summed.terms.get(self._everything, 0.0) * f
            of_reference = summed.terms.get(Coalition(), 0.0) * f
            self._phi[key] = of_row[:, None] + of_reference

    def add(self, columns: Coalition, matrix: Matrix) -> None:
        """Add ``R_S``, and R of the other columns, which is ``R_S`` turned round, where they are read."""
        values, codes = matrix.values, matrix.codes
        others = self._everything - columns
        if any(summed.draws for summed in self._wanted.values()):
            share_of_value = np.bincount(codes, weights=self._shares, minlength=values.shape[1])
            self._masked[columns] = (self._shares @ values)[codes]
            self._masked[others] = values @ share_of_value
        for coalition in (columns, others):
            factors = {
                key: summed.terms[coalition]
                for key, summed in self._wanted.items()
                if summed.terms.get(coalition)
            }
            if not factors:
                continue
            for part in slices(len(values), 8 * (2 * len(values) + values.shape[1]), self._block):
                if coalition == columns:
                    hybrids = values[:, codes[part]].T  # row n on S, row m elsewhere
                else:
                    hybrids = values[part][:, codes]  # row m on S, row n elsewhere
                for key, factor in factors.items():
                    self._phi[key][part] += factor * hybrids

    def attributions(self) -> dict[Hashable, Attribution]:
        """What was summed up, with the errors of what is sampled."""
        attributions = {}
        for key, summed in self._wanted.items():
            errors = None
            if summed.draws:
                effects = np.stack([self._effect(draw) for draw in summed.draws])
                errors = effects.std(axis=0, ddof=1) / np.sqrt(len(effects))
            attributions[key] = Attribution(self._phi[key], errors)
        return attributions

    def _effect(self, terms: Weighted) -> FloatArray:
        """The effect of one draw at every row, against all rows, (n,)."""
        effect = np.zeros_like(self._masked[self._everything])
        for coalition, coefficient in terms.items():
            effect += coefficient * self._masked[coalition]
        return effect


# A network on a device -----------------------------------------------------------------------------

# Recombined rows asked about at a time, where the user sets no size: enough to keep a device busy.
DEVICE_BATCH = 2**20


@dataclass(frozen=True, eq=False)
class NetworkOnDevice:
    """A torch module on a device: rows are recombined there, and its answers come back.

    Parameters
    ----------
    model : Predictor
    table : Table
    cells : tensor of shape (n_rows, n_columns)
        The table there, as the module takes it.
    """

    model: Predictor
    table: Table
    cells: Any

    def matrix(self, columns: Coalition, carriers: IntArray) -> FloatArray:
        """``E_S[n, u] = F(value u on S, row n elsewhere)``, (n, U), on the host.

        Raises
        ------
        ResourceError
            R08, instead of what the device raises: it is lost, or out of memory.
        """
        import torch

        n_rows, n_columns = self.cells.shape
        is_in_set = np.isin(np.arange(n_columns), sorted(columns))
        is_replaced = torch.as_tensor(is_in_set, device=self.cells.device)
        result = np.empty((n_rows, len(carriers)))
        batch = self.model.batch_size if self.model.user_sets_batch else DEVICE_BATCH
        for part in slices(len(carriers), n_rows, batch):
            donors = carriers[part]
            base_rows = np.tile(np.arange(n_rows), len(donors))
            donor_rows = np.repeat(donors, n_rows)
            sent = SentRows(base_rows, self.table, donor_rows, self.table, tuple(sorted(columns)))
            try:
                donor_cells = self.cells[torch.as_tensor(donors, device=self.cells.device)]
                hybrids = torch.where(is_replaced, donor_cells[:, None, :], self.cells)
                answers = self.model.on_device(hybrids.reshape(-1, n_columns), sent)
            except GraniteError:
                raise
            except (Raised, RuntimeError, MemoryError) as error:
                cause = getattr(error, "cause", error)
                reason = str(cause).partition("\n")[0] or "out of memory"
                hint = "Leave Resources(device=) at its default, or set a smaller batch_size."
                raise ResourceError(
                    f"the device failed: {reason}. {hint}",
                    code="R08",
                    argument="resources",
                    hint=hint,
                ) from cause
            result[:, part] = answers.reshape(len(donors), n_rows).T
        return result


def network_on_device(model: Predictor, table: Table, device: str) -> NetworkOnDevice | None:
    """The model, if it is a module whose parameters are on the device; None: it is asked about rows of the host."""
    if device == "cpu" or not model.model_output.is_module:
        return None
    cells = model.model_output.prepare(table.native)
    return NetworkOnDevice(model, table, cells) if cells.device.type == device else None
