"""Tree ensembles as sums of their own trees, evaluated without a call of the model.

``E_S`` and pairwise attributions come from the trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from granite_xai.base.typing import BoolArray, Coalition, FloatArray, IntArray, Players
from granite_xai.compute import BLOCK
from granite_xai.evaluations.matrix import cut_out
from granite_xai.models import Predictor
from granite_xai.tables import Table
from granite_xai.tables.table import distinct_rows
from granite_xai.trees.additive import AdditiveModel, is_additive, read_terms
from granite_xai.trees.forest import Forest
from granite_xai.trees.forest_cells import ForestCells
from granite_xai.trees.kernels import ANCHOR
from granite_xai.trees.links import identity, link_of, opposite
from granite_xai.trees.parts import Limits, SumOfParts
from granite_xai.trees.refusal import RefusalError
from granite_xai.trees.sources import Source, model_call, source_of
from granite_xai.trees.tree_attributions import attributions_by_leaf, compiled_attributions
from granite_xai.trees.tree_sums import compiled_sums, sparse_sums

# A row is walked down a tree step by step where trees are deep: about 20 ns a step, against 2.5 ns for each leaf
# where all rows are compared with every node.
LEAVES_PER_STEP = 8
LONGEST_REASON = 200  # characters of what a library says
LINE_BYTES = 40  # of a number of a line while sums of several classes are linked

# Writes the sums of a forest for some values: cells, columns in S, donors, where to, and bytes at a time.
AddUp = Callable[[ForestCells, BoolArray, IntArray, FloatArray, int], None]


@dataclass(frozen=True, eq=False)
class Ensemble(SumOfParts):
    """A model as sums of trees.

    Parameters
    ----------
    forests : tuple of Forest
        One for each sum that the link reads.
    source : Source
    n_features : int
    """

    forests: tuple[Forest, ...]
    source: Source
    n_features: int

    def limits(self) -> Limits:
        """Columns and thresholds of numbers."""
        columns = []
        thresholds = []
        for forest in self.forests:
            by_threshold = np.isfinite(forest.threshold) & (forest.feature >= 0)
            by_threshold[list(forest.categories)] = False
            columns.append(forest.feature[by_threshold])
            thresholds.append(forest.threshold[by_threshold])
        return Limits(columns=np.concatenate(columns), values=np.concatenate(thresholds))

    def on(self, table: Table) -> TreesOnTable:
        """The ensemble on a table, in the model's own numbers."""
        if table.n_columns != self.n_features:
            raise RefusalError(
                f"the model has {self.n_features} columns, the table {table.n_columns}"
            )
        matrix = self.source.view(table)
        cells = tuple(ForestCells(forest, matrix) for forest in self.forests)
        return TreesOnTable(ensemble=self, cells=cells, matrix=matrix)


