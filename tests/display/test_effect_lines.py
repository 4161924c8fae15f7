"""Lines of an effect display: what one explanation says about one feature in one scope."""

from __future__ import annotations

import math

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.algebra.influence import Individual
from granite_xai.display.axis import Axis
from granite_xai.display.effect_lines import FeatureInScope, Line, Panel, lines_of
from granite_xai.results.values import Values


def lines_on_all_rows(g, X, name, feature, max_curves=50):
    """The lines of an explanation of a feature on all rows, and its effects on the rows."""
    side = gx.explanations()[name].with_influence(Individual(None))
    shown = Values.of_rows(g, X, None, [side], None)
    values = shown.explained([side])
    place = [names[0] for names in values.sets].index(feature)
    axis = Axis.of(shown.table, shown.table.names.index(feature))
    on_all_rows = values.scopes[0]
    in_scope = FeatureInScope(shown, on_all_rows, shown.table, axis, 40, max_curves)
    (part,) = on_all_rows.parts
    return lines_of(values, side, in_scope, part, place), part.values[:, place], in_scope


def test_ice_is_a_curve_a_row_up_to_the_most(bike):
    lines, _, _ = lines_on_all_rows(bike, bike.rows, "ice", "hr", max_curves=7)
    assert [line.shape for line in lines] == ["curve"] * 7
    assert all(np.array_equal(line.x, np.arange(24.0)) for line in lines)


def test_the_pdp_is_the_mean_prediction_at_each_value_around_the_mean(bike):
    (line,), _, _ = lines_on_all_rows(bike, bike.rows, "pdp", "yr")
    means = [bike.model.predict(bike.rows.assign(yr=year)).mean() for year in (0, 1)]
    expected = np.array(means) - bike.model.predict(bike.rows).mean()
    np.testing.assert_allclose(line.y, expected, atol=1e-9)
    assert line.shape == "line"


def test_shapley_values_are_points_with_their_mean(toy, grown):
    rows = toy.X[:30].assign(x1=np.arange(30) % 2.0)
    (points, mean), effects, _ = lines_on_all_rows(grown, rows, "shap", "x1")
    assert (points.shape, mean.shape) == ("points", "line")
    is_high = rows["x1"].to_numpy() == 1
    np.testing.assert_allclose(mean.y, [effects[~is_high].mean(), effects[is_high].mean()])
    assert not points.joined


def test_ale_is_one_line_and_local_changes_are_one_a_row(bike):
    (line,), _, _ = lines_on_all_rows(bike, bike.rows, "ale", "temp")
    changes, effects, _ = lines_on_all_rows(bike, bike.rows, "local-change", "temp", max_curves=5)
    assert line.shape == "line"
    assert len(line.x) > 2
    assert 0 < len(changes) <= 5
    for change in changes:
        assert len(change.x) == 2
        assert np.isclose(effects, change.y[1] - change.y[0]).any()


def test_the_same_rows_are_drawn_for_every_feature_of_a_scope(bike):
    *_, hours = lines_on_all_rows(bike, bike.rows, "ice", "hr")
    *_, temperature = lines_on_all_rows(bike, bike.rows, "ice", "temp")
    np.testing.assert_array_equal(hours.sample_rows(9), temperature.sample_rows(9))
    assert len(np.unique(hours.sample_rows(9))) == 9
    assert len(hours.sample_rows(10_000)) == len(bike.rows)


def test_bars_hold_all_rows(bike):
    *_, in_scope = lines_on_all_rows(bike, bike.rows, "ice", "temp")
    bars = in_scope.bars()
    assert (bars.shape, bars.explanation) == ("bars", "rows")
    assert bars.y.sum() == pytest.approx(1.0)
    assert np.all(bars.end > bars.x)


def test_cells_number_the_curves_and_end_with_what_is_left(bike):
    (line,), _, in_scope = lines_on_all_rows(bike, bike.rows, "pdp", "yr")
    curve = Line("curve", "ice", np.array([0.0]), np.array([2.0]), ["a"])
    panel = Panel(in_scope.values.scope, in_scope.axis, (curve, line, curve), 0.25)
    cells = panel.cells()
    assert [cell[2] for cell in cells] == [0, None, None, 1, None]
    assert cells[0] == ("ice", "curve", 0, 0.0, None, "a", 2.0, None)
    assert cells[-1][0] == "disagreement"
    assert cells[-1][-2] == 0.25
    unknown = Panel(in_scope.values.scope, in_scope.axis, (curve,), math.nan)
    assert len(unknown.cells()) == 1
