"""What all displays share: a picture for notebooks, and the rows that they show."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.document import figure


@pytest.fixture
def display(grown):
    return gx.PartitionDisplay.from_estimator(grown)


def test_a_notebook_shows_a_picture_with_a_text_for_those_who_do_not_see_it(display):
    plt.close(display.plot().figure_)
    html = display._repr_html_()
    assert html.startswith('<img alt="ICE and PDP: 2 regions remove')
    assert "data:image/png;base64,iVBOR" in html


def test_what_was_not_drawn_yet_is_drawn_for_the_notebook(display):
    assert display.figure_ is None
    display._repr_html_()
    assert display.figure_ is not None


def test_a_figure_that_another_backend_shows_is_not_shown_twice(display):
    assert display.plot()._repr_html_() == figure.SHOWN_ALREADY
    assert plt.fignum_exists(display.figure_.number)


def test_names_in_the_text_of_a_picture_cannot_act(display):
    display.plot()
    plt.close(display.figure_)
    display.headline_ = '"><script>alert(1)</script>'
    assert "<script>" not in display._repr_html_()


def test_a_display_of_the_table_of_the_fit_shows_the_rows_of_the_search():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(900, 3)), columns=list("abc"))
    g = gx.Granite(lambda X: (X["a"] * np.sign(X["b"])).to_numpy(), max_depth=1).fit(X)
    assert sum(region.n_samples for region in g.partition_) < len(X)
    panels = gx.EffectDisplay.from_estimator(g, X, max_features=1).panels[0]
    shown = [len(panel.scope.rows) for panel in panels[1:]]
    assert shown == [region.n_samples for region in g.partition_]


def test_lines_are_light_on_a_dark_style_and_no_setting_stays(grown, toy):
    from matplotlib.colors import to_rgb

    with plt.style.context("dark_background"):
        before = dict(plt.rcParams)
        display = gx.EffectDisplay.from_estimator(grown, toy.X, max_features=1).plot()
        tree = gx.PartitionDisplay.from_estimator(grown).plot()
        assert dict(plt.rcParams) == before
    thick = [line for line in display.axes_[0, 1].lines if line.get_label() == "_line pdp"]
    assert sum(to_rgb(thick[0].get_color())) > 1.2
    assert all(sum(to_rgb(text.get_color())) > 1.2 for text in tree.ax_.texts)


def test_areas_of_regions_beyond_the_palette_have_a_pattern():
    palette = figure.Palette.of(plt.figure().add_subplot())
    first, again = palette.area(1), palette.area(1 + len(palette.regions))
    assert first["facecolor"] == again["facecolor"]
    assert (first["hatch"], again["hatch"]) == ("", "///")
    assert palette.region(len(palette.regions)) == palette.region(None) == palette.everyone
