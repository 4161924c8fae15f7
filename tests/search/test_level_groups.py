"""Groups of levels of a nominal column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from granite_xai.search.level_groups import frequent_levels, level_groups, order_levels

from granite_xai.base.deferred import Deferred
from granite_xai.tables import read_table
from problems import problem_of, single_effects


@pytest.mark.parametrize("factor", [1e-12, 1.0, 1e12])
def test_N02_the_order_of_levels_does_not_depend_on_the_unit_of_the_model(factor):
    """Levels whose effects are alike stand side by side, however small all effects are."""
    letters, slopes = list("abcdefgh"), [3.0, 1.0, -2.0, 2.0, -1.0, 0.0, 4.0, -3.0]
    frame = pd.DataFrame(
        [(letter, float(x)) for letter in letters for x in (-1, 0, 2)], columns=["kind", "x"]
    )
    table = read_table(frame, missing="error")
    worth = dict(zip(letters, slopes, strict=True))
    known = single_effects(
        lambda X: factor * X["x"].to_numpy() * X["kind"].map(worth).to_numpy(), table
    )
    line = order_levels(table.columns[0], np.arange(24), np.arange(8), known)
    walked = [slopes[place] for place in line]
    assert walked in (sorted(slopes), sorted(slopes, reverse=True))


def test_as_many_groups_as_candidates_are_all_tried():
    """Four levels have seven groupings, and 2³ = 8 candidates pay for all; one against the rest and a line are five."""
    frame = pd.DataFrame({"kind": pd.Categorical(list("abcd") * 6), "x": np.arange(24.0)})
    table = read_table(frame, missing="error")
    slopes = {"a": 1.0, "b": -2.0, "c": 3.0, "d": 0.5}
    known = single_effects(lambda X: X["x"].to_numpy() * X["kind"].astype(str).map(slopes), table)
    column = table.columns[0]
    for most, n_groups in ((8, 7), (7, 5)):
        groups = level_groups(column, np.arange(24), np.arange(4), Deferred(lambda: known), most)
        assert len(groups) == n_groups


def test_rare_levels_share_a_class():
    """The hundred most frequent levels have their own, in their order."""
    counts = np.where(np.arange(120) % 6 == 0, 1, 3)
    labels = np.repeat([f"level {number:03}" for number in range(120)], counts)
    column = read_table(pd.DataFrame({"kind": labels}), missing="error").columns[0]
    classes = frequent_levels(column)
    assert classes[counts == 3].tolist() == list(range(100))
    assert set(classes[counts == 1]) == {100}


def test_the_unit_of_one_output_does_not_order_the_levels_for_all():
    """Levels that act alike stand side by side for outputs that each count by their own spread."""
    rng = np.random.default_rng(0)
    slopes = np.array([3.0, 1.0, -2.0, 2.0, -1.0, 0.0, 4.0, -3.0])
    others = rng.permutation(slopes)
    codes = np.repeat(np.arange(8), 30)
    X = pd.DataFrame({"kind": pd.Categorical(np.array(list("abcdefgh"))[codes])})
    X["x"] = rng.normal(size=240)

    def line(unit):
        def model(X):
            places = X["kind"].cat.codes.to_numpy()
            first = X["x"].to_numpy() * slopes[places]
            second = X["x"].to_numpy() * others[places]
            return np.column_stack([first, unit * second])

        problem = problem_of(model, X, output="all")
        column = problem.table.columns[0]
        return order_levels(column, np.arange(240), np.arange(8), problem.evaluations).tolist()

    assert line(1024.0) == line(1.0)
