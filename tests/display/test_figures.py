"""What all displays share: a picture for notebooks, and the rows that they show."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.display import figures


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
    assert display.plot()._repr_html_() == figures.SHOWN_ALREADY
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


def test_panels_fill_lines_as_evenly_as_can_be():
    assert (figures.grid_of(3), figures.grid_of(9)) == ((1, 3), (2, 5))
