"""Random conditions, rules and rows for the tests of this folder."""

from __future__ import annotations

from datetime import datetime

import numpy as np
from hypothesis import strategies as st

from granite_xai.regions import Interval, Levels, Rule

HOSTILE = [
    "b<=c", "a and b", "x or missing", "", " ", "`", "a`b", "\\", "\\`", '"', "a\nb", "\x1b[31m", "\u202eabc", "\x00",
    "</script>", "missing", "present", "is", "True", "all", "3", "1e5", "-2", "ÿ", "名前", "a\u2028b", "\ud800", "{",
    "}", "a, b", "2012-03-01", "3 days", "≤", "impossible", "e\u0301", "²", "\U000e0041", "all rows", "(",
    "nan", "None",
]  # fmt: skip
texts = st.one_of(
    st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=()), max_size=8)
)
finite = st.floats(allow_nan=False, allow_infinity=False)
labels = st.one_of(texts, st.integers(-(10**20), 10**20), finite, st.booleans())
flags = st.booleans()
dates = st.builds(
    lambda when, unit: np.datetime64(when).astype(f"datetime64[{unit}]"),
    st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)),
    st.sampled_from(["Y", "M", "D", "h", "m", "s", "ms", "us"]),
)
durations = st.builds(
    lambda count, unit: np.timedelta64(count, unit),
    st.integers(-(10**9), 10**9),
    st.sampled_from(["D", "h", "s", "ns"]),
)


def intervals(ends, order=None):
    ends = st.none() | ends
    return st.builds(
        lambda low, high, missing: Interval(low, high, order, missing), ends, ends, flags
    )


ordered = st.lists(labels, min_size=1, max_size=5, unique=True).flatmap(
    lambda order: intervals(st.sampled_from(order), order)
)
level_sets = st.builds(Levels, st.frozensets(labels, max_size=5), flags, flags)
conditions = st.one_of(
    intervals(finite),
    intervals(dates),
    intervals(durations),
    ordered,
    level_sets,
    st.sampled_from(
        [
            Interval.without_values(missing=True),
            Interval(),
            Interval(missing=True),
            Interval(0.0, 0.0),
        ]
    ),
)
rules = st.lists(st.tuples(texts, conditions), max_size=4, unique_by=lambda pair: pair[0]).map(
    lambda pairs: Rule(tuple(pairs))
)

ORDER = ("tiny", "small", "medium", "large")
small = st.sampled_from([-1.5, -0.0, 0.0, 1.0, 2.0, 3.5])
levels = st.sampled_from(["a", "b", "c", "d"])
small_levels = st.builds(Levels, st.frozensets(levels), flags, flags)
special = st.sampled_from(
    [Interval.without_values(missing=True), Interval(), Interval(missing=True), Interval(0.0, 0.0)]
)
numeric_probe = np.array([-np.inf, -2, -1.5, -1, -0.0, 0.5, 1, 1.5, 2, 3, 3.5, 4, np.inf, np.nan])
label_probe = np.array(["a", "b", "c", "d", "new", None], dtype=object)
order_probe = np.array([*ORDER, None], dtype=object)
truth_probe = np.array([False, True, "new", None], dtype=object)
