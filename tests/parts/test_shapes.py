"""Shapes of curves that were planted: what is told is there, and what noise draws is not told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from granite_xai.base.deferred import Deferred
from granite_xai.curves.curves import RowCurves
from granite_xai.curves.shared import SharedCurve
from granite_xai.results.shapes import DESCRIBED, Shape, distance_apart, shape_of, shapes_differ
from granite_xai.tables import read_table


def curve(values, effects, error=0.0, spread=1.0):
    """A curve over rows: effect of each row's value, the same standard error everywhere."""
    column = read_table(pd.DataFrame({"x": values}), missing="error").columns[0]
    n_levels = len(column.levels)
    by_level = np.zeros(1 + n_levels)
    by_level[column.codes + 1] = effects
    shares = np.bincount(column.codes + 1, minlength=1 + n_levels) / len(column.codes)
    centred = by_level - shares @ by_level
    errors = np.full(1 + n_levels, float(error))
    shown = centred[1:][shares[1:] > 0]
    if column.kind == "numeric":
        low, high = np.quantile(column.values, [0.05, 0.95], method="inverted_cdf")
        shown = centred[1:][(column.levels >= low) & (column.levels <= high)]
    return SharedCurve(
        features=("x",),
        column=column,
        node=0,
        regions=(0,),
        mean=0.0,
        effects=centred,
        added=centred,
        start=0.0,
        shares=shares,
        n_rows=len(column.codes),
        range=float(np.ptp(shown)),
        role="differs",
        row_curves=Deferred(lambda: RowCurves(errors, errors, errors, spread)),
    )


rng = np.random.default_rng(0)
HOURS = np.repeat(np.arange(24.0), 20)
NUMBERS = np.sort(rng.uniform(-3, 3, 800))


def bump(x, at, width):
    return np.exp(-(((x - at) / width) ** 2))