@dataclass(frozen=True, eq=False)
class TreesOnTable:
    """An ensemble on the rows of a table.

    Parameters
    ----------
    ensemble : Ensemble
    cells : tuple of ForestCells
        For each forest the cells of the rows.
    matrix : array of shape (n_rows, n_columns)
        The rows in the model's own numbers.
    """

    ensemble: Ensemble
    cells: tuple[ForestCells, ...]
    matrix: FloatArray

    @cached_property
    def cell_numbers(self) -> IntArray:
        """Number of each row's cell in each column, (n, d): values with the same number are one to every tree."""
        numbers = []
        for column in range(self.ensemble.n_features):
            of_forests = [cells.rows[:, column].astype(np.intp) for cells in self.cells]
            numbers.append(distinct_rows(len(self.matrix), of_forests)[0])
        return np.stack(numbers, axis=1)

    def matrix_of(
        self,
        columns: Coalition,
        donors: IntArray,
        *,
        fast: bool,
        n_jobs: int | None = None,
        block: int = BLOCK,
    ) -> FloatArray:
        """``E_S[u, n]``: the value of the donor row u on S, row n elsewhere, (U, n).

        Parameters
        ----------
        columns : coalition
            S.
        donors : array of shape (U,)
            Rows that carry the values.
        fast : bool
            By compiled loops.
        n_jobs : int, optional
            Threads of these.
        block : int
            Bytes of what is made on the way.
        """
        # In the order of the cells, each once: sums then have the same bits whichever values are asked for.
        cells_of_donors = (self.cell_numbers[donors, column] for column in sorted(columns))
        line_of_donor, first_donors = distinct_rows(len(donors), cells_of_donors)
        add_up: AddUp = partial(compiled_sums, n_jobs=n_jobs) if fast else sparse_sums
        if np.array_equal(line_of_donor, np.arange(len(donors))):
            return self._matrix_of_cells(columns, donors, add_up, block)
        in_order = self._matrix_of_cells(columns, donors[first_donors], add_up, block)
        return cut_out(in_order, line_of_donor, np.arange(len(self.matrix)))

    def _matrix_of_cells(
        self, columns: Coalition, donors: IntArray, add_up: AddUp, block: int
    ) -> FloatArray:
        """The matrix of donors whose cells all differ, in the order of these cells."""
        in_set = np.zeros(self.ensemble.n_features, dtype=bool)
        in_set[sorted(columns)] = True
        result = np.empty((len(donors), len(self.matrix)))
        if self.ensemble.link is identity:
            add_up(self.cells[0], in_set, donors, result, block)
            return result
        # Sums are linked some lines at a time. These begin at an anchor, a line at which running sums start afresh
        # (`kernels.ANCHOR`): so the sums do not depend on how many lines there are at a time.
        line_bytes = LINE_BYTES * len(self.cells) * len(self.matrix)
        lines_at_once = max(1, block // line_bytes // ANCHOR) * ANCHOR
        for start in range(0, len(donors), lines_at_once):
            part = slice(start, start + lines_at_once)
            sums = []
            for cells in self.cells:
                total = np.empty_like(result[part])
                add_up(cells, in_set, donors[part], total, block)
                sums.append(total)
            result[part] = self.ensemble.link(sums)
        return result

    def attributions(
        self,
        players: Players,
        chosen: Sequence[int],
        *,
        fast: bool,
        n_jobs: int | None = None,
        block: int = BLOCK,
    ) -> FloatArray:
        """``Phi_i[n, m]`` of some players, (chosen, n, n); only where the explained number is a sum.

        Parameters
        ----------
        players : sequence of coalitions
        chosen : sequence of int
            Numbers of the players whose attributions are returned.
        fast : bool
            By compiled loops.
        n_jobs : int, optional
            Threads of these.
        block : int
            Bytes of what is made on the way.
        """
        if not self.ensemble.is_sum:
            raise ValueError("attributions of single trees add up only without a link")
        (cells,) = self.cells
        values = np.empty((len(chosen), len(self.matrix), len(self.matrix)))
        if fast:
            compiled_attributions(cells, players, chosen, values, n_jobs)
        else:
            attributions_by_leaf(cells, players, chosen, values, block)
        if self.ensemble.link is opposite:
            np.negative(values, out=values)
        return values

    def predictions(self, *, fast: bool = False, block: int = BLOCK) -> FloatArray:
        """F of the table's own rows."""
        n_steps = sum(cells.forest.n_steps for cells in self.cells)
        if self.ensemble.n_leaves > LEAVES_PER_STEP * n_steps:
            return self.ensemble.link([cells.sums(block) for cells in self.cells])
        any_row = np.zeros(1, dtype=np.intp)
        return self.matrix_of(frozenset(), any_row, fast=fast, block=block).reshape(-1)


def read_ensemble(predictor: Predictor) -> Ensemble | AdditiveModel:
    """Read what a predictor explains as sums of trees or of terms; a RefusalError says why not."""
    call = model_call(predictor)
    if is_additive(call.model):
        return read_terms(call, predictor)
    source = source_of(call)
    with _refused_if_unreadable(call.model):
        loaded = source.load()
    link, outputs = link_of(
        predictor.model_output.choice,
        raw=call.raw,
        has_classes=getattr(call.model, "classes_", None) is not None,
        name=loaded.link,
        slope=loaded.slope,
        n_outputs=loaded.n_outputs,
    )
    with _refused_if_unreadable(call.model):
        forests = tuple(loaded.forest(output) for output in outputs)
    return Ensemble(
        link=link,
        n_leaves=sum(len(forest.leaves) for forest in forests),
        n_sums=sum(forest.n_trees for forest in forests),
        reach=sum(forest.reach for forest in forests),
        forests=forests,
        source=source,
        n_features=loaded.n_features,
    )


@contextmanager
def _refused_if_unreadable(model: Any) -> Iterator[None]:
    """Turn whatever a library's new version brings into a refusal: it is never guessed."""
    try:
        yield
    except RefusalError:
        raise
    except Exception as error:
        text = str(error).strip() or type(error).__name__
        reason = text.splitlines()[-1][:LONGEST_REASON]
        if ".cc:" in reason:  # nobody reads lines of C++
            reason = "its format is newer than treelite"
        message = f"the trees of this {type(model).__name__} cannot be read ({reason})"
        is_about_categories = "categor" in str(error)
        raise RefusalError(message, "M25" if is_about_categories else "M30") from error
