"""The search for regions, from what the model answered about the rows of a fit."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from granite_xai.base.errors import Diagnostics
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.compute import Meter, one_blas_thread
from granite_xai.disagreement.objective import ScaledObjective, scaled_objective
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.fitting.fit_inputs import FitInputs
from granite_xai.inference.chance_rule import ChanceRule
from granite_xai.inference.path import Path, path_of
from granite_xai.inference.replicates import Chance
from granite_xai.moments.questions import question_statistics
from granite_xai.moments.statistics import Statistics
from granite_xai.regions import Leaf, Node, Partition
from granite_xai.search.clarity import split_clarity
from granite_xai.search.gains import gains_of_questions
from granite_xai.search.partitioner import PartitionResult
from granite_xai.search.problem import Problem
from granite_xai.search.tree import Tree
from granite_xai.trees.ensembles import Route

PASSES_OF_REFINED_SEARCH = 2
"""How often each row goes through a level of the tree: once where it is grown, once where its splits are revised."""


@dataclass(frozen=True, slots=True, eq=False)
class RootFigures:
    """What all rows show, before any split.

    Parameters
    ----------
    disagreements, floors : arrays of shape (n_questions,)
        Disagreement of each question, and its noise floor (C4).
    error : float
        Noise of one prediction.
    chance : Chance, optional
        What chance alone would show; None without a confidence level.
    """

    disagreements: FloatArray
    floors: FloatArray
    error: float
    chance: Chance | None


def search_regions(
    inputs: FitInputs, evaluations: Evaluations, root: RootFigures, is_repetition: bool = False
) -> PartitionResult:
    """Find the regions; one, where there is nothing to explain beyond rounding and chance (C4).

    A partitioner that has an end of its own divides the rows also then.

    Parameters
    ----------
    inputs, evaluations : FitInputs, Evaluations
        Of the rows that search.
    root : RootFigures
        What these rows show before any split.
    is_repetition : bool
        Whether it only judges the tree of a fit, and may take less work; see `Problem`.
    """
    problem = problem_of(inputs, evaluations, root)
    if problem.below_noise_floor and not inputs.partitioner.ignores_noise_floor:
        return _one_region(inputs, root)
    n_passes = inputs.tree.max_depth
    if inputs.tree.search != "greedy":
        n_passes *= PASSES_OF_REFINED_SEARCH
    n_rows_to_pass = n_passes * inputs.table.n_rows
    with closing(Meter(inputs.resources, n_rows_to_pass, desc="search")) as meter:
        problem = replace(problem, report_progress=meter, is_repetition=is_repetition)
        return inputs.partitioner.partition(problem)


def _one_region(inputs: FitInputs, root: RootFigures) -> PartitionResult:
    """All rows as one region, with the reason why they are not divided."""
    n_rows = inputs.table.n_rows
    # Without a confidence level nothing is chance: then no question counts, since the prediction
    # that disagreements are measured by does not vary.
    is_chance = inputs.confidence is not None and bool(np.any(root.disagreements > root.floors))
    if is_chance:
        reason = "no more than chance"
        fewest_to_divide = 2 * inputs.tree.min_samples_leaf
    else:
        reason = "nothing to explain"
        fewest_to_divide = 2
    if n_rows < fewest_to_divide:
        reason = "too few samples"
    leaf = Leaf(
        n_samples=n_rows,
        fraction=1.0,
        disagreement=float(is_chance),
        stop_reason=reason,
    )
    return PartitionResult(Partition(leaf, inputs.table.names))


def search_again(
    inputs: FitInputs,
    evaluations: Evaluations,
    floors: FloatArray,
    error: float,
    rows: IntArray,
    proven: BoolArray | None = None,
    is_repetition: bool = True,
) -> Partition:
    """The search on some of the rows of a fit; the model is not asked.

    Parameters
    ----------
    inputs, evaluations : FitInputs, Evaluations
        Of the fit.
    floors, error : array, float
        Noise floor of each question, and noise of one prediction.
    rows : array
        Positions of the rows that search.
    proven : array of shape (n_questions,), optional
        Questions that show more than chance whatever these rows say by themselves. None: these rows
        decide it, as those of a fit do, also by a test of gains.
    is_repetition : bool
        Whether it only judges the tree of the fit, and may take less work; see `Problem`.
    """
    evaluations = evaluations.restrict(rows)
    clusters = np.unique(inputs.clusters[rows], return_inverse=True)[1].reshape(-1)
    inputs = replace(
        inputs,
        route=Route(inputs.predictor, inputs.table.take(rows)),
        y=evaluations.y,
        weights=evaluations.weights,
        clusters=clusters,
        diagnostics=Diagnostics(),
        resources=replace(inputs.resources, progress=False),  # searches are shown, not their rows
    )
    with one_blas_thread():
        all_rows = Splits.whole(evaluations.weights)
        disagreements = np.array(
            [question.regional(evaluations, all_rows)[0, 0] for question in inputs.comparisons]
        )
        chance = chance_of_all_rows(inputs, evaluations, disagreements)
        root = RootFigures(disagreements=disagreements, floors=floors, error=error, chance=chance)
        if proven is None:
            root = with_proven_gains(inputs, evaluations, root)
        elif chance is not None:
            root = replace(root, chance=replace(chance, proven=proven))
        return search_regions(inputs, evaluations, root, is_repetition).partition


def chance_of_all_rows(
    inputs: FitInputs, evaluations: Evaluations, disagreements: FloatArray
) -> Chance | None:
    """What chance says of all rows, for the record too; None without a confidence level."""
    replicates = inputs.replicates
    if replicates is None:
        return None
    every_row = np.arange(evaluations.n_rows)
    chance = replicates.chance(inputs.comparisons, evaluations, every_row, inputs.n_jobs)
    by_label = {}
    for number, comparison in enumerate(inputs.comparisons):
        by_label[comparison.question.label] = {
            "disagreement": float(disagreements[number]),
            "chance": float(chance.chance_level[number]),
            "bar": float(chance.bar[number]),
            "corrected": float(chance.corrected[number]),
        }
    inputs.diagnostics.note("chance", by_label)
    return chance


def with_proven_gains(
    inputs: FitInputs, evaluations: Evaluations, root: RootFigures
) -> RootFigures:
    """Where all rows show no more than chance, test whether a split of them still gains more."""
    chance = root.chance
    partitioner = inputs.partitioner
    if chance is None or not isinstance(partitioner, Tree) or _gain_error(inputs) == 0.0:
        return root
    is_beyond_chance = chance.exceeded(root.floors)
    is_beyond_rounding = root.disagreements > root.floors
    is_open = ~is_beyond_chance & is_beyond_rounding & (chance.corrected > 0)
    if is_beyond_chance.any() or not is_open.any():
        return root
    problem = problem_of(inputs, evaluations, root)
    proven = gains_of_questions(problem, partitioner, is_open)
    return replace(root, chance=replace(chance, proven=proven))


def find_path(inputs: FitInputs, evaluations: Evaluations, root: RootFigures) -> Path:
    """The trees from the largest to none, each judged by folds of the rows that did not search."""
    problem = problem_of(inputs, evaluations, root)
    if problem.below_noise_floor:
        return Path()
    # Whether there is anything to divide is decided by all rows, not by each fold's again.
    proven = None
    if root.chance is not None:
        proven = root.chance.exceeded(root.floors)
    with closing(Meter(inputs.resources, 0, desc="path", unit="searches")) as meter:

        def search_at_price(rows: IntArray, alpha: float) -> Node:
            meter(1)
            priced = inputs.with_alpha(alpha)
            # The price that these trees choose is that of the fit itself.
            partition = search_again(
                priced,
                evaluations,
                root.floors,
                root.error,
                rows,
                proven=proven,
                is_repetition=False,
            )
            return cast(Node, partition.root)

        return path_of(inputs.table, inputs.clusters, inputs.seed, problem.share, search_at_price)


def note_clarity(
    inputs: FitInputs, evaluations: Evaluations, root: RootFigures, partition: Partition
) -> None:
    """Put on record how clear each split is: how far its threshold could move, and which feature comes next."""
    is_searched_tree = isinstance(inputs.partitioner, Tree) and partition.root is not None
    if not is_searched_tree or inputs.confidence is None:
        return
    problem = problem_of(inputs, evaluations, root)
    every_row = np.arange(len(inputs.weights))
    clarity = split_clarity(problem, cast(Node, partition.root), every_row)
    inputs.diagnostics.note("splits", list(clarity))


def problem_of(inputs: FitInputs, evaluations: Evaluations, root: RootFigures) -> Problem:
    """What a partitioner is given: the rows, what the model answered, and what shall become small."""
    is_beyond_chance: BoolArray | bool = True
    if root.chance is not None:
        is_beyond_chance = root.chance.exceeded(root.floors)
    scaled = scaled_objective(
        inputs.comparisons,
        inputs.question_weights,
        root.disagreements,
        root.floors,
        inputs.objective,
        evaluations,
        is_beyond_chance,
    )
    statistics = _statistics(inputs, evaluations)
    return Problem(
        route=inputs.route,
        evaluations=evaluations,
        shares=scaled,
        roots=root.disagreements,
        missing=inputs.missing,
        resources=inputs.resources,
        n_jobs=inputs.n_jobs,
        diagnostics=inputs.diagnostics,
        tree=inputs.tree,
        error=root.error,
        seed=inputs.seed,
        chance=_chance_rule(inputs, root, scaled, statistics),
        statistics=statistics,
        clusters=inputs.clusters,
        gain_error=_gain_error(inputs),
    )


def _chance_rule(
    inputs: FitInputs,
    root: RootFigures,
    scaled: ScaledObjective,
    statistics: tuple[list[Statistics] | None, ...],
) -> ChanceRule | None:
    """What chance would show in any region, in shares of what all rows show beyond it; None without a level."""
    replicates = inputs.replicates
    chance = root.chance
    if chance is None or replicates is None:
        return None
    factors = scaled.factors
    if inputs.objective.normalize == "root":
        # In shares of the corrected disagreement of all rows, not of the one that they show.
        factors = factors * np.divide(
            root.disagreements,
            chance.corrected,
            out=np.zeros_like(root.disagreements),
            where=chance.exceeded(root.floors),
        )
    return ChanceRule(
        replicates=replicates,
        questions=inputs.comparisons,
        root=chance,
        factors=factors,
        statistics=statistics,
    )


def _gain_error(inputs: FitInputs) -> float:
    """The part of the error that a test of gains may take; 0: gains are not tested."""
    confidence = inputs.confidence
    if confidence is None:
        return 0.0
    return confidence.error / 2


def _statistics(inputs: FitInputs, evaluations: Evaluations) -> tuple[list[Statistics] | None, ...]:
    """For each question the statistics of its sets; None where it has none, or nobody reads them."""
    if inputs.as_in_paper:
        return (None,) * len(inputs.comparisons)
    return tuple(question_statistics(question, evaluations) for question in inputs.comparisons)
