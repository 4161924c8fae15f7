"""The primitives of NumPy arrays in compiled loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import IntArray
from granite_xai.compute import kernels
from granite_xai.compute.compiled import compiled
from granite_xai.compute.families import Families
from granite_xai.compute.primitives import (
    Array,
    ArrayNamespace,
    Numpy,
    Pairs,
    Part,
    as_part,
)

_NO_INDEX = np.zeros(0, dtype=np.intp)


class SortedRows(NamedTuple):
    """The rows of J columns, sorted by segment."""

    rows: IntArray  # (J, n)
    ends: IntArray  # (G + J,): where the rows of each segment begin and end
    starts: IntArray  # (J + 1,): the first segment of each column


class Compiled(Numpy):
    """The primitives of `ArrayNamespace` in compiled loops; see there for what each means."""

    line_share = ArrayNamespace.line_share  # by `segment_sum`, which is faster than counting here

    def order(self, segments: IntArray, families: Families) -> SortedRows:
        """The rows of each column sorted by segment."""
        starts = families.starts
        rows = np.empty(segments.shape, dtype=np.intp)
        ends = np.zeros(int(starts[-1]) + len(families.sizes), dtype=np.intp)
        compiled(kernels.order)(segments, starts, rows, ends)
        return SortedRows(rows=rows, ends=ends, starts=starts)

    def segment_sum(self, block: Array, order: SortedRows) -> Array:
        """Sums of the lines of a block (n, c) by segment, (G, c)."""
        sums = np.zeros((int(order.starts[-1]), block.shape[1]))
        block = np.ascontiguousarray(block)
        compiled(kernels.segment_sum)(block, order.rows, order.ends, order.starts, sums)
        return sums

    def segment_share(
        self, mass: Array, codes: IntArray, count: int, segments: IntArray, families: Families
    ) -> Array:
        """Weight of the rows of each segment that carry each of ``count`` codes, (G, count)."""
        shares = np.zeros((int(families.starts[-1]), count))
        compiled(kernels.segment_share)(mass, codes, segments, shares)
        return shares

    def left_sums(self, by_segment: Array, families: Families) -> Array:
        """Sums over the left side of each candidate from sums over segments, (G, c) to (c, K)."""
        steps = families.additions
        sums = np.empty((by_segment.shape[1], len(steps.begins_again)))
        compiled(kernels.left_sums)(
            by_segment, steps.begins_again, steps.ends, steps.segments, sums
        )
        return sums

    def pair_block(
        self, E: Array, references: Pairs, rows: Pairs, hidden: float, shown: float
    ) -> Array:
        """``hidden * E[line(m), i] + shown * E[line(i), m]`` of references m and rows i, (n, c)."""
        block = np.empty((len(references.lines), len(rows.lines)))
        E = np.ascontiguousarray(E)  # one layout: otherwise each would be compiled by itself
        compiled(kernels.pair_block)(
            E,
            references.lines,
            references.columns,
            rows.lines,
            rows.columns,
            float(hidden),
            float(shown),
            block,
        )
        return block

    def own_side(self, part: Part, inside: Array) -> Array:
        """The mean of each row's own side, (c, K)."""
        means = np.zeros(inside.shape)
        compiled(kernels.add_own_side)(*_as_arrays(part), inside, means)
        return means

    def side_sums(
        self,
        mode: int,
        of_row: Array,
        of_side: Array | None,
        parts: Sequence[Part],
        inside: Array,
        weights: Array,
        out: Array,
    ) -> Array:
        """Weighted sums over both sides of what each row has, in one pass."""
        if of_side is None:
            of_side = np.zeros((2, inside.shape[1]))
        first, second = self._two_parts(parts, inside)
        has_second = second is not None
        if second is None:
            second = first  # which is not read
        compiled(kernels.side_sums)(
            mode,
            np.ascontiguousarray(of_row),
            of_side,
            _as_arrays(first),
            _as_arrays(second),
            has_second,
            np.ascontiguousarray(inside),
            np.ascontiguousarray(weights),
            out,
        )
        return out

    def _two_parts(self, parts: Sequence[Part], inside: Array) -> tuple[Part, Part | None]:
        """The parts as one or two, which is all that the loop reads; further ones are added to the second."""
        if not parts:
            return as_part(self, np.zeros(inside.shape)), None
        if len(parts) == 1:
            return parts[0], None
        if len(parts) == 2:
            return parts[0], parts[1]
        further = sum(self.own_side(part, inside) for part in parts[1:])
        return parts[0], as_part(self, further)


COMPILED = Compiled()


def _as_arrays(part: Part) -> tuple[Array, ...]:
    """A part as arrays of one layout; no index is an empty one."""
    arrays = [_NO_INDEX if field is None else field for field in part]
    return tuple(np.ascontiguousarray(array) for array in arrays)
