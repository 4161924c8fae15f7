"""Changes of predictions across intervals, whole and cut by regions, against loops."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.evaluations.ale_predictions import AlePredictions, intervals_of

from granite_xai.evaluations import ale_predictions as module

CHANCE = np.random.default_rng(6)
# Points 0 to 4, of which 0, 2 and 4 are edges of two intervals. A row on a point has twice its number.
EDGES = np.array([0, 2, 4])
PLACES = np.array([0, 1, 4, 5, 8, -1, 7, 3])
N = len(PLACES)
VALUES = CHANCE.normal(size=(N, 5))
ALONG = AlePredictions(edges=EDGES, places=PLACES, starts=5 * np.arange(N), values=VALUES.ravel())
WEIGHTS = CHANCE.uniform(0.5, 2.0, (N, 1))


def test_a_place_belongs_to_the_interval_that_ends_at_or_behind_it():
    assert intervals_of(PLACES[[0, 1, 2, 3, 4]], EDGES).tolist() == [1, 1, 1, 2, 2]
    assert ALONG.intervals.tolist() == [1, 1, 1, 2, 2, 0, 2, 1]


def by_definition(inside, row_factor, mean_factor):
    """Intervals end where the row's side ends; a jump between the sides belongs to neither."""
    changes, counted = np.zeros(N), np.zeros(N, dtype=int)
    for n in range(N):
        if PLACES[n] < 0:
            continue
        side = [m for m in range(N) if PLACES[m] >= 0 and inside[m] == inside[n]]
        low = min((PLACES[m] + 1) // 2 for m in side)  # the first point within the side's range
        high = max(PLACES[m] // 2 for m in side)
        interval = 1 if PLACES[n] <= 4 else 2
        if low > EDGES[interval - 1] or high < EDGES[interval]:  # cut, maybe moved to a neighbour
            first = 1 if low < 2 else 2
            last = 2 if high > 2 else 1
            interval = min(max(interval, first), last)
        counted[n] = interval
        start, end = max(low, EDGES[interval - 1]), min(high, EDGES[interval])
        if start < end:
            changes[n] = VALUES[n, end] - VALUES[n, start]
    result = np.zeros(N)
    for n in range(N):
        if PLACES[n] < 0:
            continue
        alike = [
            m
            for m in range(N)
            if PLACES[m] >= 0 and inside[m] == inside[n] and counted[m] == counted[n]
        ]
        mean = np.average(changes[alike], weights=WEIGHTS[alike, 0])
        result[n] = row_factor * changes[n] + mean_factor * mean
    return result


@pytest.mark.parametrize("batch", [1, 2**16])
def test_changes_are_those_of_each_rows_own_side(batch, monkeypatch):
    monkeypatch.setattr(module, "BATCH_CELLS", batch)
    members = CHANCE.random((N, 12)) < 0.5
    members[:, 0] = True
    members[:, 1] = PLACES <= 3  # cuts the first interval
    for factors in ((1.0, 0.0), (1.0, -1.0)):
        row_factor, mean_factor = factors
        found = ALONG.combined_changes(
            members, WEIGHTS, row_factor=row_factor, mean_factor=mean_factor
        )
        for k in range(members.shape[1]):
            np.testing.assert_allclose(
                found[:, k], by_definition(members[:, k], *factors), atol=1e-13, err_msg=str(k)
            )


def test_without_intervals_nothing_changes():
    flat = AlePredictions(
        edges=np.array([0]), places=PLACES, starts=ALONG.starts, values=ALONG.values
    )
    assert not flat.combined_changes(
        np.ones((N, 2), dtype=bool), WEIGHTS, row_factor=1.0, mean_factor=-1.0
    ).any()
    assert not flat.intervals.any()


def test_some_rows_are_read_at_their_own_places():
    rows = np.array([4, 0, 6])
    part = ALONG.restrict(rows)
    whole = np.ones((3, 1), dtype=bool)
    wanted = [VALUES[4, 4] - VALUES[4, 2], VALUES[0, 2] - VALUES[0, 0], VALUES[6, 4] - VALUES[6, 2]]
    changes = part.combined_changes(whole, WEIGHTS[rows], row_factor=1.0, mean_factor=0.0)
    np.testing.assert_allclose(changes[:, 0], wanted)
