"""InteractionDisplay: influences of features and pairs, and the surface of a pair."""

from __future__ import annotations

import numpy as np
import pandas as pd
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


def test_negative_influences_have_a_colour_and_a_word():
    """Of two copies of a feature each knows what the other does: together they add less."""
    from matplotlib.colors import to_hex

    x = np.random.default_rng(0).normal(size=(80, 2))
    X = np.column_stack([x[:, 0], x[:, 0] + 0.1 * x[:, 1], x[:, 1]])
    y = X[:, 0] + 0.2 * x[:, 1]
    g = gx.Granite(lambda X: (X[:, 0] + X[:, 1]) / 2, "pfi-risk", max_depth=0).fit(X, y)
    display = gx.InteractionDisplay.from_estimator(g, X, y).plot()
    pairs = display.frame().query("first != second")
    assert (pairs["value"] < 0).any()
    legend = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert legend[-1] == "negative: they overlap"
    pairs = pairs[pairs["region"].isna()]
    lines = display.axes_[0].lines
    of_sign = [
        {
            to_hex(line.get_color())
            for line, value in zip(lines, pairs["value"], strict=True)
            if (value < 0) == is_negative
        }
        for is_negative in (True, False)
    ]
    assert of_sign[0].isdisjoint(of_sign[1])


def test_a_heat_map_shows_pairs_below_the_diagonal_and_their_numbers(bike):
    display = gx.InteractionDisplay.from_estimator(
        bike, bike.rows, features=["hr", "temp", "yr"]
    ).plot(kind="heatmap")
    drawn = display.axes_[0].images[0].get_array()
    pairs = display.frame()
    everywhere = pairs[pairs["region"].isna()].set_index(["first", "second"])["value"]
    assert drawn[1, 0] == pytest.approx(everywhere["hr", "temp"])
    assert drawn[0, 0] == pytest.approx(everywhere["hr", "hr"])
    assert np.isnan(drawn.filled(np.nan)[0, 1])
    texts = {tuple(text.get_position()): text.get_text() for text in display.axes_[0].texts}
    assert set(texts) == {(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)}
    assert float(texts[0, 0].rstrip("k")) == pytest.approx(everywhere["hr", "hr"], rel=0.06)


def test_features_stand_on_a_circle_from_the_top_clockwise(bike):
    ax = gx.InteractionDisplay.from_estimator(bike, bike.rows).plot().axes_[0]
    places = ax.collections[0].get_offsets()
    np.testing.assert_allclose(places, [[0, 1], [1, 0], [0, -1], [-1, 0]], atol=1e-12)
    aligned = [(text.get_ha(), text.get_va()) for text in ax.texts]
    assert aligned == [
        ("center", "bottom"),
        ("left", "center"),
        ("center", "top"),
        ("right", "center"),
    ]


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


def test_cells_of_names_do_not_reach_over_a_name_that_a_region_lacks():
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"kind": draw.choice(list("abc"), 120), "x": draw.normal(size=120)})

    def model(X):
        return X["x"].to_numpy() * np.where(X["kind"] == "b", 5.0, -1.0)

    g = gx.Granite(model, max_depth=1).fit(X)
    display = gx.InteractionDisplay.from_estimator(g, X, pair=("kind", "x"), points=4).plot()
    without_b = [
        ax.collections[0].get_array()
        for ax, scope in zip(display.axes_, display.scopes, strict=True)
        if scope.region is not None and not (X["kind"].iloc[scope.rows] == "b").any()
    ]
    for cells in without_b:
        shown = np.ma.filled(np.reshape(cells, (-1, 3)), np.nan)
        assert np.isnan(shown[:, 1]).all()
        assert np.isfinite(shown[:, [0, 2]]).all()
    assert without_b
