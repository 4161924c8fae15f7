"""ImportanceDisplay: bars are those of the frame and of the explanation."""

from __future__ import annotations

import numpy as np

import granite_xai as gx


def of_region(lines, region):
    return lines[lines["region"].isna()] if region is None else lines[lines["region"] == region]


def test_bars_are_those_of_the_frame_and_of_the_explanation(bike):
    g = gx.Granite(bike.model, "sobol", max_depth=1).fit(bike.rows)
    display = gx.ImportanceDisplay.from_estimator(g, bike.rows).plot()
    bars = display.frame()
    values = g.explain(bike.rows).frame()
    for ax, region in zip(display.axes_, [None, 0, 1], strict=True):
        here = of_region(bars, region)
        np.testing.assert_allclose([bar.get_width() for bar in ax.patches], here["value"])
        if region is not None:
            both = here.merge(values.query("region == @region"), on=["set", "explanation"])
            np.testing.assert_allclose(both["value_x"], both["value_y"], atol=1e-9)
    first = bars[bars["region"].isna()].query("explanation == 'sobol-total'")
    assert first["value"].is_monotonic_decreasing


def test_layers_start_at_zero_and_shorter_ones_lie_before_longer_ones(bike):
    g = gx.Granite(bike.model, "sobol", max_depth=2).fit(bike.rows)
    display = gx.ImportanceDisplay.from_estimator(g, bike.rows).plot(kind="layered")
    assert len(display.axes_) == 2
    bars = display.axes_[1].patches
    assert {bar.get_x() for bar in bars} == {0.0}
    regional = display.frame().dropna(subset="region")
    np.testing.assert_allclose(sorted(bar.get_width() for bar in bars), sorted(regional["value"]))
    by_line = {}
    for bar in bars:
        by_line.setdefault(round(bar.get_y(), 6), []).append(
            (bar.get_zorder(), abs(bar.get_width()))
        )
    for line in by_line.values():
        sizes = [size for _, size in sorted(line)]
        assert sizes == sorted(sizes, reverse=True)
