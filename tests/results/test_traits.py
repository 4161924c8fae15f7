"""Columns whose values in a region are unlike those of the other rows."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.fitting.fitted import fitted_view
from granite_xai.results.traits import traits_of
from results.two_groups import two_groups


def test_traits_are_distances_of_distributions():
    g, X, _ = two_groups()
    traits = {trait.column: trait for trait in traits_of(fitted_view(g).result, region=1)}
    inside = X["group"] > 0
    levels = np.sort(X["age"].unique())
    gaps = [abs((X["age"][inside] <= v).mean() - (X["age"][~inside] <= v).mean()) for v in levels]
    assert traits["age"].distance == pytest.approx(max(gaps))
    assert traits["w"].distance == pytest.approx(
        abs((X["w"][inside] == "rain").mean() - (X["w"][~inside] == "rain").mean())
    )
    assert traits["group"].in_rule
    assert traits["group"].distance == 1.0
    assert traits["w"].here.startswith("rain (")
    assert traits["dose"].distance < 0.15


def test_the_most_unlike_column_comes_first():
    g, _, _ = two_groups()
    distances = [trait.distance for trait in traits_of(fitted_view(g).result, region=0)]
    assert distances == sorted(distances, reverse=True)


def test_numbers_have_a_median_and_quantiles():
    g, X, _ = two_groups()
    traits = {trait.column: trait for trait in traits_of(fitted_view(g).result, region=1)}
    search = X.iloc[g.diagnostics_["rows"]["search"]]
    ages = search["age"][search["group"] > 0]
    low, median, high = np.quantile(ages, [0.1, 0.5, 0.9], method="inverted_cdf")
    assert traits["age"].here == f"{median:g} ({low:g} to {high:g})"
    assert traits["age"].is_number
    assert traits["group"].text == "group 1, elsewhere 0"
