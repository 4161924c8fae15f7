"""The matrices of all rows, sent to where the products are computed once; a node's part is cut out there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray, PairwiseShapley
from granite_xai.engine.portable.arithmetic import Arithmetic, Array
from granite_xai.evaluations.evaluations import Evaluations, Matrix

Key = Coalition | PairwiseShapley


class Moved:
    """``E_S`` and pairwise attributions of all rows in the numbers of the search.

    They are kept where they are computed with while there is room; what finds none is sent again each time.

    Parameters
    ----------
    arithmetic : Arithmetic
    root : Evaluations
        Of all rows.
    room : int
        Bytes that may be kept.

    Attributes
    ----------
    scale : float
        Largest size of what was sent so far.
    """

    def __init__(self, arithmetic: Arithmetic, root: Evaluations, room: int) -> None:
        self.arithmetic = arithmetic
        self.root = root
        self.room = room
        self.scale = 0.0
        self._kept: dict[Key, Array] = {}

    @property
    def kept(self) -> int:
        """How many matrices are kept."""
        return len(self._kept)

    def let_go(self) -> None:
        """Give the memory back and keep nothing from now on."""
        self._kept.clear()
        self.room = 0

    def matrix(self, store: Coalition, node: Evaluations, rows: IntArray) -> tuple[Array, IntArray]:
        """``E_S`` on the rows of a node, and the line that holds each row's own value."""
        root = self.root.matrices[store]
        kept = self._whole(store, lambda: root.values, rows)
        if kept is None:
            own = node.matrices[store]
            return self.arithmetic.array(own.values), own.codes
        if len(rows) == self.root.n_rows:
            return kept, root.codes
        lines, codes = np.unique(root.codes[rows], return_inverse=True)
        return self._part(kept, lines, rows), codes.reshape(-1)

    def attributions(self, term: PairwiseShapley, node: Evaluations, rows: IntArray) -> Array:
        """Pairwise attributions of the rows of a node."""
        kept = self._whole(term, lambda: self.root.attributions[term], rows)
        if kept is None:
            return self.arithmetic.array(node.attributions[term])
        return kept if len(rows) == self.root.n_rows else self._part(kept, rows, rows)

    def _whole(self, key: Key, values: Callable[[], FloatArray], rows: IntArray) -> Array | None:
        """What is kept of a matrix; it is sent when all rows are asked for, which is what a search begins with."""
        if key in self._kept or len(rows) < self.root.n_rows:
            return self._kept.get(key)
        found = values()
        size = found.size * self.arithmetic.itemsize
        moved = self.arithmetic.array(found)
        xp = self.arithmetic.xp
        self.scale = max(self.scale, float(xp.max(moved)), -float(xp.min(moved)))
        if size <= self.room:
            self.room -= size
            self._kept[key] = moved
        return moved

    def _part(self, kept: Array, lines: IntArray, rows: IntArray) -> Array:
        at, xp = self.arithmetic.numbers, self.arithmetic.xp
        return xp.take(xp.take(kept, at(lines), axis=0), at(rows), axis=1)


def transposed(matrix: tuple[Array, IntArray], arithmetic: Arithmetic) -> tuple[Array, IntArray]:
    """One line a row instead of one a value, seen from the other columns: ``R^{-S}`` is the transpose of ``R^S``."""
    values, codes = matrix
    lines = arithmetic.xp.take(values, arithmetic.numbers(codes), axis=0)
    return lines.T, np.arange(len(codes))


def carriers(codes: IntArray) -> IntArray:
    """A row that carries each value."""
    return Matrix(np.empty((0, 0)), codes).carriers
