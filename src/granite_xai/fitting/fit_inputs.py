"""What one fit is about: its rows, model, questions and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from granite_xai.base.errors import Diagnostics
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources
from granite_xai.compute.resources import MODEL_ROWS
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.disagreement.objective import Objective
from granite_xai.evaluations.value_grid import Values
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.inference.confidence import Confidence
from granite_xai.inference.replicates import Replicates
from granite_xai.search.partitioner import Partitioner
from granite_xai.search.tree import Tree
from granite_xai.trees.ensembles import Route, Routed

PILOT_SHARE = 0.25
"""Share of the model rows of a fit that its pilot may take."""


@dataclass(frozen=True, slots=True, eq=False)
class FitInputs(Routed):
    """What a fit on some rows of a table reads.

    Parameters
    ----------
    route : Route
        The model and the rows that search.
    y : array of shape (n_rows,) or (n_rows, n_outputs), optional
    weights, clusters : arrays of shape (n_rows,)
        Weight of each row, and number of its cluster.
    positions : array of shape (n_rows,)
        Where each row stands in the user's table.
    objective : Objective
        How questions are weighed against each other.
    comparisons : tuple of ResolvedQuestion
        The questions, each resolved on these rows; of every output, where all are explained.
    question_weights : tuple of float
        Weight of each of them.
    partitioner, tree : Partitioner, Tree
        What finds the regions, and the tree that it is, or that of the options where it is none.
    extra_effects : tuple of ResolvedExplainer
        Effects that the partitioner reads besides those of the questions.
    missing : bool
        Whether missing values are allowed.
    resources, n_jobs, seed, diagnostics
        Limits, threads, the seed of all draws, and the record of the fit.
    confidence : Confidence, optional
        None: the sample is taken for the world.
    as_in_paper : bool
        Whether regions are searched by the paper's algorithm.
    budget : int
        Model rows that the fit may cost; the pilot takes a share of them.
    plan : mapping
        The plan in plain numbers, for the record.
    chooses_alpha : bool
        Whether rows that are left out of the search choose the price of a region.
    values : LearnedValues, int or None
        Values that stand for a column; None: the model is asked about all of them.
    n_pilot_values : int, optional
        How many values of each column a pilot shall choose; None: there is no pilot.
    """

    route: Route
    y: FloatArray | None
    weights: FloatArray
    clusters: IntArray
    positions: IntArray
    objective: Objective
    comparisons: tuple[ResolvedQuestion, ...]
    question_weights: tuple[float, ...]
    partitioner: Partitioner
    tree: Tree
    extra_effects: tuple[ResolvedExplainer, ...]
    missing: bool
    resources: Resources
    n_jobs: int | None
    seed: int
    diagnostics: Diagnostics
    confidence: Confidence | None
    as_in_paper: bool
    budget: int = MODEL_ROWS
    plan: Mapping[str, Any] = field(default_factory=dict)
    chooses_alpha: bool = False
    values: Values = None
    n_pilot_values: int | None = None

    def with_alpha(self, alpha: float) -> FitInputs:
        """The same with another price of a region; the partitioner is a tree."""
        tree = cast(Tree, self.partitioner)
        return replace(self, partitioner=replace(tree, alpha=alpha))

    @property
    def replicates(self) -> Replicates | None:
        """Reweighted rows that tell what chance does; None without a confidence level."""
        if self.confidence is None:
            return None
        return self.confidence.replicates(self.clusters)
