"""What a fit found, and what it was found from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.value_cells import LearnedValues
from granite_xai.explanation.influence import PlayersAndSets
from granite_xai.explanation.masking.fitted import FittedMaskings
from granite_xai.fitting.fit_inputs import FitInputs
from granite_xai.inference.confidence import Confidence
from granite_xai.inference.estimate import Estimate
from granite_xai.inference.node_figures import NodeFigures
from granite_xai.inference.path import Path
from granite_xai.inference.replicates import Chance
from granite_xai.inference.stability import Stability
from granite_xai.models import Predictor
from granite_xai.regions import Partition
from granite_xai.surrogate.additive import SurrogateFit
from granite_xai.tables import Table


class FromFile(NamedTuple):
    """What a file knows of the model and the rows that it does not hold, as `granite_xai.saving` wrote it."""

    row: Any  # one row, and the prediction of the model there
    rows: Any  # positions of the search rows, and their weights


@dataclass(frozen=True, slots=True, eq=False)
class FitResult:
    """What a fit found; `granite_xai.saving` writes it to files.

    Parameters
    ----------
    table : Table
        The rows that searched.
    predictor : Predictor
        The model.
    comparisons, question_weights : tuples of length n_questions
        The questions and their weights.
    reference : FittedMaskings
        Bins, baselines, copulas and intervals as the maskings learned them from these rows.
    partition : Partition
    regions, weights : arrays of shape (n_rows,)
        Region and weight of each row.
    root_disagreements, floors : arrays of shape (n_questions,)
        Disagreement on all rows before any split, and its noise floor.
    remaining : float
        Share of the disagreement that the regions leave.
    additive : Deferred of SurrogateFit
        The surrogate; it asks the model where the questions are about some of the columns.
    missing : bool
        Whether missing values are allowed.
    confidence, chance : Confidence, Chance, optional
        None without a confidence level.
    estimate : Estimate, optional
        What other rows say of the regions.
    stability, path : Stability, Path, optional
        Where somebody asked for them; the path also where it chose the price of a region.
    learned : mapping
        Further fitted attributes of the estimator, by name, such as ``clusters_`` of a partitioner.
    values : LearnedValues, optional
        Values that stood for columns; None: no pilot chose any.
    nodes : tuple of NodeFigures
        Of each question; older files do not hold them.
    from_file : FromFile, optional
        Of a fit that was loaded.
    outputs : mapping
        Where all outputs are explained, the result of each in these regions.
    """

    table: Table
    predictor: Predictor
    comparisons: tuple[ResolvedQuestion, ...]
    question_weights: tuple[float, ...]
    reference: FittedMaskings
    partition: Partition
    regions: IntArray
    weights: FloatArray
    root_disagreements: FloatArray
    floors: FloatArray
    remaining: float
    additive: Deferred[SurrogateFit]
    missing: bool
    confidence: Confidence | None = None
    chance: Chance | None = None
    estimate: Estimate | None = None
    stability: Stability | None = None
    path: Path | None = None
    learned: Mapping[str, Any] = field(default_factory=dict)
    values: LearnedValues | None = None
    nodes: tuple[NodeFigures, ...] = ()
    from_file: FromFile | None = None
    outputs: Mapping[Any, FitResult] = field(default_factory=dict)

    @property
    def below_noise_floor(self) -> bool:
        """Whether every question is at its noise floor: rounding alone can produce what all rows show."""
        return bool(np.all(self.root_disagreements <= self.floors))

    @property
    def by_chance(self) -> bool:
        """Whether the rows that searched show no disagreement beyond chance; False without a confidence level."""
        if self.chance is None:
            return False
        return not np.any(self.chance.exceeded(self.floors))

    @property
    def layout(self) -> PlayersAndSets:
        """Players and sets of the first question."""
        return self.comparisons[0].first.layout


@dataclass(frozen=True, slots=True, eq=False)
class FitRun:
    """A fit with its evaluations, which its estimator keeps in memory only.

    Parameters
    ----------
    result : FitResult
    evaluations : Evaluations
        What the model answered about the rows that searched.
    inputs : FitInputs
    error : float
        Noise of one prediction.
    surrogate_evaluations : Deferred of Evaluations
        The evaluations with all that the surrogate reads.
    outputs : mapping
        Where all outputs are explained, the run of each in the regions of all.
    """

    result: FitResult
    evaluations: Evaluations
    inputs: FitInputs
    error: float
    surrogate_evaluations: Deferred[Evaluations]
    outputs: Mapping[Any, FitRun] = field(default_factory=dict)
