"""RowDisplay: each curve on its own scale, or all on one."""

from __future__ import annotations

import numpy as np
import pandas as pd

import granite_xai as gx


def test_a_small_effect_fills_its_panel_unless_one_scale_is_asked_for():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 2)), columns=["large", "slight"])
    g = gx.Granite(lambda X: (100 * X["large"] + X["slight"]).to_numpy()).fit(X)
    display = gx.RowDisplay.from_estimator(g, X.iloc[[0]])
    heights = [np.ptp(panel.get_ylim()) for panel in display.plot().axes_[1:]]
    assert heights[0] > 20 * heights[1]
    limits = {panel.get_ylim() for panel in display.plot(share_scale=True).axes_[1:]}
    assert len(limits) == 1
