"""The masked model of a batch of regions, and the values of rows that it answers with: summed up, never stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray, Term, Terms
from granite_xai.compute.primitives import Array, Part, as_part
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.coordinates import Coordinates
from granite_xai.evaluations.evaluations import Evaluations

Rows = slice | IntArray
Tiles = Iterable[tuple[Rows, Part]]  # some rows at a time, each row once, with a part of theirs
HybridFunction = Callable[[FloatArray, Rows], FloatArray]
"""From the predictions of some rows (against their references, or in each split) and the rows, to as many numbers."""


class RowValues(NamedTuple):
    """A number of each row in its own region: its own, one of its side, and means over its side."""

    own: Array  # (n,) array: what does not depend on the region
    at: Array | None = None  # (2, K) array: what all rows of a side share
    parts: tuple[Part, ...] = ()  # what every row reads
    tiled: Tiles | None = (
        None  # iterable of rows and their part: what is made for some rows at a time, and read once
    )

    def tiles(self, splits: Splits) -> Iterator[tuple[Rows, RowValues]]:
        """The values of some rows at a time; each row once."""
        alone = ((rows,) for rows in splits.tiles(splits.n_rows, splits.count, 2**30))
        tiled: Iterable[tuple[Any, ...]] = alone if self.tiled is None else self.tiled
        yield from ((rows, self._of(rows, splits, *part)) for rows, *part in tiled)

    def _of(self, rows: Rows, splits: Splits, *parts: Part) -> RowValues:
        def some(values: Array | None) -> Array | None:
            return None if values is None else splits.primitives.take(values, rows, 0)

        own = (
            p if p.index is not None else p._replace(left=some(p.left), total=some(p.total))
            for p in self.parts
        )
        found = (part._replace(index=some(part.index), bins=some(part.bins)) for part in own)
        return RowValues(some(self.own), self.at, (*parts, *found))

    def array(self, splits: Splits) -> Array:
        """The values themselves, (n, K)."""
        P, result, order = splits.primitives, [], []
        for rows, values in self.tiles(splits):
            result.append(P.row_values(*values[:3], P.take(splits.flags, rows, 0)))
            order.append(np.arange(splits.n_rows)[rows])
        if len(result) == 1 and isinstance(rows, slice):
            return result[0]
        return P.take(P.concat(result, axis=0), np.argsort(np.concatenate(order)), 0)

    def sums(self, mode: int, splits: Splits, function: HybridFunction | None = None) -> Array:
        """Weighted sums over both sides, (2, 2, K): of losses, or of values (or a function of them) and squares."""
        P, total = splits.primitives, splits.primitives.array(np.zeros((2, 2, splits.count)))
        for rows, values in self.tiles(splits):
            inside, weights = P.take(splits.flags, rows, 0), P.take(splits.row_weights, rows, 0)
            if function is not None:
                found = P.array(function(P.host(P.row_values(*values[:3], inside)), rows))
                values = RowValues(P.array(np.zeros(found.shape[0])), parts=(as_part(P, found),))
            total = P.side_sums(mode, *values[:3], inside, weights, total)
        return total


def joined(values: Sequence[RowValues], splits: Splits) -> RowValues:
    """The sum of several values; at most one of them stays in tiles, the others are written out."""
    own, at, *_ = values[0]
    parts, tiled = list(values[0].parts), values[0].tiled
    for each in values[1:]:
        own = own + each.own
        at = each.at if at is None else at if each.at is None else at + each.at
        parts += each.parts
        if each.tiled is not None and tiled is not None:
            parts.append(
                as_part(splits.primitives, RowValues(splits.zeros, tiled=each.tiled).array(splits))
            )
        tiled = each.tiled if tiled is None else tiled
    return RowValues(own, at, tuple(parts), tiled)


class Masked(ABC):
    """``F_T`` at every row, in the region that holds the row; what a masking refuses (P03) is not asked for."""

    __slots__ = ()

    @abstractmethod
    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of masked models (and of pairwise attributions, where these exist)."""

    def pair_block(self, terms: Terms, references: IntArray, rows: IntArray) -> Array:
        """A combination of some rows before its mean over all references of a region is taken, (references, rows)."""
        raise TypeError("only maskings in pairs are asked")

    def averaged(self, coalition: Coalition, function: HybridFunction) -> RowValues:
        """The mean over the references of a function of the single predictions behind ``F_T``."""
        raise TypeError("this is refused when the question is resolved")

    def total_variance(self, hidden: Coalition) -> Array:
        """Mean over the rows of each side of the prediction's variance when the hidden columns are redrawn, (2, K)."""
        raise TypeError("this is refused when the question is resolved")


