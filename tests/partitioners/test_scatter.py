"""Scatter of vectors in regions, against plain loops."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from granite_xai.engine.splits import Splits
from granite_xai.evaluations.vectors import Vectors
from granite_xai.partitioners.scatter import Scatter
from strategies import examples


@given(data=st.data())
@examples(60)
def test_N05_scatter_is_the_mean_squared_distance_to_the_mean_vector(data):
    """Of both sides of every split, summed over all vectors; 0 on an empty side; an offset takes no digits."""
    n, K = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 3))
    offset = data.draw(st.sampled_from([0.0, 1e7]))
    generator = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    inside, weights = generator.random((K, n)) < 0.6, generator.choice([0.5, 1.0, 2.0], size=n)
    several = [generator.integers(-8, 9, size=(n, G)) / 4 for G in (1, 3)]
    evaluations = SimpleNamespace(vectors=[Vectors(values + offset) for values in several])
    found = Scatter().regional(evaluations, Splits.of(inside, weights))
    for k in range(K):
        for side, rows in enumerate((inside[k], ~inside[k])):
            wanted = 0.0
            for values in several:
                if rows.any():
                    mean = np.average(values[rows], axis=0, weights=weights[rows])
                    wanted += np.average(
                        ((values[rows] - mean) ** 2).sum(axis=1), weights=weights[rows]
                    )
            assert found[k, side] == pytest.approx(wanted, abs=1e-6)


def test_a_cut_along_the_feature_of_a_curve_shortens_the_curve():
    """Each side reads the points on its side of the cut, and curves are centred again on these."""
    generator = np.random.default_rng(0)
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    grid = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    curves = generator.integers(-8, 9, size=(5, 5)) / 4
    vectors = Vectors(curves, column=0, grid=grid, column_values=values)
    inside = (values <= 1.0)[None]
    splits = replace(Splits.of(inside, np.ones(5)), columns=np.array([0]))
    left, right = Scatter().regional(SimpleNamespace(vectors=[vectors]), splits)[0]

    def scatter_by_hand(rows, points):
        part = curves[np.ix_(rows, points)]
        part = part - part.mean(axis=1, keepdims=True)
        return np.mean(((part - part.mean(axis=0)) ** 2).sum(axis=1))

    assert left == pytest.approx(scatter_by_hand([0, 1], [0, 1]))
    assert right == pytest.approx(scatter_by_hand([2, 3, 4], [2, 3, 4]))
