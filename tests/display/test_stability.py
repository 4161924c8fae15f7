"""StabilityDisplay: searches where nothing is known yet, and reads what is."""

from __future__ import annotations

import granite_xai as gx


def test_a_fit_without_stability_is_searched_on_halves(toy):
    g = gx.Granite(toy.model, max_depth=1).fit(toy.X)
    display = gx.StabilityDisplay.from_estimator(g, n_resamples=2)
    assert display.stability.searches == 4
    assert gx.StabilityDisplay.from_estimator(g, n_resamples=5).stability is display.stability
