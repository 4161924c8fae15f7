"""Models that are read: sums of trees or terms answer recombined rows themselves, after an audit.

This is the one place that knows how `granite_xai.trees` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import Diagnostics
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.evaluations.request import Request
from granite_xai.models import Predictor
from granite_xai.tables import Table
from granite_xai.trees.ensembles import PartsOnTable, Route


class Reading(NamedTuple):
    """A model on the rows of a table, and whether it is read there.

    Parameters
    ----------
    route : Route
        Decides when it is first asked.
    """

    route: Route

    @classmethod
    def of(
        cls, model: Predictor, table: Table, record: Diagnostics | None = None, seed: int = 0
    ) -> Reading:
        """The model on the rows of a table.

        Parameters
        ----------
        model : Predictor
        table : Table
        record : Diagnostics, optional
            Remembers the warnings that a model is asked that one might expect to be read.
        seed : int
            Draws the rows on which what was read is compared with the model.
        """
        return cls(Route(model, table, record, seed))

    @property
    def is_read(self) -> bool:
        """Whether the model's own trees or terms answer."""
        return self.route.trees is not None

    @property
    def model_cells(self) -> IntArray | None:
        """Numbers of values in each column, (n, n_columns): equal ones are one to the trees."""
        return self.route.cells

    @property
    def gives_attributions(self) -> bool:
        """Whether attributions come from the paths of trees, whatever the number of columns."""
        return self.route.gives_attributions

    def cheaper(self, request: Request) -> Reading:
        """The same, but asked where that costs less for the matrices of a request."""
        needs_paths = any(not of_key.terms for of_key in request.needs.attributions.values())
        if needs_paths:
            return self
        if request.combines_values:
            return Reading(self.route.by_model("it is asked about values that no row has together"))
        both = (*request.matrices.values(), *request.summed.values())
        return Reading(self.route.cheaper([len(values) for values in both]))

    def note(self, n_matrices: int) -> dict[str, Any]:
        """How so many matrices are made, for ``diagnostics_["evaluations"]``."""
        return self.route.note(n_matrices)

    def parts(self, n_matrices: int, n_jobs: int | None, block: int) -> list[ReadPart]:
        """The parts of the model that answer, one for each output; none: the model is asked."""
        parts = []
        for route in (self.route, *self.route.others):
            if self.is_read and route.trees is not None:
                fast = route.is_worth_compiling(n_matrices)
                parts.append(ReadPart(route.trees, fast, n_jobs, block))
        return parts


class ReadPart(NamedTuple):
    """The trees or terms behind one output, on the rows of a table."""

    parts: PartsOnTable
    fast: bool  # by compiled loops
    n_jobs: int | None
    block: int  # bytes of what is made on the way

    def predictions(self) -> FloatArray:
        """F of the rows, (n,)."""
        return self.parts.predictions(self.block)

    def matrix(self, columns: Coalition, carriers: IntArray) -> FloatArray:
        """``E_S`` at the values of some rows, (n, U)."""
        lines = self.parts.matrix_of(
            columns, carriers, fast=self.fast, n_jobs=self.n_jobs, block=self.block
        )
        return np.ascontiguousarray(lines.T)

    def attributions(self, players: Sequence[Coalition], places: Sequence[int]) -> FloatArray:
        """``Phi[n, m]`` of some players from the paths of trees, (places, n, n)."""
        return self.parts.attributions(
            players, places, fast=self.fast, n_jobs=self.n_jobs, block=self.block
        )
