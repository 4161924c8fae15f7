"""Tree ensembles without calling the model: ``E_S`` and pairwise attributions from the trees themselves.

A leaf with value v contributes to ``E_S[u, n]`` exactly when the value u meets the leaf's conditions on S and the row n
meets its conditions on the other columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.compute import Workspace
from granite_xai.evaluations.evaluations import cut_out
from granite_xai.models import Predictor
from granite_xai.tables import Table
from granite_xai.tables.table import distinct_rows
from granite_xai.trees.forest import (
    Cells,
    Forest,
    Players,
    RefusalError,
    cells_of,
    fast_pairs,
    fast_sums,
    slow_pairs,
    slow_sums,
)
from granite_xai.trees.reader import Link, identity, link_of, load, opposite
from granite_xai.trees.sources import Asked, Source, asked_of, source_of

Limits = Iterator[tuple[int, float]]  # columns, and numbers where the prediction may jump
Space = Workspace | None  # where results are kept; None: in memory


@dataclass(frozen=True, eq=False)
class Ensemble:
    """A model as sums of trees, and the link from the sums to what is explained."""

    forests: tuple[Forest, ...]
    link: Link
    source: Source
    n_features: int

    @property
    def is_sum(self) -> bool:
        """Whether what is explained is a sum of the trees itself, up to its sign: then attributions add up too."""
        return self.link in (identity, opposite)

    @property
    def n_leaves(self) -> int:
        """Leaves of all trees."""
        return sum(len(forest.leaves) for forest in self.forests)

    @property
    def n_sums(self) -> int:
        """Numbers that are added up for a prediction."""
        return sum(forest.n_trees for forest in self.forests)

    @property
    def reach(self) -> float:
        """The largest sum of sizes."""
        return sum(forest.reach for forest in self.forests)

    def limits(self) -> Limits:
        """Columns and thresholds of numbers."""
        for forest in self.forests:
            plain = np.setdiff1d(np.flatnonzero(forest.feature >= 0), list(forest.categories))
            for node in plain[np.isfinite(forest.threshold[plain])]:
                yield int(forest.feature[node]), float(forest.threshold[node])

    def on(self, table: Table) -> TreesOnTable:
        """The ensemble on a table, in the model's own numbers."""
        if table.n_columns != self.n_features:
            raise RefusalError(f"the model has {self.n_features} columns, the table {table.n_columns}")
        matrix = self.source.view(table)
        return TreesOnTable(self, tuple(cells_of(forest, matrix) for forest in self.forests), matrix)


@dataclass(frozen=True, eq=False)
class TreesOnTable:
    """An ensemble, and for each forest the cells of a table's rows, which ``matrix`` has in the model's numbers."""

    ensemble: Ensemble
    cells: tuple[Cells, ...]
    matrix: FloatArray

    @cached_property
    def cell_numbers(self) -> IntArray:
        """Number of each row's cell in each column, (n, d): values with the same number are one to every tree."""
        count, n = self.ensemble.n_features, len(self.matrix)
        every = ((forest.rows[:, j].astype(np.intp) for forest in self.cells) for j in range(count))
        return np.stack([distinct_rows(n, columns)[0] for columns in every], axis=1)

    def matrix_of(
        self, columns: Coalition, donors: IntArray, *, fast: bool, n_jobs: int | None = None, space: Space = None
    ) -> FloatArray:
        """``E_S[u, n]``: the value of the donor row u on S, row n elsewhere, shape (U, n)."""
        space = Workspace() if space is None else space
        chosen = np.zeros(self.ensemble.n_features, dtype=bool)
        chosen[sorted(columns)] = True
        # In the order of the cells, each once: sums then have the same bits whichever values are asked for.
        lines, first = distinct_rows(len(donors), (self.cell_numbers[donors, j] for j in sorted(columns)))
        if not np.array_equal(lines, np.arange(len(donors))):
            found = self.matrix_of(columns, donors[first], fast=fast, n_jobs=n_jobs, space=space)
            return cut_out(found, lines, np.arange(len(self.matrix)), space)
        add_up = partial(fast_sums, n_jobs=n_jobs) if fast else slow_sums
        sums = [space.empty((len(donors), len(self.matrix))) for _ in self.cells]
        for cells, total in zip(self.cells, sums, strict=True):
            add_up(cells, chosen, donors, total, space)
        if self.ensemble.link is identity:
            return sums[0]
        for part in space.slices(len(donors), 32 * len(sums) * len(self.matrix)):
            sums[0][part] = self.ensemble.link([total[part] for total in sums])
        return sums[0]

    def attributions(
        self, players: Players, wanted: Sequence[int], *, fast: bool, n_jobs: int | None = None, space: Space = None
    ) -> FloatArray:
        """``Phi_i[n, m]`` of the wanted players, shape (wanted, n, n); only where the explained number is a sum."""
        if not self.ensemble.is_sum:
            raise ValueError("attributions of single trees add up only without a link")
        (cells,) = self.cells
        space = Workspace() if space is None else space
        values = space.empty((len(wanted), len(self.matrix), len(self.matrix)))
        if fast:
            fast_pairs(cells, players, wanted, values, n_jobs)
        else:
            slow_pairs(cells, players, wanted, values, space)
        return np.negative(values, out=values) if self.ensemble.link is opposite else values

    def predictions(self, *, fast: bool = False, space: Space = None) -> FloatArray:
        """F of the table's own rows."""
        return self.matrix_of(frozenset(), np.zeros(1, dtype=np.intp), fast=fast, space=space).reshape(-1)


def read_ensemble(predictor: Predictor) -> Ensemble:
    """Read what a predictor explains as sums of trees; a RefusalError says why not."""
    if find_spec("treelite") is None:
        raise RefusalError("treelite is not installed (pip install granite-xai[fast])")
    asked = asked_of(predictor)
    source = source_of(asked)
    try:
        loaded = load(source.load())
    except RefusalError:
        raise
    except Exception as error:  # whatever a library's new version brings is refused, never guessed
        told = str(error).strip().splitlines()[-1][:200]
        why = "its format is newer than treelite" if ".cc:" in told else told  # nobody reads lines of C++
        message = f"treelite cannot read this {type(asked.model).__name__} ({why})"
        raise RefusalError(message, "M25" if "categor" in str(error) else "M30") from error
    link, outputs = link_for(asked, predictor, loaded.link, loaded.alpha, loaded.outputs)
    forests = tuple(loaded.forest(output, source.n_trees) for output in outputs)
    return Ensemble(forests, link, source, loaded.n_features)


def link_for(asked: Asked, predictor: Predictor, name: str, alpha: float, outputs: int) -> tuple[Link, tuple[int, ...]]:
    """The link of what a predictor explains, and the outputs whose sums it reads."""
    choice = predictor.model_output.choice
    output = choice.default if choice.column is None and outputs == 2 else choice.column
    if choice.classes is None and choice.column is None and outputs == 1:
        output = None
    if outputs > 1 and output is None:
        raise RefusalError(f"the trees have {outputs} outputs")
    if choice.scale == "predict" and getattr(asked.model, "classes_", None) is not None:
        raise RefusalError("labels are explained as numbers")
    two_classes = choice.classes is not None and len(choice.classes) == 2
    if asked.raw or name.startswith("identity"):
        flipped = outputs == 1 and two_classes and output == 0
        return (opposite if flipped else identity), (0 if outputs == 1 else int(output or 0),)
    if outputs == 1 and not two_classes:
        output = None
    return link_of(name, alpha, outputs, output)
