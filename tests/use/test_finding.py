"""Findings of small fits, in sentences."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx

rng = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "dose": rng.normal(size=900),
        "group": rng.integers(0, 2, 900),
        "age": rng.normal(size=900),
    }
)


def fitted(function, rows=X, **options):
    return gx.Granite(lambda frame: np.asarray(function(frame)), **options).fit(rows)


def test_two_directions_are_two_shapes_though_no_value_occurs_twice():
    g = fitted(lambda X: X["dose"] * (2 * X["group"] - 1) + X["age"])
    first, second, third = str(g).splitlines()[:3]
    assert first == "The effect of dose depends on group."
    assert "Where group = 1, the prediction rises with dose." in second or (
        "Where group = 0, the prediction falls with dose." in second
    )
    assert third.startswith("One curve per feature describes ")
    assert "; in 2 regions, " in third
    assert third.endswith("300 held-out rows).")


def test_printing_never_asks_the_model(tmp_path):
    asked = []

    def model(frame):
        asked.append(len(frame))
        return np.asarray(frame["dose"] * (2 * frame["group"] - 1))

    g = gx.Granite(model, features=["dose"]).fit(X)
    before = len(asked)
    assert "The effect of dose depends on group." in str(g)
    assert str(g.partition_)
    assert g._repr_mimebundle_()["text/html"]
    assert len(asked) == before


def test_a_loaded_fit_prints_the_same(tmp_path):
    g = fitted(lambda X: X["dose"] * (2 * X["group"] - 1) + X["age"])
    g.partition_.rename({0: "control"})
    gx.save(g, tmp_path / "fit.json")
    again = gx.load(tmp_path / "fit.json")
    assert str(again) == str(g)
    assert "control (group = 0)" in str(again)


@pytest.mark.parametrize("names", [{0: "off"}, {}])
def test_a_pickled_partition_prints_the_same_and_holds_no_rows(names):
    import pickle

    g = fitted(lambda X: X["dose"] * (2 * X["group"] - 1) + X["age"], holdout=False)
    g.partition_.rename(names)
    written = pickle.dumps(g.partition_)
    assert len(written) < 10_000
    assert str(pickle.loads(written)) == str(g.partition_)


@pytest.mark.parametrize(
    ("rows", "options", "opening"),
    [
        (len(X), {"max_depth": 0}, "No regions were searched (max_depth=0)."),
        (12, {}, "12 rows are too few to search for regions."),
        (1, {}, "1 row: nothing can be said."),
    ],
)
def test_a_fit_that_did_not_search_does_not_say_that_it_found_nothing(rows, options, opening):
    g = fitted(lambda X: X["dose"] * (2 * X["group"] - 1), rows=X[:rows], holdout=False, **options)
    text = str(g)
    assert text.splitlines()[0].endswith(opening)
    assert "no simple rule" not in text
    assert "whole model" not in text
