"""The model is asked once for everything that a request names, all outputs together."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import Diagnostics, ModelError
from granite_xai.base.limits import Resources, require_evaluations, slices
from granite_xai.base.parallel import Meter, progress
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.evaluations.attributions import Sums
from granite_xai.evaluations.device import DeviceModel, find_device_model
from granite_xai.evaluations.ensembles import PartsOnTable, Reading
from granite_xai.evaluations.evaluations import Attribution, Evaluations, Matrix
from granite_xai.evaluations.probe import Extent, require_at_most
from granite_xai.evaluations.request import Request, Summed, bytes_kept, require_room
from granite_xai.evaluations.values import Values
from granite_xai.models import Predictor
from granite_xai.models.model import CELL_BYTES
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
    device_model = None
    needs_host = request.needs.attributions or request.combines_values or n_outputs > 1
    if not parts and not needs_host:
        device_model = find_device_model(model, rows.table, resources.device)
    require_room(request, rows.table, resources, n_outputs)
    n_model_rows = request.n_model_rows(is_read=bool(parts))
    require_evaluations(resources, n_model_rows)
    if record is not None:
        if device_model is not None:
            note["path"] = "model (device)"
        record.note("evaluations", note)
        record.note("bytes", bytes_kept(request, n_outputs))
    # Either the rows that the model answers are shown, or the matrices that are made from its trees.
    quiet = replace(resources, progress=False)
    shows_rows = not parts and not model.is_watched
    meter = Meter(resources if shows_rows else quiet, n_model_rows)
    asker = _Asker(
        model=model,
        rows=rows,
        parts=parts,
        device_model=device_model,
        block=resources.block,
    )
    with closing(meter), model.watched(meter):
        return asker.ask(request, progress_of=resources if parts else quiet)


class _Asker:
    """Asks for the predictions when it is made, then for one matrix after the other."""

    def __init__(
        self,
        model: Predictor,
        rows: Rows,
        parts: Sequence[PartsOnTable],
        device_model: DeviceModel | None,
        block: int,
    ) -> None:
        self.model = model
        self.rows = rows
        self.parts = parts
        self.device_model = device_model
        self.block = block
        every_row = np.arange(len(rows))
        # Models that are read are asked as well, as a further check of their answers.
        predictions = model.recombined_outputs(rows.table, every_row, rows.table, every_row, ())
        if parts:
            predictions = np.stack([part.predictions() for part in parts])
        self.extents = tuple(Extent() for _ in predictions)
        for extent, of_output in zip(self.extents, predictions, strict=True):
            extent.note_values(of_output)
        if rows.y is not None:
            require_at_most("y reaches", float(np.max(np.abs(rows.y))))
        self.offsets = [float(np.average(f, weights=rows.weights)) for f in predictions]
        self.f = [f - offset for f, offset in zip(predictions, self.offsets, strict=True)]

    def ask(self, request: Request, progress_of: Resources) -> Asked:
        """All of a request; every output of a matrix before the next: answers are kept no longer."""
        matrices: list[dict[Coalition, Matrix]] = [{} for _ in self.f]
        n_columns = self.rows.table.n_columns
        sums = [
            Sums(request.needs.attributions, f, self.rows.weights, n_columns, self.block)
            for f in self.f
        ]
        both = {**request.matrices, **request.summed}
        for columns in progress(both, progress_of, "evaluations", len(both)):
            for output, matrix in enumerate(self._matrices(columns, both[columns])):
                sums[output].add(columns, matrix)
                if columns in request.matrices:
                    matrices[output][columns] = matrix
        outputs = []
        everything = Coalition(range(n_columns))
        facts = self._facts(request)
        scales = [each.scale for each in self.model.outputs.values()] or [self.model.scale]
        for output, f in enumerate(self.f):
            y = self.rows.y
            evaluations = Evaluations(
                f=f,
                weights=self.rows.weights,
                y=y if y is None or y.ndim == 1 else y[:, output],
                matrices=matrices[output],
                everything=everything,
                facts={
                    **facts[output],
                    **sums[output].attributions(),
                    **self._by_paths(request.needs.attributions, output),
                },
                moved=self._moved_facts(request, facts[output]),
                offset=self.offsets[output],
                scale=scales[output],
            )
            outputs.append(evaluations)
        return Asked(tuple(outputs), self.extents)

    def _matrices(self, columns: Coalition, values: Values) -> list[Matrix]:
        """``E_S`` of each output, centred."""
        if self.parts:
            predictions = [part.matrix(columns, values.carriers) for part in self.parts]
        elif self.device_model is not None:
            predictions = [self.device_model.matrix(columns, values.carriers)]
        else:
            predictions = self._asked_matrices(columns, values.carriers, values.donors)
        # A row with its own values is the row itself: its entry is compared with its prediction. Where
        # few values stand for others, only the rows that carry these have an entry of their own.
        carriers = values.carriers if values.stand_for_others else np.arange(len(self.rows))
        matrices = []
        for output, of_output in enumerate(predictions):
            self.extents[output].note_values(of_output)
            of_output -= self.offsets[output]
            if values.donors is None:
                repeated = of_output[carriers, values.codes[carriers]]
                self.extents[output].note_change(repeated, self.f[output][carriers])
            matrices.append(Matrix(of_output, values.codes, values.levels, values.sizes))
        return matrices

    def _asked_matrices(
        self, columns: Coalition, carriers: IntArray, donor_table: Table | None = None
    ) -> list[FloatArray]:
        """``E_S[n, u] = F(value u on S, row n elsewhere)`` of each output: each pair is sent once."""
        table = self.rows.table
        donor_table = donor_table or table
        n_rows = table.n_rows
        results = [np.empty((n_rows, len(carriers))) for _ in self.f]
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
                    donor_table,
                    np.repeat(donors, len(base)),
                    sorted(columns),
                )
                for result, of_output in zip(results, answers, strict=True):
                    result[part, values] = of_output.reshape(len(donors), len(base)).T
        return results

    def _facts(self, request: Request) -> list[dict[Hashable, Any]]:
        """What maskings learned, and the ends of columns at quantiles, for each output."""
        table = self.rows.table
        facts: list[dict[Hashable, Any]] = [{} for _ in self.f]
        for key, learned in request.learned.items():
            asked = learned.asks(table)
            answers: FloatArray | None = None
            if asked is not None:
                answers = self.model.recombined_outputs(*asked)
            for output, of_output in enumerate(facts):
                predictions = None
                if answers is not None:
                    self.extents[output].note_values(answers[output])
                    predictions = answers[output] - self.offsets[output]
                of_output[key] = learned.fact(table, predictions)
        if request.at_quantiles:
            for columns in request.columns_of_few_values:
                self._add_ends(facts, columns)
        return facts

    def _moved_facts(
        self, request: Request, facts: Mapping[Hashable, Any]
    ) -> dict[Coalition, dict[Hashable, Any]]:
        """Facts about columns of few values: every row has those of the row with its standing value.

        What the model said follows the values everywhere; where a pilot chose them by what the model
        does, they do not say which rows are alike, so that rows stay in their bins.
        """
        moved: dict[Coalition, dict[Hashable, Any]] = {}
        for columns in request.columns_of_few_values:
            values = request.matrices[columns]
            carrier_of_row = values.carriers[values.codes]
            moved[columns] = {}
            if values.donors is not None:
                continue
            for key, learned in request.learned.items():
                _, visible = key
                says_the_model = learned.asks(self.rows.table) is not None
                follows = learned.follows_values and (says_the_model or request.at_quantiles)
                if visible == columns and follows:
                    moved[columns][key] = facts[key].take(carrier_of_row)
        return moved

    def _add_ends(self, facts: list[dict[Hashable, Any]], columns: Coalition) -> None:
        """Predictions at the smallest and the largest value of a column, for curves beyond quantiles."""
        codes = self.rows.table.columns[min(columns)].codes
        ends = np.array([np.argmax(codes == 0), np.argmax(codes)])
        if self.parts:
            predictions = [part.matrix(columns, ends) for part in self.parts]
        else:
            predictions = self._asked_matrices(columns, ends)
        for output, of_output in enumerate(predictions):
            self.extents[output].note_values(of_output)
            facts[output][Ends(columns)] = RowValues(of_output - self.offsets[output])

    def _by_paths(
        self, attributions: Mapping[Hashable, Summed], output: int
    ) -> dict[Hashable, Attribution]:
        """Attributions from the paths of the trees, all of the same players in one walk."""
        by_players: dict[tuple[Coalition, ...], dict[Hashable, int]] = {}
        for key, summed in attributions.items():
            if not summed.terms:
                by_players.setdefault(summed.players, {})[key] = summed.place
        if by_players and not self.parts:
            raise ModelError(
                "exact attributions were planned from the model's trees, but the model is asked.",
                code="M23",
                argument="model",
                hint="Fit again: the model or the kind of table has changed.",
            )
        result: dict[Hashable, Attribution] = {}
        for players, places in by_players.items():
            values = self.parts[output].attributions(players, list(places.values()))
            for key, phi in zip(places, values, strict=True):
                result[key] = Attribution(phi)
        return result


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
