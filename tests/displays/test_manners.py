"""Displays behave as scikit-learn's do: they compute once, draw where they are told, and leave no trace."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import granite_xai as gx

DISPLAYS = {
    "effect": (gx.EffectDisplay, {"features": ["hr"], "max_curves": 10}, {}),
    "importance": (gx.ImportanceDisplay, {}, {}),
    "layered": (gx.ImportanceDisplay, {}, {"kind": "layered"}),
    "network": (gx.InteractionDisplay, {}, {}),
    "heatmap": (gx.InteractionDisplay, {}, {"kind": "heatmap"}),
    "surface": (gx.InteractionDisplay, {"pair": ("hr", "temp")}, {}),
    "tree": (gx.PartitionDisplay, {}, {}),
    "overview": (gx.OverviewDisplay, {}, {}),
}


@pytest.fixture(params=DISPLAYS, scope="module")
def made(request, bike):
    kind, options, look = DISPLAYS[request.param]
    return kind.from_estimator(bike, bike.rows, **options), look


def overlaps(figure):
    """Pairs of panels' titles and labels that lie on each other."""
    figure.canvas.draw()
    boxes = [
        (ax.get_title(loc="left"), ax.title.axes._left_title.get_window_extent())
        for ax in figure.axes
    ]
    boxes = [(text, box) for text, box in boxes if text]
    return [(a, b) for i, (a, x) in enumerate(boxes) for b, y in boxes[i + 1 :] if x.overlaps(y)]


def test_plot_returns_itself_with_its_axes_and_changes_no_setting(made):
    display, look = made
    before, figures = dict(mpl.rcParams), len(plt.get_fignums())
    assert display.plot(**look) is display
    assert dict(mpl.rcParams) == before
    assert len(plt.get_fignums()) == figures + 1
    assert display.ax_ is display.axes_.ravel()[0]
    assert display.ax_.figure is display.figure_
    assert all(ax.figure is display.figure_ for ax in display.axes_.ravel())


def test_nothing_is_cut_off_and_no_title_lies_on_another(made):
    display, look = made
    figure = display.plot(**look).figure_
    assert overlaps(figure) == []
    whole = figure.bbox
    for ax in figure.axes:
        box = ax.get_tightbbox()
        assert box.x0 >= whole.x0 - 2
        assert box.y0 >= whole.y0 - 2
        assert box.x1 <= whole.x1 + 2
        assert box.y1 <= whole.y1 + 2


def test_a_given_axes_is_used_and_no_figure_is_opened(made):
    display, look = made
    figure, (other, mine) = plt.subplots(1, 2, figsize=(16, 8))
    count = len(plt.get_fignums())
    display.plot(ax=mine, **look)
    assert len(plt.get_fignums()) == count
    assert display.ax_ is mine
    assert display.figure_ is figure
    assert not other.lines
    assert not other.texts
    assert figure._suptitle is None
    inner = [ax for ax in display.axes_.ravel() if ax is not mine]
    frame = mine.get_position()
    for ax in inner:
        box = ax.get_position()
        assert frame.x0 - 1e-6 <= box.x0 < box.x1 <= frame.x1 + 1e-6


def test_an_axes_that_is_no_subplot_works_too(made):
    display, look = made
    figure = plt.figure()
    assert display.plot(ax=figure.add_axes((0.1, 0.1, 0.8, 0.8)), **look).figure_ is figure


def test_one_axes_a_panel(bike):
    display = gx.ImportanceDisplay.from_estimator(bike, bike.rows)
    count = len(bike.partition_) + 1
    _, axes = plt.subplots(1, count)
    assert display.plot(ax=axes).axes_.tolist() == axes.tolist()
    with pytest.raises(gx.InputError, match=f"there are {count} panels"):
        display.plot(ax=axes[:1])


