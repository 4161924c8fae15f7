"""Candidates: the ways to cut a node in two along one column, in the order that breaks ties.

A candidate says which levels of its column, and whether missing values, go left. Cuts, groups of levels and missing
values are then one thing, and the split is read off at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, groupby
from operator import attrgetter

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.engine.splits import Cut
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.tables import Column, Table

MOST_LEVELS = 100
"""Levels of a nominal column that splits tell apart; the rarer ones share a group."""


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """All candidates of one column: levels that every one of them sends the same way are one class."""

    column: int  # position of the column
    # (levels + 1,) int: class of missing values (entry 0) and of each level of the table (entries 1, 2, …)
    classes: IntArray
    inner: BoolArray  # (K, classes) bool: which classes go left

    def enough(self, counts: IntArray, least: int) -> Family:
        """Only the candidates that leave so many rows on both sides, given the rows at each entry."""
        by_class = np.bincount(self.classes, weights=counts, minlength=self.inner.shape[1])
        n_left = self.inner @ by_class
        kept = np.minimum(n_left, by_class.sum() - n_left) >= max(least, 1)
        return Family(self.column, self.classes, self.inner[kept])


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One way to cut a node."""

    family: Family  # the candidates of the same column
    number: int  # which of them

    @property
    def column(self) -> int:
        """Position of the column."""
        return self.family.column

    @property
    def left(self) -> BoolArray:
        """Whether missing values (entry 0) and each level of the table (entries 1, 2, …) go left."""
        return self.inside(np.arange(-1, len(self.family.classes) - 1))

    def inside(self, codes: IntArray) -> BoolArray:
        """Which rows go left, from their codes."""
        goes: BoolArray = self.family.inner[self.number][self.family.classes[codes + 1]]
        return goes


def candidates(
    table: Table,
    rows: IntArray,
    evaluations: Evaluations,
    *,
    columns: Sequence[int],
    max_candidates: int,
    min_samples_leaf: int,
    cuts: str = "quantiles",
) -> list[Candidate]:
    """Every cut of a node that leaves enough rows on both sides, lowest in the order of ties first.

    ``table`` holds all fitting rows, ``rows`` are those of the node and ``evaluations`` theirs, which order the levels
    of nominal columns with many; ``columns`` are ascending positions. Each side needs ``min_samples_leaf`` rows,
    whatever their weight.
    """
    found = []
    rule = partial(CUTS[cuts], max_candidates=max_candidates, min_samples_leaf=min_samples_leaf)
    for position in columns:
        column = table.columns[position]
        counts = np.bincount(column.codes[rows] + 1, minlength=len(column.levels) + 1)
        family = _family(column, rows, counts, evaluations, max_candidates, rule).enough(counts, min_samples_leaf)
        found += [Candidate(family, number) for number in range(len(family.inner))]
    return found


def _family(
    column: Column, rows: IntArray, counts: IntArray, evaluations: Evaluations, max_candidates: int, rule: CutRule
) -> Family:
    """The candidates of one column: missing values on the left first, then on the right (C14)."""
    n_levels = len(counts) - 1
    if column.kind in ("nominal", "boolean"):
        classes = frequent_levels(column)
        few = column.merged(classes)
        present = np.unique(classes[np.flatnonzero(counts[1:])])
        groups = list(_groupings(few, rows, present, evaluations, max_candidates))
        inner = np.array(groups, dtype=np.bool_).reshape(-1, len(few.levels))
    else:
        codes = rule(counts[1:])
        inner = np.tri(len(codes), len(codes) + 1, dtype=np.bool_)
        classes = np.searchsorted(codes, np.arange(n_levels))
    # Missing values are the last class.
    classes = np.append(inner.shape[1], classes)
    if not counts[0]:
        return Family(column.position, classes, _with_missing(inner, left=False))
    only_missing = np.arange(inner.shape[1] + 1)[None] == inner.shape[1]
    both = [_with_missing(inner, left=side) for side in (True, False)]
    return Family(column.position, classes, np.concatenate([only_missing, *both]))


def frequent_levels(column: Column) -> IntArray:
    """Class of each level: its own for the most frequent ones, in their order; all others share the last (D11).

    >>> frequent_levels(Column("x", 0, "nominal", np.array(["b", "a"], dtype=object)))
    array([0, 1])
    """
    n_levels = len(column.levels)
    if n_levels <= MOST_LEVELS:
        return np.arange(n_levels)
    counts = np.bincount(column.codes[column.codes >= 0], minlength=n_levels)
    frequent = np.sort(np.argsort(-counts, kind="stable")[:MOST_LEVELS])
    classes = np.full(n_levels, MOST_LEVELS, dtype=np.intp)
    classes[frequent] = np.arange(MOST_LEVELS)
    return classes


def _with_missing(inner: BoolArray, *, left: bool) -> BoolArray:
    """Some cuts with the class of missing values behind the others."""
    return np.concatenate([inner, np.full((len(inner), 1), left)], axis=1)


