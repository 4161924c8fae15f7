"""What is drawn is what the frame holds, and what the estimator explains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.base.formats import share


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
    from granite_xai.fitting.fitted_view import fitted_view

    lines = gx.EffectDisplay.from_estimator(
        bike, bike.rows, features=["hr"], explanations=["ale"]
    ).frame()
    line = lines[lines["region"].isna() & (lines["explanation"] == "ale")]
    fitted = fitted_view(bike).result.table.native
    expected = ale(bike.model, fitted, "hr")
    np.testing.assert_allclose(line["x"], expected.values)
    np.testing.assert_allclose(line["value"], expected.effects, atol=1e-9)


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


def test_the_tree_is_that_of_the_partition(bike):
    display = gx.PartitionDisplay.from_estimator(bike).plot()
    nodes = display.frame()
    leaves = nodes.dropna(subset="region")
    assert leaves["rule"].tolist() == [str(rule) for rule in bike.partition_.rules]
    assert leaves["n_samples"].tolist() == [region.n_samples for region in bike.partition_]
    assert nodes["after"][0] == pytest.approx(bike.remaining_)
    texts = [text.get_text() for text in display.ax_.texts]
    for box in display.boxes[1:]:
        assert box.words in [text.replace("\n", " ") for text in texts]
    assert sum(text.startswith("Region ") for text in texts) == len(bike.partition_)


@pytest.mark.parametrize("question", ["ice-pdp", "sobol", "pfi-risk"])
def test_a_tree_measured_on_the_fitting_rows_is_the_fitted_one(bike, question):
    g = gx.Granite(bike.model, question, max_depth=2).fit(bike.rows, bike.y)
    fitted, again = (
        gx.PartitionDisplay.from_estimator(g, *data).frame() for data in ((), (bike.rows, bike.y))
    )
    for column in ("n_samples", "fraction", "disagreement", "after"):
        np.testing.assert_allclose(fitted[column], again[column], rtol=1e-9)


def test_figures_call_regions_by_their_names(toy):
    g = gx.Granite(toy.model, max_depth=1).fit(toy.X)
    g.partition_.rename({0: "left half"})
    tree = gx.PartitionDisplay.from_estimator(g).plot()
    assert any("left half" in text.get_text() for text in tree.ax_.texts)
    effect = gx.EffectDisplay.from_estimator(g, toy.X, max_features=1).plot()
    titles = [ax.get_title(loc="left") for ax in effect.axes_[0]]
    assert titles[1].endswith("left half")
    assert titles[2].endswith("x2 = 1") or "x2" in titles[2]
    report = g.report(toy.X)
    assert report.html().count("left half") > 3
