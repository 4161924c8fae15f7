"""Marginal means by table, by share and by pairs: the same numbers, in tables or in tiles."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.marginal_means import MatrixTerms, marginal_means
from granite_xai.engine.row_values import RowValues
from granite_xai.engine.splits import Cut, Splits

from engine.known_rows import ALL, FEW, KNOWN, MANY, SIDES, N, hybrid, mean_over

SPLITS = Splits.of(SIDES, KNOWN.weights)
CUT = Cut(column=0, classes=np.arange(N), left=SIDES)  # the same splits, as cuts of a column
CUTS = Splits.along([CUT], KNOWN.weights)


def terms_of(coefficients):
    """Coefficients by visible columns as terms by matrix."""
    by_store = {}
    for visible, coefficient in coefficients.items():
        store, is_shown = KNOWN.stored_as[visible]
        terms = by_store.setdefault(store, MatrixTerms(KNOWN.matrices[store]))
        if is_shown:
            terms.shown = coefficient
        else:
            terms.hidden = coefficient
    return list(by_store.values())


@pytest.mark.parametrize("splits", [SPLITS, CUTS], ids=["membership", "cuts"])
@pytest.mark.parametrize("block", [1, 2**20])
@pytest.mark.parametrize(
    "coefficients",
    [
        {FEW: 1.5},
        {ALL - FEW: -1.0},
        {MANY: 2.0},
        {FEW: 0.3, ALL - FEW: 2.0},
        {FEW: 0.3, MANY: -1.0},
        {FEW: 0.3, ALL - FEW: 2.0, MANY: -1.0, ALL - MANY: 0.7},
    ],
    ids=str,
)
def test_a_combination_is_the_mean_over_the_rows_of_each_side(coefficients, block, splits):
    tables, tiles = marginal_means(terms_of(coefficients), splits, block)
    values = RowValues(splits.zeros, parts=tuple(tables), tiled=tiles)
    found = values.array(splits)
    for k in range(len(SIDES)):
        for n in range(N):
            wanted = sum(
                coefficient * mean_over(lambda m, n=n, T=visible: hybrid(T, n, m), n, k, False)
                for visible, coefficient in coefficients.items()
            )
            assert found[n, k] == pytest.approx(wanted, rel=1e-12, abs=1e-13)


def test_what_is_only_shown_is_read_from_tables():
    tables, tiles = marginal_means(terms_of({FEW: 1.0, MANY: 1.0}), SPLITS, 2**20)
    assert [len(table.left) for table in tables] == [2, N]
    assert tiles is None


def test_several_tables_are_added_to_what_is_made_in_tiles():
    """One table stays beside the tiles; several would be read again for every tile."""
    one_table, _ = marginal_means(terms_of({FEW: 1.0, ALL - FEW: 1.0}), SPLITS, 2**20)
    assert len(one_table) == 1
    terms = terms_of({FEW: 1.0, ALL - FEW: 1.0, MANY: 1.0})
    no_table, tiles = marginal_means(terms, SPLITS, 2**20)
    assert no_table == []
    assert tiles is not None
