"""The cuts of a node, as sets of rows and in the order that breaks ties, against the definitions (C11, C13 to C15)."""

from __future__ import annotations

import numpy as np
from granite_xai.search.candidates import CUTS, candidates, cut_codes
from hypothesis import assume, given, strategies as st

import oracle as o
from granite_xai.base.deferred import Deferred
from granite_xai.tables import read_table
from problems import single_effects
from strategies import Case, cases, examples, regions


def check(case: Case, rows: list[int], B: int, leaf: int, chosen: list[int] | None = None) -> None:
    """The same candidates in the same order: columns and the rows that go left."""
    problem = case.problem()
    wanted = o.candidates(problem, rows, B, leaf, chosen)
    assume(not problem.unclear)
    assert wanted == sorted(wanted, key=lambda c: c.key)
    table, at = read_table(case.X, missing="allow"), np.array(rows)
    node = single_effects(case.model, table, case.weights).restrict(at)
    columns = list(range(case.d)) if chosen is None else sorted(chosen)
    found = candidates(table, at, Deferred(lambda: node), columns, B, leaf, "quantiles")
    left = [tuple(at[c.goes_left(table, at)].tolist()) for c in found]
    assert [(c.column, rows) for c, rows in zip(found, left, strict=True)] == [
        (c.column, c.left) for c in wanted
    ]


@given(data=st.data())
@examples(250)
def test_cuts_are_those_of_the_definition_in_the_same_order(data):
    """Numbers, ordered labels, dates, levels and missing values, for any B and leaf minimum, in any node."""
    case = data.draw(cases(min_rows=2, max_rows=12, max_columns=3, missing=None, levels=8))
    rows = data.draw(regions(case, min_size=2))
    B = data.draw(st.sampled_from([2, 3, 4, 8, 40]))
    chosen = data.draw(st.none() | st.lists(st.integers(0, case.d - 1), min_size=1, unique=True))
    check(case, rows, B, data.draw(st.integers(1, 3)), chosen)


@given(data=st.data())
@examples(60)
def test_many_levels_stand_along_their_pure_effects(data):
    """With eight levels and a small B the groups are one level against the rest, or cuts along the principal axis."""
    case = data.draw(
        cases(min_rows=6, max_rows=12, min_columns=2, max_columns=3, mixed=True, levels=8)
    )
    check(case, list(range(case.n)), data.draw(st.sampled_from([2, 3, 5])), 1)


@given(values=st.lists(st.integers(0, 60), min_size=1, max_size=80), B=st.integers(2, 45))
@examples(150)
def test_cuts_of_many_rows_are_quantiles_in_exact_arithmetic(values, B):
    """``x <= v`` with v at place (n - 1) k // B of the sorted values; all values but the largest where they are few."""
    counts = np.bincount(values, minlength=61)
    assert cut_codes(counts, B).tolist() == o.cut_values(values, B)


@given(values=st.lists(st.integers(0, 12), min_size=1, max_size=40))
@examples(50)
def test_the_originals_cut_at_every_value_but_the_largest(values):
    """REPID and GADGET in their authors' later package."""
    found = CUTS["values"](np.bincount(values, minlength=13), 3)
    assert found.tolist() == sorted(set(values))[:-1]
