"""Values of rows: a number of each row in its own region, for every split, summed up without being stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute.primitives import Array, Part, as_part
from granite_xai.engine.splits import Splits

Rows = slice | IntArray
Tiles = Iterable[tuple[Rows, Part]]  # some rows at a time, each row once, with a part of theirs
HybridFunction = Callable[[FloatArray, Rows], FloatArray]
"""From the predictions of some rows (against their references, or in each split) and the rows, to as many numbers."""


class RowValues(NamedTuple):
    """A number of each row in its own region: its own, one of its side, and means over its side."""

    own: Array  # (n,) array: what does not depend on the region
    at: Array | None = None  # (2, K) array: what all rows of a side share
    parts: tuple[Part, ...] = ()  # what every row reads
    tiled: Tiles | None = None  # iterable of rows and their part: what is made for some rows at a time, and read once

    def tiles(self, splits: Splits) -> Iterator[tuple[Rows, RowValues]]:
        """The values of some rows at a time; each row once."""
        if self.tiled is None:
            for rows in splits.tiles(splits.n_rows, splits.count, 2**30):
                yield rows, self._of(rows, splits)
            return
        for some, part in self.tiled:
            yield some, self._of(some, splits, part)

    def _of(self, rows: Rows, splits: Splits, *parts: Part) -> RowValues:
        def some(values: Array | None) -> Array | None:
            return None if values is None else splits.primitives.take(values, rows, 0)

        own = (p if p.index is not None else p._replace(left=some(p.left), total=some(p.total)) for p in self.parts)
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
        return P.take(P.xp.concat(result, axis=0), np.argsort(np.concatenate(order)), 0)

    def sums(self, mode: int, splits: Splits, function: HybridFunction | None = None) -> Array:
        """Weighted sums over both sides: of losses, or of the values (or a function of them) and their squares."""
        # Of shape (2, 2, K).
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
            parts.append(as_part(splits.primitives, RowValues(splits.zeros, tiled=each.tiled).array(splits)))
        tiled = each.tiled if tiled is None else tiled
    return RowValues(own, at, tuple(parts), tiled)
