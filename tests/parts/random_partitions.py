"""Random trees of regions, and rows for them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from granite_xai.regions import Leaf, Partition, Split, cut, grouping, missing_or_present
from parts.random_rules import ORDER

NAMES = ("number", "size", "weather", "holiday", "day")
sides = st.sampled_from(["left", "right"])
days = [np.datetime64(f"2012-0{m}-01") for m in range(1, 7)]

number_pairs = st.builds(
    lambda at, m: cut(at, missing=m), st.sampled_from([-1.0, 0.0, 0.5, 2.0]), sides
)
size_pairs = st.builds(
    lambda at, m, big: cut(at, order=ORDER, missing=m, larger=big),
    st.sampled_from(ORDER[:-1]),
    sides,
    sides,
)
weather_pairs = st.builds(
    lambda left, big, m: grouping(left, {"clear", "mist", "rain"} - left, larger=big, missing=m),
    st.sampled_from([{"clear"}, {"mist"}, {"clear", "rain"}]),
    sides,
    sides,
)
holiday_pairs = st.builds(
    lambda m, big: grouping({False}, {True}, larger=big, missing=m), sides, sides
)
day_pairs = st.builds(lambda at, m: cut(at, missing=m), st.sampled_from(days), sides)
splits = st.one_of(
    st.tuples(st.just("number"), number_pairs),
    st.tuples(st.just("size"), size_pairs),
    st.tuples(st.just("weather"), weather_pairs),
    st.tuples(st.just("holiday"), holiday_pairs),
    st.tuples(st.just("day"), day_pairs),
    st.tuples(st.sampled_from(NAMES), st.just(missing_or_present())),
)
a_leaf = st.builds(
    Leaf, st.integers(0, 50), st.floats(0, 1), st.floats(0, 1), st.sampled_from(["small", "deep"])
)


def joined(split, left, right):
    (column, (one, two)), rows = split, left.n_samples + right.n_samples
    return Split(column, one, two, (left, right), rows, 0.5, left.disagreement + right.disagreement)


trees = st.recursive(a_leaf, lambda below: st.builds(joined, splits, below, below), max_leaves=8)
partitions = st.builds(lambda root: Partition(root, NAMES), trees)
rows = st.lists(
    st.tuples(
        st.sampled_from([-3.0, -1.0, -0.0, 0.25, 0.5, 1.0, 2.0, 9.0, np.nan]),
        st.sampled_from([*ORDER, "huge", None]),
        st.sampled_from(["clear", "mist", "rain", "hail", None]),
        st.sampled_from([False, True, None]),
        st.sampled_from([*days, np.datetime64("2012-03-15T12:00"), None]),
    ),
    min_size=1,
    max_size=12,
)


def frame_of(cells):
    columns = dict(zip(NAMES, zip(*cells, strict=True), strict=True))
    return pd.DataFrame(
        {
            "number": np.array(columns["number"], dtype=float),
            "size": pd.Categorical(columns["size"], categories=[*ORDER, "huge"], ordered=True),
            "weather": pd.Categorical(
                columns["weather"], categories=["mist", "hail", "rain", "clear"]
            ),
            "holiday": pd.array(columns["holiday"], dtype="boolean"),
            "day": pd.Series(columns["day"], dtype="datetime64[ns]"),
        }
    )


def bike() -> Partition:
    calm = Leaf(98, 0.098, 0.012, "below alpha")
    ride = Leaf(214, 0.214, 0.0615, "maximal depth")
    work = Leaf(688, 0.688, 0.0001, "below alpha")
    free = Split("hr", *cut(6.0), (calm, ride), 312, 0.312, 0.41)
    return Partition(
        Split("workingday", *cut(0.0, missing="right"), (free, work), 1000, 1.0, 1.0),
        ("hr", "workingday"),
    )
