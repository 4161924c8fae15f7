"""What a fit found: everything that is shown, kept or asked afterwards is read from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.influence import PlayersAndSets
from granite_xai.base.deferred import Deferred
from granite_xai.base.errors import InputError
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.curves.description import CurveMaker
from granite_xai.curves.shared import SharedCurves
from granite_xai.evaluations.evaluations import Sample
from granite_xai.fitting.find import Path, Task
from granite_xai.fitting.stability import Stability
from granite_xai.inference.estimate import Estimate
from granite_xai.inference.model_errors import ModelErrors
from granite_xai.inference.nodes import NodeFigures
from granite_xai.regions import Partition
from granite_xai.regions.tree import Ledger
from granite_xai.tables import Table
from granite_xai.tables.rows import Rows


class FromFile(NamedTuple):
    """What a file knows of the model and the rows that it does not hold, as `granite_xai.saving` wrote it."""

    row: Any  # one row, and the prediction of the model there
    rows: Any  # positions of the search rows, and their weights


@dataclass(frozen=True, eq=False, kw_only=True)
class FitResult(Task):
    """What a fit found.

    Parameters
    ----------
    settings, model, missing, plan, questions, question_weights, floors
        As in `Task`.
    rows : Rows
        Those that searched.
    disagreements : array of shape (Q,)
        Of each question on all rows, before any split.
    exceeded : array of shape (Q,), optional
        Which questions show more than chance on all rows; None without a confidence level.
    partition : Partition
    regions : array of shape (n_rows,)
        Region of each row.
    shared_curves : Deferred of SharedCurves
        What describes the model; it asks the model where the questions are about some of the columns.
    sample, curve_maker : Sample, Deferred of CurveMaker, optional
        What the model said about the rows, and what curves are made of; only the object that was fitted keeps them.
    estimate : Estimate, optional
        What other rows say of the regions.
    nodes : tuple of NodeFigures
        Of each question.
    stability, path : Stability, Path, optional
        Where somebody asked for them; the path also where it chose the price of a region.
    learned : mapping
        Further fitted attributes of the estimator, by name, such as ``clusters_`` of a partitioner.
    outputs : mapping
        Where all outputs are explained, the result of each in these regions.
    ledger : Deferred of Ledger
        What each split adds, and what further ones would.
    errors : ModelErrors, optional
        Of the model, where a target was given.
    from_file : FromFile, optional
        Of a fit that was loaded.
    """

    rows: Rows
    disagreements: FloatArray
    exceeded: BoolArray | None
    partition: Partition
    regions: IntArray
    shared_curves: Deferred[SharedCurves]
    sample: Sample | None = None
    curve_maker: Deferred[CurveMaker] | None = None
    estimate: Estimate | None = None
    nodes: tuple[NodeFigures, ...] = ()
    stability: Stability | None = None
    path: Path | None = None
    learned: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[Any, FitResult] = field(default_factory=dict)
    ledger: Deferred[Ledger] = field(default_factory=lambda: Deferred(Ledger, now=True))
    errors: ModelErrors | None = None
    from_file: FromFile | None = None

    @property
    def table(self) -> Table:
        """The rows that searched."""
        return self.rows.table

    @property
    def weights(self) -> FloatArray:
        """Weight of each row that searched, (n_rows,)."""
        return self.rows.weights

    @property
    def level(self) -> float | None:
        """Of confidence; None: the sample was taken for the world."""
        return self.settings.level

    @property
    def remaining(self) -> float:
        """Share of the disagreement that the regions leave on the rows that searched."""
        return float(sum(region.disagreement for region in self.partition))

    @property
    def layout(self) -> PlayersAndSets:
        """Players and sets of the first question."""
        return self.questions[0].first.layout

    @property
    def below_noise_floor(self) -> bool:
        """Whether every question is at its noise floor: rounding alone can produce what all rows show."""
        return bool(np.all(self.disagreements <= self.floors))

    @property
    def is_chance(self) -> bool:
        """Whether the rows that searched show no disagreement beyond chance; False without a confidence level."""
        return self.exceeded is not None and not bool(np.any(self.exceeded))

    def kept_sample(self, what: str, argument: str, hint: str) -> Sample:
        """What the model said about the rows that searched.

        Parameters
        ----------
        what : str
            What needs them, for the error.
        argument, hint : str
            Of the error.

        Raises
        ------
        InputError
            P03, where this fit was loaded or copied: files and copies keep no evaluations.
        """
        if self.sample is None:
            raise InputError(
                f"{what} needs the evaluations of the fit, which only the object that was fitted keeps.",
                code="P03",
                argument=argument,
                hint=hint,
            )
        return self.sample

    def without_sample(self) -> FitResult:
        """The same as a copy or a file keeps it."""
        outputs = {name: result.without_sample() for name, result in self.outputs.items()}
        return replace(self, sample=None, curve_maker=None, outputs=outputs)
