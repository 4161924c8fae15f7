"""Baselines in the centre of a region."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from engine.known_rows import ALL, FEW, KNOWN, MANY, SIDES, N, hybrid
from granite_xai.engine.centres import AgainstCentres, central_rows
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.coordinates import Coordinates
from strategies import examples

SPLITS = Splits.of(SIDES, KNOWN.weights)


def centre(n, k):
    """The central row of the side of split k that holds row n."""
    members = SIDES[k] == SIDES[k, n]
    weights = np.where(members, KNOWN.weights, 0.0)
    return int(central_rows(KNOWN.coordinates, weights[None])[0])


def test_rows_are_compared_with_the_centre_of_their_own_side():
    terms = {frozenset(): -1.0, FEW: 0.5, ALL - MANY: 2.0, ALL: 0.25}
    found = AgainstCentres(KNOWN, SPLITS).combined(terms).array(SPLITS)
    for k in range(len(SIDES)):
        for n in range(N):
            wanted = sum(a * hybrid(visible, n, centre(n, k)) for visible, a in terms.items())
            assert found[n, k] == pytest.approx(wanted, rel=1e-12)


def test_a_function_is_that_of_the_one_prediction():
    found = AgainstCentres(KNOWN, SPLITS).averaged(FEW, lambda values, rows: values**2)
    wanted = [[hybrid(FEW, n, centre(n, k)) ** 2 for k in range(len(SIDES))] for n in range(N)]
    np.testing.assert_allclose(found.array(SPLITS), wanted, rtol=1e-12)


def test_under_lines_of_weights_the_baselines_stay():
    lines = np.random.default_rng(0).exponential(size=(3, N))
    moved = AgainstCentres(KNOWN, Splits.weighted(lines, KNOWN.weights))
    still = AgainstCentres(KNOWN, Splits.whole(KNOWN.weights))
    assert moved.left_centres.tolist() == still.left_centres.tolist() * 3


@given(data=st.data())
@examples(80)
def test_the_central_row_is_closest_to_lower_medians_and_modes(data):
    """Ranks, levels and missing values with weights, one region at a time."""
    n, K = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 3))
    ranks = np.array(
        data.draw(
            st.lists(
                st.lists(st.sampled_from([0.2, 0.4, 0.6, 1.0, np.nan]), min_size=n, max_size=n),
                max_size=2,
            )
        )
    )
    levels = np.array(
        data.draw(st.lists(st.lists(st.integers(-1, 2), min_size=n, max_size=n), max_size=2)),
        dtype=np.intp,
    )
    weights = np.array(
        data.draw(
            st.lists(
                st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=n, max_size=n),
                min_size=K,
                max_size=K,
            )
        )
    )
    found = central_rows(Coordinates(ranks.reshape(-1, n), levels.reshape(-1, n)), weights)
    for k, line in enumerate(weights):
        rows = [m for m in range(n) if line[m] > 0]
        if not rows:
            continue

        def heaviest(cells, rows=rows, line=line):
            totals = {
                cell: sum(line[m] for m in rows if cells[m] == cell)
                for cell in cells[rows]
                if cell >= 0
            }
            return min(
                (cell for cell in totals if totals[cell] == max(totals.values())), default=-1
            )

        def median(cells, rows=rows, line=line):
            present = [m for m in rows if cells[m] == cells[m]]
            half = sum(line[m] for m in present) / 2
            return min(
                (
                    cells[m]
                    for m in present
                    if sum(line[i] for i in present if cells[i] <= cells[m]) >= half
                ),
                default=np.nan,
            )

        def distance(m):
            total = float(sum(cells[m] != heaviest(cells) for cells in levels.reshape(-1, n)))
            for cells in ranks.reshape(-1, n):
                middle = median(cells)
                if np.isnan(cells[m]) != np.isnan(middle):
                    total += 1.0
                elif not np.isnan(middle):
                    total += abs(cells[m] - middle)
            return round(total, 9)

        assert found[k] == min(rows, key=lambda m: (distance(m), m))
