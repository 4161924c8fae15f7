"""EffectDisplay: what is drawn is what the frame holds, and what the estimator explains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

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
    from granite_xai.fitting.fit_result import fitted_view

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


def test_ale_is_one_line_and_local_changes_are_one_a_row(bike):
    def of(name):
        display = gx.EffectDisplay.from_estimator(
            bike, bike.rows, features=["temp"], explanations=name, max_curves=5
        )
        lines = display.frame()
        return lines[lines["region"].isna() & (lines["explanation"] == name)]

    assert of("ale")["shape"].unique().tolist() == ["line"]
    changes = of("local-change")
    assert 0 < changes["curve"].nunique() <= 5
    assert (changes.groupby("curve").size() == 2).all()


def test_the_pdp_is_the_mean_prediction_at_each_value_around_the_mean(bike):
    lines = gx.EffectDisplay.from_estimator(bike, bike.rows, features=["yr"]).frame()
    line = lines[lines["region"].isna() & (lines["explanation"] == "pdp")]
    means = [bike.model.predict(bike.rows.assign(yr=year)).mean() for year in (0, 1)]
    expected = np.array(means) - bike.model.predict(bike.rows).mean()
    np.testing.assert_allclose(line["value"], expected, atol=1e-9)


def test_rare_names_share_a_place_with_the_mean_of_their_rows():
    draw = np.random.default_rng(0)
    towns = [f"town {k:02}" for k in range(20)]
    town = np.concatenate([np.repeat(towns[:12], 20), towns[12:], towns[12:]])
    X = pd.DataFrame({"town": town, "x": draw.normal(size=len(town))})
    own = dict(zip(towns, draw.normal(size=20), strict=True))

    def model(X):
        return X["town"].map(own).to_numpy() + X["x"].to_numpy()

    g = gx.Granite(model, max_depth=0).fit(X)
    lines = gx.EffectDisplay.from_estimator(g, X, features=["town"]).frame()
    pdp = lines.query("explanation == 'pdp'").set_index("level")["value"]
    assert len(pdp) == 13
    expected = np.mean([own[t] for t in towns[12:]]) - X["town"].map(own).mean()
    assert np.isclose(pdp["8 rare levels"], expected)


def test_skewed_numbers_have_a_logarithmic_axis():
    X = pd.DataFrame({"x": np.geomspace(1.0, 1e5, 90), "z": np.tile([0.0, 1.0, 2.0], 30)})
    g = gx.Granite(lambda X: np.log(X["x"]).to_numpy() * X["z"].to_numpy(), max_depth=0).fit(X)
    ax = gx.EffectDisplay.from_estimator(g, X, features=["x"]).plot().axes_[0, 0]
    assert ax.get_xscale() == "log"
    assert "logarithmic axis" in ax.get_xlabel()


def test_long_names_differ_in_titles_and_on_edges(toy):
    long = {name: f"a_rather_long_name_of_a_column_that_ends_in_{name}" for name in toy.X}
    X = toy.X.rename(columns=long)
    back = {new: old for old, new in long.items()}
    g = gx.Granite(lambda X: toy.model(X.rename(columns=back)), max_depth=1).fit(X)
    display = gx.EffectDisplay.from_estimator(g, X, max_features=2).plot()
    titles = [ax.get_title(loc="left") for ax in display.axes_.ravel()]
    assert all("x2" in title for title in titles if title.startswith("Region"))
    assert len({ax.get_xlabel() for ax in display.axes_[:, 0]}) == 2
    edges = [text.get_text() for text in gx.PartitionDisplay.from_estimator(g).plot().ax_.texts]
    assert sum("x2" in text for text in edges) == 2
