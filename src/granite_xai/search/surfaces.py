"""Surfaces: what two columns leave if the effect of one may change smoothly along the other.

A split of a column makes the gaps of other sets smaller. Where effects change gradually along that
column, a surface may leave less than both regions do: gaps are means over rows of the region, and
here these means are polynomials of the ranks of the column (method page, "Smooth or sharp").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.disagreement.objective import ScaledObjective
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.moments.statistics import FullAgainstPure
from granite_xai.search.problem import Problem
from granite_xai.tables import Column

DEGREE = 3  # of the polynomial of a column's ranks along which effects change
PAIRS_AT_ONCE = 2**16  # pairs of rows looked at together: few enough for the cache


class Surface(NamedTuple):
    """The set that a split makes agree most."""

    partner: str  # its features; "others" where it has the column of the split itself
    left_by_regions: float  # share of its losses in the node that both regions leave
    left_by_surface: float  # share that a surface along the column leaves


class _InteractingSet(NamedTuple):
    """A set whose gaps a split makes smaller."""

    gain: float  # what the split takes away of it, in shares of the objective
    in_node: float  # summed losses of its gaps in the node
    in_regions: float  # the same in both regions
    question: ResolvedQuestion
    number: int  # of the set


def counted_questions(shares: ScaledObjective) -> Iterator[tuple[float, ResolvedQuestion]]:
    """The questions that count in the objective, with their factors."""
    for factor, question in zip(shares.factors.tolist(), shares.comparisons, strict=True):
        if factor and isinstance(question, ResolvedQuestion):
            yield factor, question


def strongest_surface(
    problem: Problem,
    rows: IntArray,
    evaluations: Evaluations,
    sides: Sequence[Evaluations],
    column: Column,
) -> Surface | None:
    """The surface of the set that a split makes agree most; None: there is no such set.

    Parameters
    ----------
    problem : Problem
    rows : array
        Rows of the node.
    evaluations : Evaluations
        Of these rows.
    sides : two Evaluations
        Of the rows on both sides of the split.
    column : Column
        The column of the split.
    """
    interacting = list(_interacting_sets(problem.shares, evaluations, sides, column))
    if not interacting:
        return None
    strongest = max(interacting, key=lambda entry: entry.gain)
    layout = strongest.question.first.layout
    partner = ":".join(layout.labels[strongest.number])
    if column.position in union(layout.sets[strongest.number]):
        partner = "others"
    along = _AlongColumn.of(problem, rows, evaluations, column)
    return Surface(
        partner=partner,
        left_by_regions=strongest.in_regions / strongest.in_node,
        left_by_surface=along.loss_of(strongest) / strongest.in_node,
    )


def _interacting_sets(
    shares: ScaledObjective,
    evaluations: Evaluations,
    sides: Sequence[Evaluations],
    column: Column,
) -> Iterator[_InteractingSet]:
    """The sets without the column of the split whose gaps it makes smaller."""
    left, right = sides
    for factor, question in counted_questions(shares):
        if not _has_gaps_in_pairs(question):
            continue
        in_node = _losses_by_set(question, evaluations)
        in_left = _losses_by_set(question, left)
        in_right = _losses_by_set(question, right)
        sets = question.first.layout.sets
        for number, members in enumerate(sets):
            in_regions = in_left[number] + in_right[number]
            has_column = len(sets) > 1 and column.position in union(members)
            if in_node[number] > in_regions and not has_column:
                yield _InteractingSet(
                    gain=factor * (in_node[number] - in_regions),
                    in_node=in_node[number],
                    in_regions=in_regions,
                    question=question,
                    number=number,
                )


def _has_gaps_in_pairs(question: ResolvedQuestion) -> bool:
    """Whether gaps are means over pairs of rows."""
    is_linear = question.first.behavior.is_linear and question.gap_loss.mode is not None
    return is_linear and all(masking.in_pairs for masking in question.gap_terms[0])


def _losses_by_set(question: ResolvedQuestion, evaluations: Evaluations) -> list[float]:
    """Summed losses of the gaps of each set, the rows as one region."""
    whole = Splits.whole(evaluations.weights)
    gaps_of_sets = question.gap_values(evaluations, whole)
    return [float(evaluations.weights @ question.loss(gaps[0])) for gaps in gaps_of_sets]


@dataclass(frozen=True, eq=False)
class _AlongColumn:
    """Means over the rows of a node that may change along a column.

    The numbers of the rows that gaps are linear in are regressed on polynomials of the column's
    ranks, not averaged.

    Parameters
    ----------
    problem : Problem
    rows : array
        Rows of the node.
    evaluations : Evaluations
        Of these rows.
    basis : array of shape (n_rows, degree + 1)
        Polynomials at the rank of each row.
    regression : array of shape (n_rows, degree + 1)
        What each row adds to the coefficients of the polynomials.
    """

    problem: Problem
    rows: IntArray
    evaluations: Evaluations
    basis: FloatArray
    regression: FloatArray

    @classmethod
    def of(
        cls, problem: Problem, rows: IntArray, evaluations: Evaluations, column: Column
    ) -> _AlongColumn:
        """The polynomials of the ranks of a column."""
        codes = column.codes[rows]
        codes = codes - codes.min()
        counts = np.bincount(codes)
        mid_ranks = (np.cumsum(counts) - 0.5 * counts) / counts.sum()  # of each value
        basis = np.polynomial.legendre.legvander(2.0 * mid_ranks[codes] - 1.0, DEGREE)
        weighted = basis * evaluations.weights[:, None]
        regression = weighted @ np.linalg.pinv(basis.T @ weighted)
        return cls(problem, rows, evaluations, basis, regression)

    def loss_of(self, interacting: _InteractingSet) -> float:
        """Summed losses of the gaps of a set whose pure effect may change along the column."""
        statistics = self._statistics(interacting)
        if statistics is None:
            gaps = self._gaps_from_pairs(interacting)
        else:
            vectors = statistics.vectors()
            along = statistics.times_k((self.regression.T @ vectors).T)  # (size, degree + 1)
            gaps = np.einsum("rz,rz->r", vectors, self.basis @ along.T)
        return float(self.evaluations.weights @ interacting.question.loss(gaps))

    def _statistics(self, interacting: _InteractingSet) -> FullAgainstPure | None:
        """Numbers of the rows that the gaps of the set are linear in; None: there are none."""
        problem = self.problem
        for question, sets in zip(problem.shares.comparisons, problem.statistics, strict=True):
            if question is interacting.question:
                if sets is None or not isinstance(sets[0], FullAgainstPure):
                    return None
                statistics = cast("FullAgainstPure", sets[interacting.number])
                return statistics.take(self.rows)
        return None

    def _gaps_from_pairs(self, interacting: _InteractingSet) -> FloatArray:
        """The same gaps from all pairs of rows, (n_rows,)."""
        question = interacting.question
        members = union(question.first.layout.sets[interacting.number])
        evaluations = self.evaluations.on_grid(members)
        every_row = np.arange(evaluations.n_rows)
        whole = Splits.whole(evaluations.weights)
        step = max(1, PAIRS_AT_ONCE // evaluations.n_rows)
        gaps = np.empty(evaluations.n_rows)
        for tile in np.split(every_row, range(step, evaluations.n_rows, step)):
            pair_gaps = [
                masking.masked(evaluations, whole).pair_block(terms, every_row, tile)
                for masking, terms in question.gap_terms[interacting.number].items()
            ]
            block = sum(pair_gaps[1:], pair_gaps[0])
            gaps[tile] = np.einsum("mc,mc->c", block, self.regression @ self.basis[tile].T)
        return gaps