@dataclass(frozen=True, slots=True, eq=False)
class AgainstReferences(Masked):
    """Hidden columns are taken from reference rows that are the same in every region."""

    evaluations: Evaluations
    splits: Splits
    # from the visible columns to the centred predictions ``F(x_T, b)``, one line for each reference b
    predictions: Callable[[Coalition], FloatArray]

    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of masked models: each the mean over the reference rows."""
        return RowValues(self.splits.primitives.array(self._own(terms)))

    def pair_block(self, terms: Terms, references: IntArray, rows: IntArray) -> Array:
        """The same for every reference of the region."""
        return self.splits.primitives.array(
            np.broadcast_to(self._own(terms)[rows], (len(references), len(rows)))
        )

    def _own(self, terms: Terms) -> FloatArray:
        parts = (value * self._lines(term).mean(axis=0) for term, value in terms.items())  # type: ignore[arg-type]
        return sum(parts, np.zeros(self.splits.n_rows))

    def averaged(self, coalition: Coalition, function: HybridFunction) -> RowValues:
        """The mean over the reference rows of a function of the predictions."""
        return RowValues(
            self.splits.primitives.array(function(self._lines(coalition), slice(None)).mean(axis=0))
        )

    def _lines(self, coalition: Coalition) -> FloatArray:
        known = self.evaluations
        return (
            known.predictions[None]
            if coalition == known.everything
            else self.predictions(coalition)
        )


def central_rows(coordinates: Coordinates, weights: FloatArray) -> IntArray:
    """Position of the central row of each region."""
    # The distance of a row is the sum over ordered columns of the difference in rank (as a share of the fitting rows)
    # plus 1 for each nominal column that differs; a missing value differs by 1 from any other. Ties: the first row.
    # ``weights`` are those of each row in each region, (K, n), and 0 outside.
    distance = np.zeros(weights.shape)
    for ranks in coordinates.ranks:
        missing, median = np.isnan(ranks), _lower_medians(ranks, weights)[:, None]
        apart = np.where(missing, 0.0, np.abs(ranks - median))
        distance += np.where(missing != np.isnan(median), 1.0, apart)
    for levels in coordinates.levels:
        distance += levels != _modes(levels, weights)[:, None]
    # Rounded, so that rows at the same distance are a tie whatever the order of the sums.
    return np.asarray(np.argmin(np.where(weights > 0, np.round(distance, 12), np.inf), axis=1))


def _lower_medians(ranks: FloatArray, weights: FloatArray) -> FloatArray:
    """Smallest value with at least half of the weight of the present rows at or below it; NaN without any."""
    order = np.argsort(ranks, kind="stable")[
        : int(np.count_nonzero(~np.isnan(ranks)))
    ]  # missing values last
    if not len(order):
        return np.full(len(weights), np.nan)
    below = np.cumsum(weights[:, order], axis=1)
    half = np.argmax(2 * below >= below[:, -1:], axis=1)
    return np.where(below[:, -1] > 0, ranks[order][half], np.nan)


def _modes(levels: IntArray, weights: FloatArray) -> IntArray:
    """The heaviest level of each region, ties to the first; missing only where nothing else is there."""
    table = weights @ (levels[:, None] == np.arange(levels.max(initial=-1) + 1)).astype(np.float64)
    if not table.shape[1]:
        return np.full(len(weights), -1, dtype=np.intp)
    return np.where(table.max(axis=1) > 0, np.argmax(table, axis=1), -1)


class AgainstCentres(Masked):
    """Hidden columns are set to the central row of each side, one of its own."""

    def __init__(self, evaluations: Evaluations, splits: Splits) -> None:
        if evaluations.coordinates is None:
            raise ValueError("the evaluations hold no coordinates")
        self.evaluations, self.splits = evaluations, splits
        fixed = splits.lines is not None  # under lines of weights the baselines stay as they are
        sides = (
            np.broadcast_to(splits.weights, splits.inside.shape) if fixed else splits.left,
            splits.right,
        )
        self.left, self.right = (
            central_rows(evaluations.coordinates, side) for side in sides
        )  # of every split, (K,)

    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of predictions against the central row, and of attributions."""
        P, splits = self.splits.primitives, self.splits
        own, total = splits.zeros, P.array(np.zeros((splits.n_rows, splits.count)))
        for term, coefficient in terms.items():
            if term == self.evaluations.everything:
                own = own + coefficient * P.array(self.evaluations.predictions)
            else:
                left, right = (self._against(term, rows) for rows in (self.left, self.right))
                total = total + coefficient * P.xp.where(splits.flags, left, right)
        return RowValues(own, parts=(as_part(P, total),))

    def averaged(self, coalition: Coalition, function: HybridFunction) -> RowValues:
        """A function of the one prediction behind ``F_T``."""
        P, values = self.splits.primitives, self.combined({coalition: 1.0}).array(self.splits)
        found = np.stack(
            [function(line[None], slice(None))[0] for line in P.host(values).T], axis=1
        )
        return RowValues(self.splits.zeros, parts=(as_part(P, P.array(found)),))

    def _against(self, term: Term, baseline: IntArray) -> Array:
        """``F(x_T, b)`` of every row for the baseline row of each split, (n, K)."""
        P, evaluations = self.splits.primitives, self.evaluations
        if not term:
            return P.array(evaluations.predictions[baseline][None, :])
        matrix, shown = evaluations.stored(term)
        both = (0.0, 1.0) if shown else (1.0, 0.0)
        return P.pair_block(
            P.array(matrix.values), matrix.pairs.at(baseline), matrix.pairs, *both
        ).T
