"""InteractionDisplay: influences of features and pairs, and the surface of a pair."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx


def of_region(lines, region):
    return lines[lines["region"].isna()] if region is None else lines[lines["region"] == region]


def test_edges_and_discs_are_those_of_the_frame(bike):
    display = gx.InteractionDisplay.from_estimator(bike, bike.rows).plot()
    pairs = display.frame()
    top = pairs.query("first != second")["value"].abs().max()
    for ax, region in zip(display.axes_, [None, *range(len(bike.partition_))], strict=True):
        here = of_region(pairs, region)
        edges = here[here["first"] != here["second"]]
        np.testing.assert_allclose(
            [line.get_linewidth() for line in ax.lines], 9 * edges["value"].abs() / top
        )
        discs = here[here["first"] == here["second"]]
        sizes = ax.collections[0].get_sizes()
        np.testing.assert_allclose(sizes / sizes.sum(), discs["value"] / discs["value"].sum())


def test_a_product_interacts_by_the_size_of_the_product():
    """F = a b on independent signs: nothing alone, everything together; inside a sign nothing is left."""
    X = np.array([[a, b] for a in (-1.0, 1.0) for b in (-1.0, 1.0)] * 10)
    g = gx.Granite(lambda X: X[:, 0] * X[:, 1], min_samples_leaf=5).fit(X)
    display = gx.InteractionDisplay.from_estimator(g, X)
    pairs = display.frame()
    together = pairs[pairs["first"] != pairs["second"]]
    assert together[["first", "second"]].drop_duplicates().to_numpy().tolist() == [["x0", "x1"]]
    np.testing.assert_allclose(together["value"], [1.0, 0.0, 0.0], atol=1e-12)
    surface = gx.InteractionDisplay.from_estimator(g, X, pair=("x0", "x1")).plot()
    cells = surface.frame()
    everywhere = cells[cells["region"].isna()]
    np.testing.assert_allclose(everywhere["value"], everywhere["x"] * everywhere["y"], atol=1e-12)
    np.testing.assert_allclose(cells.dropna(subset="region")["value"], 0.0, atol=1e-12)
    mesh = surface.axes_[0].collections[0]
    np.testing.assert_allclose(np.ravel(mesh.get_array()), everywhere["value"])


def test_the_strongest_features_are_shown_in_their_order(bike):
    display = gx.InteractionDisplay.from_estimator(bike, bike.rows, max_features=2)
    everyone = gx.InteractionDisplay.from_estimator(bike, bike.rows, interaction="full").frame()
    on_all_rows = everyone[everyone["region"].isna()]
    assert len(display.names) == 2
    assert list(display.names) == [name for name in bike.rows if name in display.names]
    assert set(display.names) <= set(on_all_rows["first"])


def test_texts_speak_of_features(bike):
    display = gx.InteractionDisplay.from_estimator(bike, bike.rows).plot()
    legend = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert display.headline_.startswith("What features do alone (discs) and only together (lines)")
    assert legend[0].startswith("feature alone: up to ")
    assert legend[1].startswith("pair together: up to ")
    with pytest.raises(gx.InputError, match="is not two features"):
        gx.InteractionDisplay.from_estimator(bike, bike.rows, pair=("hr", "hr"))
