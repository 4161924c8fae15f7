"""Every variant of the printed result begins with its finding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.base.numbers import amount
from granite_xai.fitting.fit_result import fitted_view
from granite_xai.results.printed import printed_result

rng = np.random.default_rng(1)
X = pd.DataFrame(
    {"a": rng.normal(size=900), "b": rng.integers(0, 2, 900), "c": rng.normal(size=900)}
)


def crossed(frame):
    """The effect of a depends on b."""
    return np.asarray(frame["a"] * (2.0 * frame["b"] - 1.0) + frame["c"])


def test_the_tree_alone_begins_with_how_much_better():
    assert str(gx.Granite(crossed).fit(X).partition_).startswith("One curve per feature describes ")


def test_noise_is_said_to_be_noise_and_no_interval_is_told():
    few = rng.normal(size=(300, 3))
    text = str(gx.Granite(lambda rows: rows.sum(axis=1), "mplot-pdp").fit(few))
    assert text.startswith("M-plot and PDP differ by sampling noise only on 300 rows.")
    assert "100%" not in text.replace("100% ", "")
    assert "interval" not in text


def test_where_every_region_is_quiet_none_is_called_so():
    """Two regions far apart in level: predictions vary little in each compared with all rows."""

    def levels(frame):
        return np.asarray(100.0 * frame["b"] + frame["a"] * (2.0 * frame["b"] - 1.0))

    g = gx.Granite(levels).fit(X)
    assert len(g.partition_) == 2
    assert "vary far less" not in str(g)


def test_names_of_regions_stand_in_the_tree():
    g = gx.Granite(crossed).fit(X)
    g.partition_.rename({0: "falling", 1: "rising"})
    assert "falling" in str(g)
    assert "rising" in str(g.partition_)


@pytest.mark.parametrize("names", [{7: "nobody"}, {0: "same", 1: "same"}])
def test_names_that_cannot_be_given_are_refused(names):
    g = gx.Granite(crossed).fit(X)
    with pytest.raises(gx.InputError):
        g.partition_.rename(names)


def fit_of(**changes):
    """What is printed of a fit in which something is changed."""
    g = gx.Granite(crossed).fit(X)
    result = fitted_view(g).result
    return printed_result(replace(result, **changes), g.diagnostics_), result


def test_doubts_come_first_and_are_never_cut_off():
    printed, _ = fit_of()
    finding = replace(printed.finding, doubts=("one", "two", "three"), notes=("four", "five"))
    many = replace(printed, finding=finding).document({}, with_finding=True)
    notes = [line for line in many.text().splitlines() if "Note" in line]
    assert notes == ["Note: one", "Note: two", "Note: three"]
    finding = replace(finding, doubts=("one",))
    few = replace(printed, finding=finding).document({}, with_finding=True)
    notes = [line for line in few.text().splitlines() if "Note" in line]
    assert notes == ["Note: one", "Note: four"]
    assert "Note: one" in few.notebook()
    assert "Note: five" not in few.notebook()


def test_print_says_how_to_search_halves_and_then_what_they_said():
    g = gx.Granite(crossed).fit(X)
    assert str(g).splitlines()[-2].startswith("g.stability() says whether ")
    found = g.stability(n_resamples=2)
    assert found.sentences()[0] in str(g).splitlines()
    assert "g.stability()" not in str(g)
    one_region = gx.Granite(lambda rows: np.asarray(rows["a"] + rows["c"])).fit(X)
    assert "g.stability()" not in str(one_region)


def test_several_questions_say_what_their_columns_would_show():
    g = gx.Granite(crossed, ["ice-pdp", "sobol"]).fit(X)
    by_question = [line for line in str(g).splitlines() if "inside the regions" in line]
    effects, indices = fitted_view(g).result.nodes
    assert by_question[0].startswith(
        f"ice-pdp: rows stray ±{amount(effects.root.heterogeneity)} over"
    )
    assert by_question[1].startswith(f"sobol: difference {amount(indices.root.heterogeneity)} over")
    inside = np.sqrt(max(sum(effects.by_set_inside_regions()), 0.0))
    assert by_question[0].endswith(f"±{amount(inside)} inside the regions.")