def test_plotting_asks_the_model_nothing(bike):
    calls = []

    def model(X):
        calls.append(len(X))
        return bike.model.predict(X)

    g = gx.Granite(model, max_depth=1).fit(bike.rows)
    displays = [
        kind.from_estimator(g, bike.rows, **options) for kind, options, _ in DISPLAYS.values()
    ]  # all model calls happen here
    asked = len(calls)
    for display in displays:
        display.plot()
        display.frame()
    assert len(calls) == asked


def test_plotting_twice_gives_the_same_picture(bike):
    display, look = gx.ImportanceDisplay.from_estimator(bike, bike.rows), {"kind": "layered"}
    pictures = []
    for _ in range(2):
        figure = display.plot(**look).figure_
        figure.canvas.draw()
        pictures.append(np.asarray(figure.canvas.buffer_rgba()).copy())
    np.testing.assert_array_equal(*pictures)


def test_displays_draw_the_rows_that_the_fit_drew(bike):
    g = gx.Granite(bike.model, max_samples=60, max_depth=1).fit(bike.rows)
    nodes = gx.PartitionDisplay.from_estimator(g, bike.rows).frame()
    assert (
        nodes["n_samples"].tolist()
        == gx.PartitionDisplay.from_estimator(g).frame()["n_samples"].tolist()
    )
    assert nodes["n_samples"][0] == 60
    fewer = gx.PartitionDisplay.from_estimator(g, bike.rows, max_samples=30).frame()
    assert fewer["n_samples"][0] == 30


@pytest.mark.parametrize("kind", [gx.EffectDisplay, gx.ImportanceDisplay, gx.InteractionDisplay])
def test_what_is_not_a_fitted_granite_is_refused(kind, bike):
    with pytest.raises(gx.InputError, match="a fitted Granite is needed"):
        kind.from_estimator(bike.model, bike.rows)
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        kind.from_estimator(gx.Granite(bike.model), bike.rows)


def test_wrong_options_are_named(bike):
    X = bike.rows
    with pytest.raises(gx.InputError, match=r"max_curves.*50"):
        gx.EffectDisplay.from_estimator(bike, X, max_curves=51)
    with pytest.raises(gx.InputError, match="P04.*features='hour'"):
        gx.EffectDisplay.from_estimator(bike, X, features=["hour"])
    with pytest.raises(gx.InputError, match="is not two features"):
        gx.InteractionDisplay.from_estimator(bike, X, pair=("hr", "hr"))
    with pytest.raises(gx.InputError, match="Did you mean 'layered'"):
        gx.ImportanceDisplay.from_estimator(bike, X).plot(kind="layerd")
    with pytest.raises(gx.InputError, match="explanations"):
        gx.EffectDisplay.from_estimator(bike, X, explanations=["pdq"])
    with pytest.raises(gx.InputError, match="P03: 'sobol-total' is no effect"):
        gx.EffectDisplay.from_estimator(bike, X, explanations=["sobol-total"])
    with pytest.raises(gx.InputError, match="no common scale: they measure local and sensitivity"):
        gx.ImportanceDisplay.from_estimator(bike, X, explanations=["ice", "sobol-total"])


def test_figures_call_regions_by_their_names(toy):
    g = gx.Granite(toy.model, max_depth=1).fit(toy.X)
    g.partition_.rename({0: "left half"})
    tree = gx.PartitionDisplay.from_estimator(g).plot()
    assert any("left half" in text.get_text() for text in tree.ax_.texts)
    effect = gx.EffectDisplay.from_estimator(g, toy.X, max_features=1).plot()
    titles = [ax.get_title(loc="left") for ax in effect.axes_[0]]
    assert titles[1].endswith("left half")
    assert "left half" not in titles[2]
    assert titles[2].endswith("\nx2 = 1")
    page = g.report(toy.X).html()
    for place in (
        'class="long"><bdi>left half',
        ">left half</text>",
        "<b><bdi>left half</bdi></b>",
    ):
        assert place in page  # the tree, a chart, the card of the region
