"""Values of rows: a number of each row in its own region, for every split, summed up without being stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute.primitives import MOMENTS, Array, Part, as_part
from granite_xai.engine.splits import Splits

Rows = slice | IntArray
Tiles = Iterable[tuple[Rows, Part]]
"""Some rows at a time, each row once, with a part of theirs."""


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
        take = splits.primitives.take
        found = [
            part._replace(
                **(
                    {"left": take(part.left, rows, 0), "total": take(part.total, rows, 0)} if part.index is None else {}
                ),
                index=None if part.index is None else take(part.index, rows, 0),
                bins=None if part.bins is None else take(part.bins, rows, 0),
            )
            for part in self.parts
        ]
        return RowValues(take(self.own, rows, 0), self.at, (*parts, *found))

    def array(self, splits: Splits) -> Array:
        """The values themselves, (n, K)."""
        P, result = splits.primitives, []
        order = []
        for rows, values in self.tiles(splits):
            result.append(values.here(splits, P.take(splits.flags, rows, 0)))
            order.append(np.arange(splits.n_rows)[rows])
        if len(result) == 1 and isinstance(rows, slice):
            return result[0]
        back = np.argsort(np.concatenate(order))
        return P.take(P.xp.concat(result, axis=0), back, 0)

    def here(self, splits: Splits, inside: Array) -> Array:
        """The values of rows whose parts are at hand, (c, K)."""
        P, xp = splits.primitives, splits.primitives.xp
        found = xp.broadcast_to(self.own[:, None], inside.shape)
        if self.at is not None:
            found = found + xp.where(inside, self.at[0, :][None, :], self.at[1, :][None, :])
        for part in self.parts:
            found = found + P.own_side(part, inside)
        return found

    def sums(self, mode: int, splits: Splits) -> Array:
        """Weighted sums over both sides: of losses, or of the values and their squares, (2, 2, K)."""
        P, total = splits.primitives, splits.primitives.array(np.zeros((2, 2, splits.count)))
        for rows, values in self.tiles(splits):
            inside, weights = P.take(splits.flags, rows, 0), P.take(splits.row_weights, rows, 0)
            total = P.side_sums(mode, values.own, values.at, values.parts, inside, weights, total)
        return total

    def sums_of(self, function: Callable[[FloatArray, Rows], FloatArray], splits: Splits) -> Array:
        """Weighted sums over both sides of a function of the values and their rows, (2, K)."""
        P, total = splits.primitives, splits.primitives.array(np.zeros((2, 2, splits.count)))
        for rows, values in self.tiles(splits):
            inside, weights = P.take(splits.flags, rows, 0), P.take(splits.row_weights, rows, 0)
            found = P.array(function(P.host(values.here(splits, inside)), rows))
            nothing = P.array(np.zeros(found.shape[0]))
            total = P.side_sums(MOMENTS, nothing, None, (as_part(P, found),), inside, weights, total)
        return total[0, :, :]


def joined(values: Sequence[RowValues], splits: Splits) -> RowValues:
    """The sum of several values; at most one of them stays in tiles, the others are written out."""
    if len(values) == 1:
        return values[0]
    P = splits.primitives
    own, at, tiled = values[0].own, None, None
    parts: list[Part] = []
    for place, each in enumerate(values):
        own = each.own if place == 0 else own + each.own
        if each.at is not None:
            at = each.at if at is None else at + each.at
        parts += each.parts
        if each.tiled is not None and tiled is not None:
            zero = P.array(np.zeros(splits.n_rows))
            parts.append(as_part(P, RowValues(zero, tiled=each.tiled).array(splits)))
        tiled = each.tiled if tiled is None else tiled
    return RowValues(own, at, tuple(parts), tiled)
