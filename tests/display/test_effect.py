"""EffectDisplay: what is drawn is what the frame holds, and what the estimator explains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import granite_xai as gx
from granite_xai.base.numbers import share


def of_region(lines, region):
    return lines[lines["region"].isna()] if region is None else lines[lines["region"] == region]


def drawn_lines(ax, label):
    return [(line.get_xdata(), line.get_ydata()) for line in ax.lines if line.get_label() == label]


def test_thin_lines_and_the_thick_one_are_those_of_the_frame(bike):
    display = gx.EffectDisplay.from_estimator(bike, bike.rows, features=["hr"]).plot()
    lines = display.frame()
    for ax, region in zip(display.axes_[0], [None, *range(len(bike.partition_))], strict=True):
        here = of_region(lines, region)
        curves = here[here["shape"] == "curve"]
        drawn = drawn_lines(ax, "_curve ice")
        assert 1 < len(drawn) == curves["curve"].nunique() <= 50
        for (x, y), (_, one) in zip(drawn, curves.groupby("curve"), strict=True):
            np.testing.assert_array_equal(x, one["x"])
            np.testing.assert_array_equal(y, one["value"])
        ((x, y),) = drawn_lines(ax, "_line pdp")
        pdp = here[here["shape"] == "line"]
        np.testing.assert_array_equal(x, pdp["x"])
        np.testing.assert_array_equal(y, pdp["value"])
        bars = here[here["shape"] == "bars"]
        np.testing.assert_allclose([bar.get_x() for bar in ax.patches], bars["x"])
        np.testing.assert_allclose(bars["value"].sum(), 1.0)


def test_the_effects_of_the_rows_lie_on_the_lines(toy):
    """A curve passes through the full effect of its row, the thick line through every pure effect."""
    exact = gx.Resources(max_grid=None)
    grown = gx.Granite(toy.model, "ice-pdp", resources=exact).fit(toy.X)
    lines = gx.EffectDisplay.from_estimator(grown, toy.X, features=["x1"], points=1000).frame()
    values = grown.explain(toy.X).frame().query("set == 'x1'")
    for region in range(len(grown.partition_)):
        here, pure = (
            of_region(lines, region),
            values.query("explanation == 'pdp' and region == @region"),
        )
        line = here[here["explanation"] == "pdp"]
        own = toy.X["x1"].to_numpy()[pure["row"].to_numpy(int)]
        np.testing.assert_allclose(
            np.interp(own, line["x"], line["value"]), pure["value"], atol=1e-12
        )
        full = values.query("explanation == 'ice' and region == @region")["value"].to_numpy()
        curves = [curve for _, curve in here[here["shape"] == "curve"].groupby("curve")]
        for curve in curves[:5]:
            places = np.interp(own, curve["x"], curve["value"])
            assert np.isclose(places, full, atol=1e-12).any()


def test_sixteen_values_make_no_steps(toy, grown):
    """Where a few values stand for a column, the thick line is the partial dependence all the same."""
    assert len(grown.diagnostics_["plan"]["values"]) > 0
    assert max(grown.diagnostics_["plan"]["values"].values()) == 16
    lines = gx.EffectDisplay.from_estimator(grown, toy.X, features=["x1"]).frame()
    regions = grown.apply(toy.X)
    for region in range(len(grown.partition_)):
        inside = toy.X[regions == region]
        mean = np.mean(toy.model(inside))
        line = of_region(lines, region).query("explanation == 'pdp'")
        assert len(line) > 16
        expected = [np.mean(toy.model(inside.assign(x1=x))) - mean for x in line["x"]]
        np.testing.assert_allclose(line["value"], expected, atol=1e-12)


def test_curves_of_rows_that_do_not_interact_lie_on_each_other(toy, grown):
    """Each is counted from its own mean over the values that stand for the column."""
    lines = gx.EffectDisplay.from_estimator(grown, toy.X, features=["x1"]).frame()
    for region in range(len(grown.partition_)):
        here = of_region(lines, region)
        curves = [curve["value"] for _, curve in here[here["shape"] == "curve"].groupby("curve")]
        assert len(curves) > 10
        np.testing.assert_allclose(np.ptp(np.array(curves), axis=0), 0.0, atol=1e-9)


def test_disagreement_in_the_corner_vanishes_where_the_explanations_agree(toy, grown):
    display = gx.EffectDisplay.from_estimator(grown, toy.X, features=["x1"])
    corner = display.frame().query("explanation == 'disagreement'")["value"].to_numpy()
    np.testing.assert_allclose(corner, [1.0, 0.0, 0.0], atol=1e-12)


def test_a_share_of_next_to_nothing_is_not_drawn_to_the_last_percent(toy, grown):
    """A column on which explanations hardly disagree on all rows may do so a thousand times as much in a region."""
    display = gx.EffectDisplay.from_estimator(grown, toy.X, features=["x1"])
    (shown,) = display.panels
    display.panels = (
        tuple(
            replace(panel, disagreement=share)
            for panel, share in zip(shown, (1.0, 0.25, 337.29), strict=True)
        ),
    )
    everyone, *inside = display.plot().axes_[0]
    assert not everyone.texts
    texts = [ax.texts[-1].get_text() for ax in inside]
    assert texts == [
        f"heterogeneity {share(0.25)} of overall",
        f"heterogeneity over {share(10)} of overall",
    ]
    assert 337.29 in display.frame()["value"].to_numpy()


def test_an_ale_line_is_the_curve_of_accumulated_effects(bike):
    from accumulated import ale
    from granite_xai.fitting.fitted import fitted_view

    lines = gx.EffectDisplay.from_estimator(
        bike, bike.rows, features=["hr"], explanations=["ale"]
    ).frame()
    line = lines[lines["region"].isna() & (lines["explanation"] == "ale")]
    fitted = fitted_view(bike).result.table.native
    expected = ale(bike.model, fitted, "hr")
    np.testing.assert_allclose(line["x"], expected.values)
    np.testing.assert_allclose(line["value"], expected.effects, atol=1e-9)


def test_the_mean_of_points_is_taken_at_each_of_few_values(bike):
    """Averaged over tenths, a peak at one hour would seem to be lower than in the PDP."""
    lines = gx.EffectDisplay.from_estimator(
        bike, bike.rows, features=["hr"], explanations="shap"
    ).frame()
    everywhere = lines[lines["region"].isna()]
    points, line = (everywhere[everywhere["shape"] == shape] for shape in ("points", "line"))
    means = points.groupby("x")["value"].mean()
    np.testing.assert_allclose(line["x"], means.index)
    np.testing.assert_allclose(line["value"], means, atol=1e-12)
