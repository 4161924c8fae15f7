"""Comparisons as a user meets them: which regions, what is printed, drawn and written."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest

import granite_xai as gx
from studies.two_models import MODELS, RULES, X, challenger, champion, finding, y


def test_regions_are_searched_on_rows_that_are_not_measured():
    compared = gx.compare([champion, challenger], X, y)
    assert compared.names == ("first", "second")
    assert len(compared.partition) > 1
    regions = range(len(compared.partition))
    measured = [finding(compared, region, "fraction", "first").n_samples for region in regions]
    assert sum(measured) == 200


def test_clusters_stay_together_when_rows_are_halved():
    rows = np.repeat(np.arange(200), 4)
    repeated = X.iloc[:200].iloc[rows].reset_index(drop=True)
    values = gx.compare(MODELS, repeated, clusters=rows).cases[0].values
    assert set(values.rows.clusters) == set(range(100))
    assert values.table.n_rows == 400


def test_a_fit_gives_its_regions_and_its_question():
    g = gx.Granite(champion, "sobol", max_depth=1).fit(X)
    compared = gx.compare({"old": g, "new": challenger}, X, y)
    assert compared.partition is g.partition_
    labels = {case.values.fitted.questions[0].label for case in compared.cases}
    assert labels == {"sobol"}
    assert gx.compare(MODELS, X, partition=g).partition is g.partition_


def test_options_of_a_call_overrule_those_of_a_fit():
    g = gx.Granite(champion, "sobol", max_depth=1).fit(X)
    compared = gx.compare({"old": g, "new": challenger}, X, question="ice-pdp", max_samples=50)
    for case in compared.cases:
        assert case.values.fitted.questions[0].label == "ice-pdp"
        assert case.values.table.n_rows == 50


def test_what_has_no_regions_is_refused():
    with pytest.raises(gx.InputError, match="has no regions"):
        gx.compare([champion, challenger], X, partition=3)


def test_three_models_in_another_library():
    table = pl.from_pandas(X)
    models = {
        "a": lambda X: champion(X.to_pandas()),
        "b": lambda X: challenger(X.to_pandas()),
        "c": lambda X: champion(X.to_pandas()),
    }
    compared = gx.compare(models, table, y, partition=RULES)
    assert isinstance(compared.frame(), pl.DataFrame)
    assert not any(line.changed for line in compared.findings if line.case == "c")


def test_a_region_without_rows_has_no_figures():
    compared = gx.compare(champion, {"then": X, "now": X[X["b"] > 0]}, partition=RULES)
    empty = finding(compared, 0, "mean prediction", "now")
    assert empty.n_samples == 0
    assert np.isnan(empty.value)
    assert not empty.changed
    assert finding(compared, 0, "fraction", "now").value == 0.0
    assert compared.frame()["value"].isna().any()
    assert "–" in str(compared)
    assert gx.ComparisonDisplay.from_comparison(compared).frame()["case"].nunique() == 2


def test_changes_of_regions_come_before_importances_and_the_clearest_first(comparison):
    line = finding(comparison, 1, "risk", "new")._replace(changed=True)
    vague = line._replace(case="vague", difference=3.0, difference_high=5.0)
    clear = line._replace(case="clear", difference=-1.0, difference_high=-0.9)
    weak = line._replace(case="weak", set="a", difference=9.0, difference_high=9.0)
    strong = line._replace(case="strong", set="b", difference=-10.0, difference_high=90.0)
    unchanged = clear._replace(changed=False)
    findings = (weak, vague, unchanged, strong, clear)
    compared = gx.Comparison(comparison.partition, comparison.cases, findings)
    assert [line.case for line in compared.changed] == ["clear", "vague", "strong", "weak"]


def test_features_that_vary_are_listed_by_their_largest_importance(comparison):
    names = list(X)
    largest = dict.fromkeys(names, 0.0)
    for line in comparison.findings:
        if line.set is not None:
            largest[line.set] = max(largest[line.set], line.value)
    expected = sorted(range(4), key=lambda position: -largest[names[position]])
    assert comparison.columns == expected
    constant = X.assign(w="u")
    compared = gx.compare(MODELS, constant, partition=RULES)
    assert sorted(compared.columns) == [0, 1, 2]


def test_the_text_leads_with_the_differences(comparison):
    lines = str(comparison).splitlines()
    assert lines[0] == (
        "2 regions on 400 rows (old) and 400 rows (new), with 95% intervals that take the regions as fixed."
    )
    assert lines[1].startswith("Region 1 (b > 0): the ")
    text = " ".join(comparison.sentences())
    assert "Region 1 (b > 0): the importance of c is 1.4 in new, 0.4" in text
    assert repr(comparison).startswith("<Comparison of old, new: ")


def test_no_difference_is_said():
    same = gx.compare({"old": champion, "new": champion}, X, partition=RULES)
    assert "Nothing differs from old beyond sampling noise." in str(same)


def test_differences_beyond_the_limit_are_counted(comparison):
    n_further = len(comparison.changed) - 1
    *_, last = comparison.sentences(most=1)
    assert last.startswith(f"{n_further} further difference")
    *_, last = comparison.sentences(most=n_further + 1)
    assert last == "The rest is within sampling noise."


def test_the_table_marks_what_differs(comparison):
    headings, *lines = comparison.lines()
    assert headings[:3] == ("", "case", "rows")
    assert "heterogeneity²" in headings
    assert [line[:2] for line in lines] == [
        ("0", "old"),
        ("0", "new"),
        ("1", "old"),
        ("1", "new"),
    ]
    assert not any("*" in cell for line in lines[:3] for cell in line)
    assert any("*" in cell for cell in lines[3])


def test_the_display_shows_every_case(comparison):
    display = gx.ComparisonDisplay.from_comparison(comparison, features=["a", "w"]).plot()
    assert display.axes_.shape == (4,)
    assert len(display.frame()) > 8
    plt.close(display.figure_)


def test_names_of_cases_are_no_markup():
    hostile = gx.compare({"<script>": champion, "b": challenger}, X, partition=RULES)
    assert "<script>" not in hostile._repr_html_()
