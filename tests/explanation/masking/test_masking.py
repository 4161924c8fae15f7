"""Maskings: how many rows their means rest on."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from granite_xai.evaluations.row_bins import Bins
from granite_xai.explanation.masking import MASKINGS
from granite_xai.explanation.masking.masking import smallest_cells

import granite_xai as gx

FIRST = frozenset({0})
SECOND = frozenset({1})


def test_the_smallest_of_all_cells_counts_at_every_row():
    conditional = gx.Conditional()
    evaluations = SimpleNamespace(
        n_rows=5,
        densities={},
        bins={
            (conditional, FIRST): Bins.of(np.array([0, 0, 0, 1, 1])),
            (conditional, SECOND): Bins.of(np.array([0, 1, 1, 1, 1])),
        },
    )
    read = {gx.Marginal(): {FIRST: 1.0}, conditional: {FIRST: 1.0, SECOND: -1.0}}
    assert smallest_cells(read, evaluations).tolist() == [1, 3, 3, 2, 2]
    assert smallest_cells({gx.Marginal(): {FIRST: 1.0}}, evaluations).tolist() == [5] * 5


def test_maskings_are_found_by_their_keys():
    assert {name: type(masking).__name__ for name, masking in MASKINGS.items()} == {
        "marginal": "Marginal",
        "conditional": "Conditional",
        "baseline": "Baseline",
        "accumulated": "Accumulated",
    }
