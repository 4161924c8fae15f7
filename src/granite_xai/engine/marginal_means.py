"""Masked models under marginal masking: means over all rows of a side, some of them made in tiles.

With ``E_S`` of U values a mean is taken in one of three ways:

    by table   S shown: a table with one entry a value, which every row reads (`engine.value_tables`)
    by share   S hidden: F_{D without S}(x_n) = mean over rows m of E_S[u(m), n], values by their share of a side
    by pairs   both, where there are about as many values as rows: tables and shares save nothing then, and one
               pass over the pairs of rows (m, n) serves all cuts
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from granite_xai.base.typing import FloatArray
from granite_xai.compute import primitives
from granite_xai.compute.primitives import Part
from granite_xai.engine.row_values import RowIndex, Tiles
from granite_xai.engine.splits import Splits
from granite_xai.engine.value_tables import ValueTables
from granite_xai.evaluations.matrix import Matrix


@dataclass(slots=True, eq=False)
class MatrixTerms:
    """The coefficients of the two masked models that are read from one matrix ``E_S``."""

    matrix: Matrix
    hidden: float = 0.0  # of ``F_{D without S}``
    shown: float = 0.0  # of ``F_S``


@dataclass(slots=True, eq=False)
class _Ways:
    """Which matrices are averaged in which way."""

    by_table: list[MatrixTerms] = field(default_factory=list)
    by_share: list[MatrixTerms] = field(default_factory=list)
    by_pairs: list[MatrixTerms] = field(default_factory=list)


def marginal_means(
    terms: list[MatrixTerms], splits: Splits, block: int
) -> tuple[list[Part], Tiles | None]:
    """A linear combination of masked models: tables that every row reads, and what is made in tiles.

    What is made in tiles has one mass, that of the side, so all of it is added before it is averaged.

    Parameters
    ----------
    terms : list of MatrixTerms
    splits : Splits
    block : int
        Bytes of what is computed at a time.
    """
    ways = _ways(terms, splits)
    table_maker = ValueTables(splits, block)
    tables = [table_maker.of_values(term.matrix) for term in ways.by_table]
    if not ways.by_pairs and not ways.by_share:
        return _scaled(tables, ways.by_table), None
    # A pass over the rows reads two parts without writing more: what is made in tiles, and one table. Several tables
    # are therefore added up within the tiles.
    if len(tables) == 1:
        without_table = replace(ways, by_table=[])
        tiles = _sums_in_tiles(without_table, [], splits, block)
        return _scaled(tables, ways.by_table), tiles
    return [], _sums_in_tiles(ways, tables, splits, block)


def _ways(terms: list[MatrixTerms], splits: Splits) -> _Ways:
    """The cheapest way for each matrix.

    With about as many values as rows it is by pairs, with one exception: where the matrix holds the rows of the node
    alone, and splits are no cuts of columns, tables and shares are products of whole matrices.
    """
    are_cuts = splits.families is not None
    ways = _Ways()
    for term in terms:
        holds_node_alone = term.matrix.column_of_row is None
        if term.matrix.has_many_values and (are_cuts or not holds_node_alone):
            ways.by_pairs.append(term)
            continue
        if term.shown:
            ways.by_table.append(term)
        if term.hidden:
            ways.by_share.append(term)
    return ways


def _scaled(tables: list[Part], terms: list[MatrixTerms]) -> list[Part]:
    """Tables times the coefficients of the sets that are read from them."""
    return [
        table._replace(scale=term.shown * table.scale)
        for term, table in zip(terms, tables, strict=True)
    ]


def _sums_in_tiles(
    ways: _Ways, tables: list[Part], splits: Splits, block: int
) -> Iterator[tuple[RowIndex, Part]]:
    """Some rows at a time, the sum of all marginal means.

    Parameters
    ----------
    ways : _Ways
    tables : list of Part
        Those of the terms that are read by table.
    splits : Splits
    block : int
    """
    shares = [_shares_of_values(term, splits) for term in ways.by_share]
    widths = [splits.count, *(term.matrix.n_values for term in ways.by_share)]
    if ways.by_pairs:
        widths.append(splits.n_rows)
    for rows in splits.tiles(splits.n_rows, max(widths), block):
        lefts = []
        totals = []
        if ways.by_pairs:
            blocks = [_both_orientations(term, rows, splits) for term in ways.by_pairs]
            left, total = splits.sums(_added(blocks))
            lefts.append(left)
            totals.append(total)
        for term, (left_share, share) in zip(ways.by_share, shares, strict=True):
            left, total = splits.by_share(left_share, share, term.matrix.values[:, rows])
            lefts.append(left)
            totals.append(total)
        for term, table in zip(ways.by_table, tables, strict=True):
            entries = primitives.take(table.index, rows, 0)
            lefts.append(term.shown * primitives.take(table.left, entries, 0))
            totals.append(term.shown * primitives.take(table.total, entries, 0))
        yield rows, Part(left=_added(lefts), total=_added(totals), scale=splits.scale)


def _shares_of_values(term: MatrixTerms, splits: Splits) -> tuple[FloatArray, FloatArray]:
    """The share of each value on the left, (U, K), and in all, (U,), times its coefficient."""
    left, total = splits.shares(term.matrix.codes, term.matrix.n_values)
    return term.hidden * left, term.hidden * total


def _both_orientations(term: MatrixTerms, rows: slice, splits: Splits) -> FloatArray:
    """Both masked models of a matrix for some rows against all rows, (n, c)."""
    pairs = term.matrix.pairs
    return primitives.pair_block(
        term.matrix.values, pairs, pairs.at(rows), hidden=term.hidden, shown=term.shown
    )


def _added(arrays: list[FloatArray]) -> FloatArray:
    """The sum of some arrays, in their order."""
    total = arrays[0]
    for array in arrays[1:]:
        total = total + array
    return total
