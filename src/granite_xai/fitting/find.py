"""From what the model said about some rows to regions of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np

from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.objective import Shares
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.errors import Diagnostics
from granite_xai.base.parallel import Meter, one_blas_thread
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations, Sample
from granite_xai.fitting.plan import Plan
from granite_xai.fitting.settings import Settings
from granite_xai.inference.noise import Chance, RegionNoise, Signs
from granite_xai.models import Predictor
from granite_xai.regions import Leaf, Partition
from granite_xai.search.problem import Outputs, PartitionResult, Problem

PASSES_OF_REFINED_SEARCH = 3
"""How often each row goes through a level of the tree, about: cuts are followed, and all are chosen once more."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """What is searched for, and with what: the same on all rows of a fit, on folds and on halves.

    Parameters
    ----------
    settings : Settings
    model : Predictor
    missing : bool
        Whether missing values are allowed.
    plan : Plan
        What is asked about any rows.
    questions : tuple of ResolvedQuestion
        Of every output, where all are explained.
    question_weights, floors : arrays of shape (Q,)
        Weight and noise floor of each question.
    """

    settings: Settings
    model: Predictor
    missing: bool
    plan: Plan
    questions: tuple[ResolvedQuestion, ...]
    question_weights: FloatArray
    floors: FloatArray

    def without_bars(self) -> Self:
        """The same for repeated searches: bars show these, not their rows."""
        resources = replace(self.settings.resources, progress=False)
        return replace(self, settings=replace(self.settings, resources=resources))


def disagreements_of(
    questions: Sequence[ResolvedQuestion], outputs: Sequence[Evaluations]
) -> FloatArray:
    """Disagreement of each question on all rows as one region, (Q,)."""
    whole = RegionWeights.whole(outputs[0].weights)
    return np.array(
        [float(question.regional(outputs[question.output], whole)[0, 0]) for question in questions]
    )


@dataclass(frozen=True, eq=False)
class Search:
    """All rows of a sample as they are before any split, and the search for regions of them.

    Parameters
    ----------
    task : Task
    sample : Sample
    disagreements : array of shape (Q,)
    chance : Chance, optional
        None without a confidence level.
    record : Diagnostics
        Gets what is noted on the way.
    is_repeated : bool
        Whether the search of a fit is repeated without a fold, which reads less: it tells how much too good a tree
        looks.
    """

    task: Task
    sample: Sample
    disagreements: FloatArray
    chance: Chance | None
    record: Diagnostics
    is_repeated: bool = False

    @classmethod
    def of(
        cls,
        task: Task,
        sample: Sample,
        record: Diagnostics | None = None,
        exceeded: BoolArray | None = None,
        is_repeated: bool = False,
    ) -> Search:
        """Measure all rows of a sample, before any split.

        Parameters
        ----------
        task, sample, record, is_repeated
            As in `Search`.
        exceeded : array of shape (Q,), optional
            Questions that show more than chance whatever these rows say by themselves; None: these rows decide.
        """
        settings = task.settings
        chance = None
        with one_blas_thread():
            disagreements = disagreements_of(task.questions, sample.outputs)
            if settings.level is not None:
                signs = Signs.drawn(sample.rows.clusters, settings.seed)
                chance = Chance.of(
                    task.questions, sample.outputs, signs, task.floors, settings.level
                )
                if exceeded is not None:
                    chance = replace(chance, given=exceeded)
        return cls(task, sample, disagreements, chance, record or Diagnostics(), is_repeated)

    def problem(self) -> Problem:
        """What a partitioner is given."""
        task = self.task
        settings = task.settings
        exceeded: BoolArray | bool = True if self.chance is None else self.chance.exceeded
        shares = Shares.of(
            settings.objective,
            task.questions,
            task.question_weights.tolist(),
            self.disagreements,
            task.floors,
            self.sample.outputs,
            exceeded,
        )
        return Problem(
            sample=self.sample,
            measures=task.questions,
            shares=shares,
            tree=settings.tree,
            missing=task.missing,
            noise=self._noise(shares),
            plan=task.plan,
            resources=settings.resources,
            n_jobs=settings.n_jobs,
            diagnostics=self.record,
            seed=settings.seed,
            is_repeated=self.is_repeated,
        )

    def _noise(self, shares: Shares) -> Callable[[Outputs, IntArray], RegionNoise] | None:
        """From some rows to what chance says of them as one region, in shares of what all rows show beyond it."""
        chance = self.chance
        if chance is None:
            return None
        factors = shares.factors
        if self.task.settings.objective.normalize == "root":
            # In shares of the corrected disagreement of all rows, not of the one that they show.
            corrected = np.where(chance.exceeded, chance.corrected, np.inf)
            factors = factors * self.disagreements / corrected
        return partial(chance.in_region, factors=factors)

    def regions(self) -> PartitionResult:
        """Find the regions; one, where there is nothing to explain beyond rounding and chance (C4).

        A partitioner that has an end of its own divides the rows also then.
        """
        settings = self.task.settings
        problem = self.problem()
        if problem.below_noise_floor and not settings.partitioner.ignores_noise_floor:
            return PartitionResult(self._one_region())
        n_passes = settings.tree.max_depth + 1  # regions are looked at, too
        if settings.tree.search != "greedy":
            n_passes *= PASSES_OF_REFINED_SEARCH
        n_rows = len(self.sample.rows)
        with (
            closing(Meter(settings.resources, n_passes * n_rows, desc="search")) as meter,
            one_blas_thread(),
        ):
            return settings.partitioner.partition(replace(problem, report_progress=meter))

    def _one_region(self) -> Partition:
        """All rows as one region, with the reason why they are not divided."""
        table = self.sample.rows.table
        # Without a confidence level nothing is chance: then no question counts, since the prediction
        # that disagreements are measured by does not vary.
        is_chance = self.chance is not None and bool(np.any(self.disagreements > self.task.floors))
        reason = "nothing to explain"
        fewest_to_divide = 2
        if is_chance:
            reason = "no more than chance"
            fewest_to_divide = 2 * self.task.settings.tree.min_samples_leaf
        if table.n_rows < fewest_to_divide:
            reason = "too few samples"
        leaf = Leaf(
            n_samples=table.n_rows,
            fraction=1.0,
            disagreement=float(is_chance),
            stop_reason=reason,
        )
        return Partition(leaf, table.names)
