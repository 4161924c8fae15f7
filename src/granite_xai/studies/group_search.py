"""Search for features to explain together.

Groups are merged two at a time while that removes heterogeneity: docs/method.rst, "Which features to explain
together".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np

from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.influence import Joint
from granite_xai.base.numbers import share
from granite_xai.base.parallel import one_blas_thread
from granite_xai.base.typing import FloatArray
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.fitted import ask_about, effects_of
from granite_xai.inference.noise import Noise, Signs, noise_of
from granite_xai.tables.rows import Rows

SMALLEST_GAIN = 0.05
"""Share of the heterogeneity that a merge must remove."""

Group = tuple[str, ...]
"""Names of features that are explained together; a single feature is a group of one."""


def group_name(group: Group) -> str:
    """What a group is called: its features, joined by plus signs."""
    return " + ".join(group)


class Heterogeneity(NamedTuple):
    """Heterogeneity without what sampling noise adds, and how it moves with the sample."""

    value: float
    moves: FloatArray  # (P,) with each sign vector; the root mean square is the standard error

    def standard_error_of_difference(self, subtracted: Heterogeneity) -> float:
        """Standard error of this one minus another one on the same rows."""
        return float(np.sqrt(np.mean(np.square(self.moves - subtracted.moves))))


@dataclass(frozen=True, slots=True)
class MeasuredGroups:
    """Some rows of a fit, and the heterogeneity of every group that was measured on them.

    Parameters
    ----------
    fitted : FitResult
        A fit without regions.
    rows : Rows
        The rows, which may be others than those of the fit.
    measured : dict of group to Noise
        Filled by `measure`.
    """

    fitted: FitResult
    rows: Rows
    measured: dict[Group, Noise] = field(default_factory=dict)

    def measure(self, groups: Iterable[Group]) -> None:
        """Ask the model about those of some groups that were not measured yet."""
        new_groups = [group for group in dict.fromkeys(groups) if group not in self.measured]
        if not new_groups:
            return
        questions = [self._question_about(group) for group in new_groups]
        sample = ask_about(self.fitted, effects_of(questions), self.rows)
        signs = Signs.drawn(self.rows.clusters, self.fitted.settings.seed)
        with one_blas_thread():
            for group, question in zip(new_groups, questions, strict=True):
                self.measured[group] = noise_of(question, sample.outputs[0], signs)

    def _question_about(self, group: Group) -> ResolvedQuestion:
        """The question of the fit about one group alone, explained jointly."""
        name = group_name(group)
        question = self.fitted.questions[0].question.with_influence(Joint({name: group}, [name]))
        return question.resolve(
            self.rows.table,
            is_probability=self.fitted.model.is_probability,
            max_evaluations=self.fitted.settings.resources.max_evaluations,
            seed=self.fitted.settings.seed,
        )

    def total(self, groups: Iterable[Group]) -> Heterogeneity:
        """Heterogeneity of some measured groups, added up."""
        value = 0.0
        moves: FloatArray | float = 0.0
        for group in groups:
            measured = self.measured[group]
            value += measured.corrected
            moves = moves + measured.slopes
        return Heterogeneity(value=value, moves=np.asarray(moves))


class MergedGroups(NamedTuple):
    """How features were merged.

    Parameters
    ----------
    stages : list of lists of Group
        All groups at the beginning, where each holds one feature, and after every merge.
    reason : str
        Why there is no further merge, as a sentence.
    """

    stages: list[list[Group]]
    reason: str


def merge_groups(
    measured: MeasuredGroups, features: Iterable[str], max_size: int, normal: float
) -> MergedGroups:
    """Merge the two groups whose joint explanation removes most, as long as that is enough.

    Enough is 5% of the heterogeneity of all features, and more than sampling noise.

    Parameters
    ----------
    measured : MeasuredGroups
        On the rows that decide; gets the heterogeneity of every group that is tried.
    features : iterable of str
    max_size : int
        Features of a group, at most.
    normal : float
        Standard errors that a removal must exceed.
    """
    groups: list[Group] = [(feature,) for feature in features]
    stages = [groups]
    measured.measure(groups)
    smallest_gain = SMALLEST_GAIN * measured.total(groups).value
    while True:
        pairs = _promising_pairs(measured, groups, max_size, smallest_gain)
        if not pairs:
            reason = f"No further features can be merged into groups of at most {max_size}."
            return MergedGroups(stages, reason)
        measured.measure(first + second for first, second in pairs)
        first, second = max(pairs, key=lambda pair: _removed_by_merging(measured, pair))
        merged = first + second
        parted = measured.total([first, second])
        joint = measured.total([merged])
        removed = parted.value - joint.value
        noise = normal * parted.standard_error_of_difference(joint)
        if removed < max(smallest_gain, noise):
            limit = f"less than {share(SMALLEST_GAIN)}"
            if removed >= smallest_gain:
                limit = "no more than sampling noise"
            reason = f"Merging {group_name(merged)} would remove {limit}."
            return MergedGroups(stages, reason)
        groups = [group for group in groups if group not in (first, second)]
        groups.append(merged)
        stages.append(groups)


def _promising_pairs(
    measured: MeasuredGroups, groups: list[Group], max_size: int, smallest_gain: float
) -> list[tuple[Group, Group]]:
    """Pairs that may be merged, and that have enough heterogeneity for a merge to remove."""
    pairs = []
    for first, second in combinations(groups, 2):
        is_small = len(first) + len(second) <= max_size
        if is_small and measured.total([first, second]).value >= smallest_gain:
            pairs.append((first, second))
    return pairs


def _removed_by_merging(measured: MeasuredGroups, pair: tuple[Group, Group]) -> float:
    """Heterogeneity that two groups lose when they are explained together."""
    first, second = pair
    return measured.total(pair).value - measured.total([first + second]).value