def cut_codes(counts: IntArray, max_candidates: int) -> IntArray:
    """Levels v of the cuts ``x <= v`` of an ordered column, from the rows at each level (C11).

    With fewer than B distinct values every value but the largest; otherwise the values at the places
    ``(n - 1) k // B`` of the sorted rows, k = 1 … B - 1.

    >>> cut_codes(np.array([1, 0, 2, 1]), 40)
    array([0, 2])
    """
    present = np.flatnonzero(counts)
    if len(present) < max_candidates:
        return present[:-1]
    places = (int(counts.sum()) - 1) * np.arange(1, max_candidates) // max_candidates
    return _levels_at(places, counts)


def _levels_at(places: IntArray, counts: IntArray) -> IntArray:
    """The levels of some of the sorted rows, but for the largest that occurs."""
    codes: IntArray = np.unique(np.searchsorted(np.cumsum(counts), places, side="right"))
    below: IntArray = codes[codes < np.flatnonzero(counts)[-1]]
    return below


CutRule = Callable[[IntArray], IntArray]
CUTS: dict[str, Callable[..., IntArray]] = {
    "quantiles": lambda counts, max_candidates, **_: cut_codes(counts, max_candidates),
    "values": lambda counts, **_: np.flatnonzero(counts)[:-1],
}


def _groupings(
    column: Column, rows: IntArray, present: IntArray, evaluations: Evaluations, max_candidates: int
) -> Iterator[BoolArray]:
    """Groups of levels for the left side: fewer levels first, then in the order of the levels (C13)."""
    if len(present) < 2:
        return
    if 2 ** (len(present) - 1) <= max_candidates:
        sizes = range(1, len(present) // 2 + 1)
        chosen = {_lighter(group, present) for size in sizes for group in combinations(present.tolist(), size)}
    else:
        line = order_levels(column, rows, present, evaluations)
        prefixes = [tuple(line[:k].tolist()) for k in range(1, len(line))]
        chosen = {_lighter(group, present) for group in [*((code,) for code in present.tolist()), *prefixes]}
    for group in sorted(chosen, key=lambda group: (len(group), group)):
        table = np.zeros(len(column.levels), dtype=np.bool_)
        table[list(group)] = True
        yield table


def _lighter(group: tuple[int, ...], present: IntArray) -> tuple[int, ...]:
    """The side with fewer levels; of two equal ones that with the first level."""
    rest = [code for code in present.tolist() if code not in group]
    own = sorted(group)
    return tuple(own if (len(own), own) <= (len(rest), rest) else rest)


def order_levels(column: Column, rows: IntArray, present: IntArray, evaluations: Evaluations) -> IntArray:
    """Order levels along the first principal component of their pure effects (C13).

    One row of the matrix for each level, one column for each (other column, value): the pure effect of that value
    computed on the level's rows, minus its mean over the levels, times the root of the value's share. Levels that act
    alike then stand side by side.
    """
    members = np.where(column.codes[rows] == present[:, None], evaluations.weights, 0.0)
    members /= members.sum(axis=1, keepdims=True)
    others = sorted(evaluations.everything - {column.position})
    known = [position for position in others if frozenset({position}) in evaluations.stored_as]  # not those that pass
    blocks = [_effects_by_level(members, evaluations, position) for position in known]
    if not blocks:
        return present
    left, sizes, _ = np.linalg.svd(np.hstack(blocks), full_matrices=False)
    score = left[:, 0] * sizes[0]
    score = score if score[0] <= score[-1] else -score
    # Rounded, so that levels with equal effects keep their own order.
    score = np.round(score / max(np.abs(score).max(), 1e-300), 9)
    return present[np.lexsort((np.arange(len(present)), score))]


def _effects_by_level(members: FloatArray, evaluations: Evaluations, position: int) -> FloatArray:
    matrix = evaluations.matrix(frozenset({position}))
    shares = np.bincount(matrix.codes, weights=evaluations.weights, minlength=len(matrix.values))
    effects = members @ matrix.values.T - (members @ evaluations.predictions)[:, None]
    centred: FloatArray = (effects - effects.mean(axis=0)) * np.sqrt(shares / shares.sum())
    return centred


def cuts_of(chosen: Sequence[Candidate], table: Table, rows: IntArray) -> list[Cut]:
    """The candidates of a node as cuts of its rows, one for each column; candidates of a column are neighbours."""
    cuts = []
    for family, group in groupby(chosen, key=attrgetter("family")):
        inner = family.inner[[candidate.number for candidate in group]]
        cuts.append(Cut.of(family.column, inner, family.classes[table.columns[family.column].codes[rows] + 1]))
    return cuts


def best_of(scores: FloatArray, tolerance: float = 1e-10) -> int:
    """The first candidate within the tolerance of the smallest score (C15).

    >>> best_of(np.array([0.5, 0.2, 0.2 - 1e-12]))
    1
    """
    return int(np.flatnonzero(scores <= scores.min() + tolerance)[0])
