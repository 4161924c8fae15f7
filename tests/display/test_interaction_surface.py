"""Surfaces of pairs, against plain means of predictions."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.display.axis import ShownLevels
from granite_xai.display.interaction_surface import Surface, cell_edges, cell_mesh


def shown_labels(*places):
    return ShownLevels(codes=None, x=np.array(places), texts=[], grid=None)


def test_a_surface_is_the_joint_effect_without_those_of_both_features():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(40, 3)).astype(float)

    def model(X):
        return X[:, 0] * X[:, 1] ** 2 + X[:, 2] * X[:, 0] + np.exp(X[:, 1])

    g = gx.Granite(model, max_depth=0).fit(X)
    cells = gx.InteractionDisplay.from_estimator(g, X, pair=("x0", "x1"), max_samples=40).frame()

    def mean_with(**values):
        changed = X.copy()
        for name, value in values.items():
            changed[:, int(name[1])] = value
        return model(changed).mean()

    for cell in cells.to_dict("records"):
        joint = mean_with(x0=cell["x"], x1=cell["y"])
        expected = joint - mean_with(x0=cell["x"]) - mean_with(x1=cell["y"]) + model(X).mean()
        assert cell["value"] == pytest.approx(expected, abs=1e-10)
    assert len(cells) == 9


def test_cells_end_half_way_to_their_neighbours():
    assert cell_edges(np.array([0.0, 1.0, 3.0])).tolist() == [-0.5, 0.5, 2.0, 4.0]


def test_cells_of_labels_do_not_reach_over_a_label_that_is_not_there():
    across = shown_labels(0.0, 2.0)
    up = shown_labels(1.0)
    surface = Surface(across, up, np.array([[3.0, 4.0]]))
    mesh = cell_mesh(surface, across_labelled=True, up_labelled=True)
    assert mesh.x.tolist() == [-0.5, 0.5, 1.5, 2.5]
    assert mesh.y.tolist() == [0.5, 1.5]
    np.testing.assert_array_equal(mesh.values, [[3.0, np.nan, 4.0]])


def test_a_single_number_has_a_cell():
    assert cell_edges(np.array([4.0])).tolist() == [3.5, 4.5]