PLANTED = {
    "flat": (NUMBERS, 0.0 * NUMBERS),
    "rises": (NUMBERS, 2 * NUMBERS + 0.1 * np.sin(9 * NUMBERS)),
    "falls": (NUMBERS, -(NUMBERS**3) / 9),
    "level, rises": (NUMBERS, np.maximum(NUMBERS - 1, 0)),
    "falls, level": (NUMBERS, -np.minimum(NUMBERS + 1, 0) * 1.0),
    "peak": (HOURS, bump(HOURS, 12, 2.0)),
    "low": (HOURS, -((np.abs(HOURS - 12) < 3) * 1.0)),
    "two peaks": (HOURS, bump(HOURS, 8, 1.5) + bump(HOURS, 17, 2)),
    "varies": (HOURS, np.sin(HOURS * 2.1)),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_what_was_planted_is_told(kind):
    assert shape_of(curve(*PLANTED[kind])).kind == kind


@pytest.mark.parametrize("kind", PLANTED)
def test_it_is_told_as_well_of_a_jagged_curve(kind):
    values, effects = PLANTED[kind]
    size = 0.03 * max(np.ptp(effects), 1.0)
    jags = size * np.where(np.argsort(np.argsort(values)) // 20 % 2, 1.0, -1.0)
    found = shape_of(curve(values, effects + jags, error=2 * size), flat=0.15)
    assert found.kind in (kind, {"peak": "high"}.get(kind))


def test_places_are_where_they_were_planted():
    assert shape_of(curve(*PLANTED["two peaks"])).words("hr") == "peaks at hr 8 and 17"
    assert shape_of(curve(*PLANTED["low"])).words("hr") == "is lowest from hr 10 to 14"
    kink = shape_of(curve(*PLANTED["level, rises"]))
    assert kink.is_about
    assert float(kink.places[0].replace("−", "-")) == pytest.approx(1, abs=0.3)
    assert kink.words("x").startswith("is level to about x ")


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("values", [HOURS, NUMBERS])
def test_noise_has_no_shape(seed, values):
    """Errors of size 1, each level by itself: a wrong test of turns would find peaks in most of these."""
    noise = np.random.default_rng(seed).normal(size=len(values))
    _, codes = np.unique(values, return_inverse=True)
    found = shape_of(curve(values, noise[codes], error=1.0))
    assert found.kind in ("flat", "varies")


def test_a_turn_that_errors_do_not_bear_is_not_told():
    effects = bump(HOURS, 8, 1.5) + 0.6 * bump(HOURS, 17, 1.5)
    assert shape_of(curve(HOURS, effects, error=0.1)).kind == "two peaks"
    assert shape_of(curve(HOURS, effects, error=0.2)).kind == "varies"
    assert shape_of(curve(HOURS, effects, error=0.3)).kind == "flat"


def test_a_turn_with_few_rows_beside_it_is_not_told():
    values = np.concatenate([np.repeat(np.arange(10.0), 50), [10.0, 11.0, 12.0]])
    effects = np.minimum(values, 9) - 3 * np.maximum(values - 9, 0)
    assert shape_of(curve(values, effects)).kind == "rises"


def test_a_small_dip_is_not_a_turn():
    """A tenth of the range is needed: with 8% the second peak is part of the first."""
    effects = np.interp(HOURS, [0, 8, 12, 16, 23], [0, 1, 0.92, 1, 0])
    assert shape_of(curve(HOURS, effects)).kind == "high"
    effects = np.interp(HOURS, [0, 8, 12, 16, 23], [0, 1, 0.3, 1, 0])
    assert shape_of(curve(HOURS, effects)).kind == "two peaks"


def test_a_curve_beside_a_much_larger_one_is_flat():
    assert shape_of(curve(NUMBERS, NUMBERS), flat=25.0).kind == "flat"
    assert shape_of(curve(NUMBERS, NUMBERS), flat=2.5).kind == "rises"


def test_a_described_curve_leaves_a_tenth_of_its_variance():
    """Rising but for a part that falls: told as rising as long as a rising fit describes nine tenths."""
    found = {}
    for depth in (0.3, 3.0):
        effects = np.interp(NUMBERS, [-3, 0, 1, 3], [0, 3, 3 - depth, 6 - depth])
        rising = np.maximum.accumulate(effects)
        described = 1 - np.mean((effects - rising) ** 2) / effects.var()
        found[depth] = shape_of(curve(NUMBERS, effects)).kind
        assert (found[depth] == "rises") == (described >= DESCRIBED)
    assert found[0.3] == "rises"


def test_two_values_are_compared():
    values = np.repeat([0.0, 1.0], 50)
    assert shape_of(curve(values, values)).words("works") == "is higher for works = 1 than for 0"
    assert shape_of(curve(values, values, error=0.6)).kind == "flat"


def test_labels_that_errors_do_not_tell_apart_are_named_together():
    labels = np.repeat(["clear", "mist", "rain", "snow"], 50)
    effects = np.repeat([0.0, 1.0, 9.8, 10.0], 50)
    found = shape_of(curve(labels, effects, error=0.3))
    assert (
        found.words("weather")
        == "is highest for weather = snow and rain, lowest for clear and mist"
    )
    assert shape_of(curve(labels, np.repeat([0.0, 3.0, 6.0, 10.0], 50), error=2.0)).kind == "varies"


def test_labels_with_few_rows_are_not_named():
    labels = np.array(["a"] * 50 + ["b"] * 48 + ["c"])
    effects = np.array([0.0] * 50 + [20.0] * 48 + [50.0])
    assert shape_of(curve(labels, effects)).places == ("b", "a")


def test_values_are_rounded_to_what_the_column_spans():
    pressure = 1000 + 10 * np.random.default_rng(1).uniform(size=600)
    found = shape_of(curve(pressure, np.maximum(pressure - 1006, 0)))
    assert found.kind == "level, rises"
    assert found.places[0].startswith("100")
    assert len(found.places[0]) <= 6


def test_curves_differ_by_what_they_do_not_by_strength():
    two, later = curve(*PLANTED["two peaks"]), curve(HOURS, bump(HOURS, 14, 3))
    strong = curve(HOURS, 5 * PLANTED["two peaks"][1])

    def differ(first, second):
        return shapes_differ(first, second, (shape_of(first), shape_of(second)))

    assert differ(two, later)
    assert not differ(two, strong)
    assert not differ(curve(HOURS, 0 * HOURS), two)
    assert differ(curve(NUMBERS, NUMBERS), curve(NUMBERS, -NUMBERS))
    assert differ(curve(HOURS, bump(HOURS, 5, 2)), curve(HOURS, bump(HOURS, 18, 2)))


def test_distance_of_two_curves_is_that_at_their_common_levels():
    rising, falling = curve(HOURS, HOURS), curve(HOURS, -HOURS)
    assert distance_apart(rising, falling) == pytest.approx(2 * 21, abs=2)
    assert distance_apart(rising, curve(HOURS, HOURS + 7)) == pytest.approx(0, abs=1e-9)


def test_words_without_the_feature_do_not_name_it():
    assert Shape("rises").words("") == "rises"
    assert Shape("peak", ("8",), is_about=True).words("") == "peaks at about 8"
    assert Shape("varies").words("hr", "21 bikes") == "varies along hr, by up to 21 bikes"


@pytest.mark.parametrize(("n_behind", "kind"), [(7, "varies"), (9, "peak")])
def test_a_turn_needs_a_twentieth_of_the_rows_on_either_side(n_behind, kind):
    values = np.repeat(np.arange(5.0), [30, 30, 30, 60, n_behind])
    effects = np.array([0.0, 0.2, 1.0, 4.0, -8.0])[values.astype(int)]
    assert shape_of(curve(values, effects)).kind == kind


@pytest.mark.parametrize(("error", "kind"), [(0.2, "level, rises"), (0.4, "rises")])
def test_a_kink_has_to_stand_out_from_the_errors_there_and_at_both_ends(error, kind):
    assert shape_of(curve(NUMBERS, np.maximum(NUMBERS - 1, 0), error=error)).kind == kind
