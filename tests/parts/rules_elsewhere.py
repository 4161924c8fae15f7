"""Random rules, and the rows that they hold for in other programs."""

from __future__ import annotations

import sqlite3

import duckdb
import numpy as np
import pandas as pd
from hypothesis import HealthCheck, settings, strategies as st

from granite_xai.regions import Interval, Levels, Rule
from parts.random_rules import ORDER, dates, flags, intervals, special

DUCK = duckdb.connect(config={"threads": 1})
TEXTS = [
    "a",
    "b",
    "it's",
    'say "no"',
    "NaN",
    "nan",
    "",
    " ",
    "\\",
    "`",
    "a\nb",
    "名前",
    "-- x",
    "%s",
    "@x",
    "True",
    "1",
]
NUMBERS = [-1e300, -2.5, -0.0, 0.1 + 0.2, 0.3, 1 / 3, 6.0, 6.5, 20.0, 1e17, 5e-324, np.nan]
STRANGE = [
    "hours per week",
    'quo"te',
    "b<=c",
    "select",
    "名前",
    "1st",
    "a.b",
    "x",
    "index",
    "it's",
    "a`b",
    "#",
    "^x$",
]
MOMENTS = [
    "1700-01-01",
    "1969-12-31 23:59:59.9999",
    "2012-03-01",
    "2012-03-01 19:00:00.000001",
    "9999-12-31",
]
kinds = {
    "number": (intervals(st.sampled_from(NUMBERS[:-1])), NUMBERS),
    "text": (st.builds(Levels, st.frozensets(st.sampled_from(TEXTS)), flags, flags), [*TEXTS, None]),
    "whole": (st.builds(Levels, st.frozensets(st.sampled_from([1, 2.0, 3])), flags, flags), [1, 2, 3, 4, None]),
    "truth": (st.builds(Levels, st.frozensets(st.booleans()), flags, flags), [True, False, None]),
    "size": (
        st.builds(
            lambda low, high, gone, others: Interval(low, high, ORDER, gone, others),
            *2 * [st.none() | st.sampled_from(ORDER)], flags, flags,
        ),
        [*ORDER, "huge", None],
    ),
    "date": (
        intervals(st.sampled_from([np.datetime64(m.replace(" ", "T")) for m in MOMENTS]) | dates),
        [*MOMENTS, "2012-03-01 19:00:00", "2012-03-01 00:00:00.000000999", None],
    ),
}  # fmt: skip


@st.composite
def cases(draw):
    """A table of columns of all kinds under strange names, and a rule about some of them."""
    names = draw(st.permutations(STRANGE))[: len(kinds)]
    data, conditions = {}, []
    for name, (kind, (about, cells)) in zip(names, kinds.items(), strict=True):
        values = draw(st.lists(st.sampled_from(cells), min_size=6, max_size=6))
        data[name] = pd.Series(
            values, dtype={"number": float, "whole": "Int64", "truth": "boolean"}.get(kind, object)
        )
        if kind == "date":
            data[name] = pd.Series(
                np.array([str(v).replace(" ", "T") if v else "NaT" for v in values], dtype="M8[us]")
            )
        if draw(st.booleans()):
            conditions.append((name, draw(about | special)))
    return pd.DataFrame(data), Rule(tuple(conditions))


def in_duckdb(frame, statement):
    there = DUCK.cursor()
    there.register("rows_there", frame)
    return [row[0] for row in there.execute(f"SELECT {statement} FROM rows_there").fetchall()]


def in_sqlite(frame, statement):
    """As people keep tables there: dates as texts, with or without the digits of a second."""
    with sqlite3.connect(":memory:") as there:
        quoted = ['"' + name.replace('"', '""') + '"' for name in frame.columns]
        there.execute(f"CREATE TABLE t ({', '.join(quoted)})")
        lines = [
            [_stored(cell, i) for cell in line]
            for i, line in enumerate(frame.astype(object).to_numpy())
        ]
        there.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(quoted))})", lines)
        found = [row[0] for row in there.execute(f"SELECT {statement} FROM t ORDER BY rowid")]
    there.close()
    return found


def _stored(cell, i):
    if pd.isna(cell):
        return None
    if isinstance(cell, pd.Timestamp):
        return cell.isoformat("T" if i % 2 else " ")
    return cell.item() if isinstance(cell, np.generic) else cell


def in_python(rule, frame):
    made = {}
    exec(rule.to_python("holds"), made)
    return [made["holds"](row) for row in frame.astype(object).to_dict("records")]


def membership(rule, frame):
    """What the rule itself says; labels of columns without a dtype for them are compared as they are."""
    return rule.contains(frame).tolist()


few = settings(
    max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
