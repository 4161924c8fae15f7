"""From what the model said about some rows to regions of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

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
from granite_xai.regions import Leaf, Partition
from granite_xai.search.problem import Outputs, PartitionResult, Problem

PASSES_OF_REFINED_SEARCH = 3
"""How often each row goes through a level of the tree, about: cuts are followed, and all are chosen once more."""


@dataclass(frozen=True, eq=False)
class Searching:
    """What a search knows beside the rows: the same of all rows of a fit, of folds and of halves.

    Parameters
    ----------
    settings : Settings
    plan : Plan
    missing : bool
        Whether missing values are allowed.
    questions : tuple of ResolvedQuestion
    question_weights, floors : arrays of shape (Q,)
        Weight and noise floor of each question.
    is_repeated : bool
        Whether the search of a fit is repeated on some of its rows.
    """

    settings: Settings
    plan: Plan
    missing: bool
    questions: tuple[ResolvedQuestion, ...]
    question_weights: FloatArray
    floors: FloatArray
    is_repeated: bool = False

    def given(self, settings: Settings) -> Searching:
        """The same with other options."""
        return replace(self, settings=settings)

    def repeated(self) -> Searching:
        """The same for repeated searches: less is read, and bars show these, not their rows."""
        resources = replace(self.settings.resources, progress=False)
        settings = replace(self.settings, resources=resources)
        return replace(self, settings=settings, is_repeated=True)

    def on(
        self,
        sample: Sample,
        record: Diagnostics | None = None,
        exceeded: BoolArray | None = None,
    ) -> Search:
        """Measure all rows of a sample, before any split.

        Parameters
        ----------
        sample : Sample
        record : Diagnostics, optional
            Gets what is noted on the way.
        exceeded : array of shape (Q,), optional
            Questions that show more than chance whatever these rows say by themselves; None: these rows decide.
        """
        with one_blas_thread():
            disagreements = disagreements_of(self.questions, sample.outputs)
            chance = None
            if self.settings.level is not None:
                chance = Chance.of(
                    self.questions,
                    sample.outputs,
                    Signs.drawn(sample.rows.clusters, self.settings.seed),
                    self.floors,
                    self.settings.level,
                )
                if exceeded is not None:
                    chance = replace(chance, given=exceeded)
        return Search(self, sample, disagreements, chance, record or Diagnostics())


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
    searching : Searching
    sample : Sample
    disagreements : array of shape (Q,)
    chance : Chance, optional
        None without a confidence level.
    record : Diagnostics
    """

    searching: Searching
    sample: Sample
    disagreements: FloatArray
    chance: Chance | None
    record: Diagnostics

    def problem(self) -> Problem:
        """What a partitioner is given."""
        searching = self.searching
        settings = searching.settings
        exceeded: BoolArray | bool = True if self.chance is None else self.chance.exceeded
        shares = Shares.of(
            settings.objective,
            searching.questions,
            searching.question_weights.tolist(),
            self.disagreements,
            searching.floors,
            self.sample.outputs,
            exceeded,
        )
        return Problem(
            sample=self.sample,
            measures=searching.questions,
            shares=shares,
            tree=settings.tree,
            missing=searching.missing,
            noise=self._noise(shares),
            plan=searching.plan,
            resources=settings.resources,
            n_jobs=settings.n_jobs,
            diagnostics=self.record,
            seed=settings.seed,
            is_repeated=searching.is_repeated,
        )

    def _noise(self, shares: Shares) -> Callable[[Outputs, IntArray], RegionNoise] | None:
        """From some rows to what chance says of them as one region, in shares of what all rows show beyond it."""
        chance = self.chance
        if chance is None:
            return None
        factors = shares.factors
        if self.searching.settings.objective.normalize == "root":
            # In shares of the corrected disagreement of all rows, not of the one that they show.
            corrected = np.where(chance.exceeded, chance.corrected, np.inf)
            factors = factors * self.disagreements / corrected
        return partial(chance.in_region, factors=factors)

    def regions(self) -> PartitionResult:
        """Find the regions; one, where there is nothing to explain beyond rounding and chance (C4).

        A partitioner that has an end of its own divides the rows also then.
        """
        settings = self.searching.settings
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
        is_chance = self.chance is not None and bool(
            np.any(self.disagreements > self.searching.floors)
        )
        reason = "nothing to explain"
        fewest_to_divide = 2
        if is_chance:
            reason = "no more than chance"
            fewest_to_divide = 2 * self.searching.settings.tree.min_samples_leaf
        if table.n_rows < fewest_to_divide:
            reason = "too few samples"
        leaf = Leaf(
            n_samples=table.n_rows,
            fraction=1.0,
            disagreement=float(is_chance),
            stop_reason=reason,
        )
        return Partition(leaf, table.names)
