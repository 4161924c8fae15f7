"""A question: how far two explanations of the same rows are apart, in any region.

An effect is a combination of masked models. Pure: ``ν(S) − ν(∅)``; full: ``ν(D) − ν(D∖S)``;
partial: the Shapley value. What is combined is the masked model itself (local), its variance
(sensitivity), or minus the squared error of its prediction (risk).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from granite_xai.core.algebra.conditional import fit_bins
from granite_xai.core.algebra.masked_model import MaskedModel, RegionWeights, combined, masked_model
from granite_xai.core.evaluations.evaluations import Coalition, Evaluations
from granite_xai.core.evaluations.needs import Needs


class Term(NamedTuple):
    """The value of a coalition; ``is_total``: the variance that its hidden columns cause
    (Jansen).
    """

    visible: Coalition
    is_conditional: bool = False
    is_total: bool = False


Combination = dict[Term, float]

# Behavior, then masking and interaction of both explanations.
NAMED = {
    "ice-pdp": ("local", "marginal full", "marginal pure"),
    "shap-pdp": ("local", "marginal partial", "marginal pure"),
    "ice-shap": ("local", "marginal full", "marginal partial"),
    "mplot-pdp": ("local", "conditional pure", "marginal pure"),
    "cice-mplot": ("local", "conditional full", "conditional pure"),
    "cshap-shap": ("local", "conditional partial", "marginal partial"),
    "sobol": ("sensitivity", "marginal total", "marginal pure"),
    "variance": ("sensitivity", "marginal full", "marginal pure"),
    "csobol-sobol": ("sensitivity", "conditional total", "marginal total"),
    "pfi-risk": ("risk", "marginal full", "marginal pure"),
    "sage-risk": ("risk", "marginal partial", "marginal pure"),
    "cfi-pfi": ("risk", "conditional full", "marginal full"),
}


@dataclass(frozen=True)
class ResolvedQuestion:
    """Two explanations of some sets of columns, with a squared loss of the gap between them.

    Parameters
    ----------
    name : str
    behavior : "local", "sensitivity" or "risk"
    sets : list of coalitions
        What effects are about.
    gaps : list of Combination
        For each set the first explanation less the second.
    """

    name: str
    behavior: str
    sets: list[Coalition]
    gaps: list[Combination]
    output: int = 0  # of the model, by position

    @classmethod
    def named(cls, name: str, n_columns: int, order: int = 1) -> ResolvedQuestion:
        """A question of the catalog about every column, or about every set of so many columns."""
        columns = range(n_columns)
        everything = Coalition(columns)
        if name == "coe":  # the model against the sum of its curves
            curves = {Term(Coalition([j])): -1.0 for j in columns}
            gap = {Term(everything): 1.0, Term(Coalition()): n_columns - 1.0, **curves}
            return cls(name, "local", [everything], [gap])
        behavior, first, second = NAMED[name]
        sets = [Coalition(chosen) for chosen in combinations(columns, order)]
        gaps = [
            add(
                [
                    (1.0, effect(first, members, everything)),
                    (-1.0, effect(second, members, everything)),
                ]
            )
            for members in sets
        ]
        return cls(name, behavior, sets, gaps)

    @property
    def is_local(self) -> bool:
        """Whether there is a gap at every row, rather than one for a region."""
        return self.behavior == "local"

    def coalitions(self) -> set[Coalition]:
        """Visible columns of everything that is read."""
        return {term.visible for gap in self.gaps for term in gap}

    def conditioned(self) -> set[Coalition]:
        """Visible columns that need bins."""
        return {term.visible for gap in self.gaps for term in gap if term.is_conditional}

    def reads_single_columns(self) -> bool:
        """Whether each gap is about one column, shown or hidden: then a few values can stand for
        it.
        """
        everything = Coalition().union(*self.sets)
        for members, gap in zip(self.sets, self.gaps, strict=True):
            readable = {Coalition(), members, everything - members, everything}
            if len(members) > 1 or any(term.visible not in readable for term in gap):
                return False
        return True

    @property
    def needs(self) -> Needs:
        """What is read of the model."""
        return Needs(coalitions=frozenset(self.coalitions()), compared=frozenset(self.sets))

    @property
    def reads(self) -> dict[Coalition, frozenset[Coalition]]:
        """What the gap of each set reads."""
        return {
            members: frozenset(term.visible for term in gap)
            for members, gap in zip(self.sets, self.gaps, strict=True)
        }

    asks_beside = False

    def learn(self, rows, seed: int, as_in_paper: bool, record=None):
        """Bins, from the fitting rows."""
        learned = {}
        for visible in self.conditioned():
            bins = fit_bins(rows, visible, seed, guarded=not as_in_paper)
            if bins is not None:
                learned["bins", visible] = bins
        return learned

    def gap_values(self, evaluations: Evaluations, regions: RegionWeights) -> Iterator[np.ndarray]:
        """The gap of each set in turn: (n, K) at every row, or (sides, K)."""
        kept: dict[Term, np.ndarray] = {}
        for members, gap in zip(self.sets, self.gaps, strict=True):
            f = own_predictions(evaluations, members)
            if self.is_local:
                readouts = [
                    (factor, _readout(evaluations, term, f)) for term, factor in gap.items()
                ]
                yield sum(readout.values(regions) for readout in combined(readouts))
            else:
                yield sum(
                    factor * self._value(evaluations, regions, term, f, kept)
                    for term, factor in gap.items()
                )

    def losses(self, evaluations: Evaluations, regions: RegionWeights) -> np.ndarray:
        """Disagreement of each set in each region, (sets, sides, K)."""
        by_set = []
        for gap in self.gap_values(evaluations, regions):
            loss = np.square(gap)
            by_set.append(regions.means(loss) if self.is_local else loss)
        return np.stack(by_set)

    def regional(self, evaluations: Evaluations, regions: RegionWeights) -> np.ndarray:
        """Disagreement in each region, (sides, K)."""
        return self.losses(evaluations, regions).sum(axis=0)

    def _value(
        self,
        evaluations: Evaluations,
        regions: RegionWeights,
        term: Term,
        f: np.ndarray,
        kept: dict[Term, np.ndarray],
    ) -> np.ndarray:
        """The variance or the risk of one masked model, (sides, K); those that several sets read
        are kept.
        """
        is_shared = f is evaluations.f and not term.is_total
        if is_shared and term in kept:
            return kept[term]
        if term.is_total:
            value = _total_variance(evaluations, regions, term, f)
        else:
            masked = _readout(evaluations, term, f).values(regions)
            if self.behavior == "risk":
                y = evaluations.y - evaluations.offset
                value = -regions.means(np.square(masked - y[:, None]))
            else:
                means = regions.means(masked)
                mean = regions.at_rows(means[0], means[-1])
                value = regions.means(np.square(masked - mean))
        if is_shared:
            kept[term] = value
        return value


def own_predictions(evaluations: Evaluations, members: Coalition) -> np.ndarray:
    """Predictions of the rows, with a set moved to the values that stand for the rows' own in all
    of its gap.
    """
    if members in evaluations.matrices:
        return evaluations.matrices[members].own()
    return evaluations.f


def _bins(evaluations: Evaluations, term: Term) -> np.ndarray | None:
    bins = evaluations.facts.get(("bins", term.visible)) if term.is_conditional else None
    return None if bins is None else bins.numbers


def _readout(evaluations: Evaluations, term: Term, f: np.ndarray) -> MaskedModel:
    return masked_model(evaluations, term.visible, f, _bins(evaluations, term))


def _total_variance(
    evaluations: Evaluations, regions: RegionWeights, term: Term, f: np.ndarray
) -> np.ndarray:
    """Mean over rows of the variance of their predictions over the hidden columns, (sides, K)."""
    masked = _readout(evaluations, term, f)
    shifted = masked.left - f[:, None]
    mean = masked._replace(left=shifted).values(regions)
    mean_square = masked._replace(left=np.square(shifted)).values(regions)
    return regions.means(mean_square - np.square(mean))


# Effects as combinations of masked models -----------------------------------------------------


def add(weighted: list[tuple[float, Combination]]) -> Combination:
    """A combination of combinations, without what cancels."""
    total: Combination = {}
    for factor, combination in weighted:
        for term, coefficient in combination.items():
            total[term] = total.get(term, 0.0) + factor * coefficient
    return {term: coefficient for term, coefficient in total.items() if abs(coefficient) > 1e-14}


def effect(kind: str, members: Coalition, everything: Coalition) -> Combination:
    """An effect of some columns, such as "conditional pure"; sets of several by discrete
    derivatives.
    """
    masking, interaction = kind.split()
    is_conditional = masking == "conditional"
    if interaction == "total":
        return {Term(everything - members, is_conditional, is_total=True): 1.0}
    if interaction == "pure":
        backgrounds = {Coalition(): 1.0}
    elif interaction == "full":
        backgrounds = {everything - members: 1.0}
    else:  # partial: Shapley values, and Shapley-Taylor's index of sets
        n, size = len(everything), len(members)
        backgrounds = {
            Coalition(chosen): size / n / comb(n - 1, count)
            for count in range(n - size + 1)
            for chosen in combinations(sorted(everything - members), count)
        }
    return add(
        [
            (factor, _derivative(members, background, everything, is_conditional))
            for background, factor in backgrounds.items()
        ]
    )


def _derivative(
    members: Coalition, background: Coalition, everything: Coalition, is_conditional: bool
) -> Combination:
    """What the members add together to a background: an alternating sum over their subsets."""
    terms = {}
    for size in range(len(members) + 1):
        for chosen in combinations(sorted(members), size):
            visible = background | Coalition(chosen)
            is_masked = bool(visible) and visible != everything
            terms[Term(visible, is_conditional and is_masked)] = (-1.0) ** (len(members) - size)
    return terms
