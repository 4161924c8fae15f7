"""ComparisonDisplay: curves of every case in the same regions."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import granite_xai as gx
from results.two_models import MODELS, RULES, X


@pytest.fixture(scope="module")
def comparison():
    return gx.compare(MODELS, X, partition=RULES)


def test_every_case_has_a_line_in_every_region(comparison):
    display = gx.ComparisonDisplay.from_comparison(comparison, features=["a"]).plot()
    lines = display.frame()
    assert set(lines["case"]) == {"old", "new"}
    assert set(lines["region"]) == {0, 1}
    for region, panel in enumerate(display.axes_):
        drawn = {line.get_label(): line for line in panel.lines}
        for case in ("old", "new"):
            line = drawn[f"_line {case}"]
            curve = lines[(lines["region"] == region) & (lines["case"] == case)]
            np.testing.assert_allclose(line.get_xdata(), curve["x"])
            np.testing.assert_allclose(line.get_ydata(), curve["mean"])
    plt.close(display.figure_)


def test_the_strongest_features_are_drawn_if_none_are_named(comparison):
    display = gx.ComparisonDisplay.from_comparison(comparison, max_features=2)
    assert list(display.positions) == comparison.columns[:2]
