"""Two models, two tables or two groups on the same regions: figures, intervals, and what is more than chance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import granite_xai as gx
from strategies import quiet

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(400, 3)), columns=["a", "b", "c"]).round(2)
X["w"] = pd.Categorical(RNG.choice(["u", "v"], 400))


def champion(X):
    return np.asarray(X["a"]) * np.where(np.asarray(X["b"]) > 0, 1.0, -1.0) + 0.5 * np.asarray(
        X["c"]
    )


def challenger(X):
    return champion(X) + np.where(np.asarray(X["b"]) > 0, 1.0, 0.0) * np.asarray(X["c"])


y = champion(X) + RNG.normal(size=400)
RULES = gx.Partition.from_rules(["b ≤ 0", "b > 0"])


@pytest.fixture(scope="module")
def found():
    exact = gx.Resources(max_grid=None)
    models = {"old": champion, "new": challenger}
    return gx.compare(models, X, y, partition=RULES, resources=exact)


def value(found, region, measure, case, name=None):
    (line,) = [
        f
        for f in found.findings
        if (f.region, f.measure, f.case, f.set) == (region, measure, case, name)
    ]
    return line


def test_figures_are_those_of_the_rows_of_a_region(found):
    for k, rows in enumerate([X["b"] <= 0, X["b"] > 0]):
        assert value(found, k, "fraction", "new").value == pytest.approx(rows.mean())
        assert value(found, k, "mean prediction", "new").value == pytest.approx(
            challenger(X[rows]).mean()
        )
        error = np.square(champion(X[rows]) - y[rows])
        assert value(found, k, "risk", "old").value == pytest.approx(error.mean())
        own = gx.Granite(champion, max_depth=0).fit(X[rows])
        assert value(found, k, "disagreement", "old").value == pytest.approx(
            own.disagreement_, abs=1e-12
        )
        effect = 0.5 * (X["c"][rows] - X["c"][rows].mean())
        assert value(found, k, "importance", "old", "c").value == pytest.approx(
            np.sqrt(np.mean(effect**2))
        )


def test_values_that_a_pilot_chose_show_the_same_importance(found):
    """Sixteen values of each column choose no other figures than all of them, within half a percent."""
    chosen = gx.compare({"old": champion, "new": challenger}, X, y, partition=RULES)
    for line, exact in zip(chosen.findings, found.findings, strict=True):
        if line.measure == "importance" and exact.value > 0.01:
            assert line.value == pytest.approx(exact.value, rel=0.005)


def test_the_interval_of_a_mean_is_the_known_one(found):
    """Random signs estimate the standard error of a mean: s/√n, here from 50 pairs."""
    for k, rows in enumerate([X["b"] <= 0, X["b"] > 0]):
        line = value(found, k, "mean prediction", "old")
        known = 1.96 * champion(X[rows]).std() / np.sqrt(rows.sum())
        assert line.high - line.value == pytest.approx(known, rel=0.35)
        assert line.value - line.low == pytest.approx(line.high - line.value)


def test_models_on_the_same_rows_are_compared_pair_by_pair(found):
    """The difference is known far better than each of the means."""
    line = value(found, 1, "mean prediction", "new")
    rows = X["b"] > 0
    gaps = (challenger(X) - champion(X))[rows]
    assert line.difference == pytest.approx(gaps.mean())
    assert line.difference_high - line.difference == pytest.approx(
        1.96 * gaps.std() / np.sqrt(len(gaps)), rel=0.35
    )
    same = value(found, 0, "mean prediction", "new")
    assert [same.difference, same.difference_low, same.difference_high] == pytest.approx(
        [0.0] * 3, abs=1e-12
    )


def test_only_what_was_changed_has_changed(found):
    changed = {(f.region, f.measure, f.set) for f in found.changed}
    assert (1, "importance", "c") in changed
    assert (1, "risk", None) in changed
    assert {region for region, *_ in changed} == {1}
    assert "Region 1 (b > 0): the importance of c is 1.4 in new, 0.4" in " ".join(found.sentences())


def test_two_samples_of_one_population_seldom_differ():
    """Over all figures of 20 pairs of tables at most one in a hundred is called a difference."""
    lines = changes = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        parts = [pd.DataFrame(rng.normal(size=(150, 3)), columns=["a", "b", "c"]) for _ in range(2)]
        two = gx.compare(champion, {"one": parts[0], "two": parts[1]}, partition=RULES)
        known = [f for f in two.findings if f.case == "two" and f.value == f.value]
        lines, changes = lines + len(known), changes + len(two.changed)
    assert lines == 20 * 2 * 6
    assert changes <= 5


def test_rows_that_moved_between_regions_are_found():
    moved = X.assign(b=X["b"] + 1.0)
    two = gx.compare(champion, {"then": (X, y), "now": (moved, y)}, partition=RULES)
    assert {(f.region, f.measure) for f in two.changed} >= {(0, "fraction"), (1, "fraction")}
    assert value(two, 1, "fraction", "now").difference > 0.3


def test_a_region_without_rows_has_no_figures():
    two = gx.compare(champion, {"then": X, "now": X[X["b"] > 0]}, partition=RULES)
    empty = value(two, 0, "mean prediction", "now")
    assert empty.n_samples == 0
    assert np.isnan(empty.value)
    assert not empty.changed
    assert value(two, 0, "fraction", "now").value == 0.0
    assert two.frame()["value"].isna().any()
    assert "–" in str(two)
    assert gx.ComparisonDisplay.from_comparison(two).frame()["case"].nunique() == 2
    # Three numeric features: one curve where one case has rows, two where both have.
    assert two.html().count('class="caseband"') == 3 * (1 + 2)


def test_regions_are_searched_on_rows_that_are_not_measured():
    found = gx.compare([champion, challenger], X, y)
    assert found.names == ("first", "second")
    assert [str(rule) for rule in found.partition.rules] == ["b ≤ 0", "b > 0"] or len(
        found.partition
    ) > 1
    assert (
        sum(value(found, k, "fraction", "first").n_samples for k in range(len(found.partition)))
        == 200
    )


def test_a_fit_gives_its_regions_and_its_question():
    g = gx.Granite(champion, "sobol", max_depth=1).fit(X)
    found = gx.compare({"old": g, "new": challenger}, X, y)
    assert found.partition is g.partition_
    assert {case.values.fitted.comparisons[0].question.label for case in found.cases} == {"sobol"}
    same = gx.compare({"old": champion, "new": challenger}, X, partition=g)
    assert same.partition is g.partition_


def test_three_models_and_other_libraries():
    there = pl.from_pandas(X)
    models = {"a": lambda X: champion(X.to_pandas()), "b": lambda X: challenger(X.to_pandas())}
    found = gx.compare({**models, "c": models["a"]}, there, y, partition=RULES)
    assert isinstance(found.frame(), pl.DataFrame)
    assert not any(f.changed for f in found.findings if f.case == "c")


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(gx.InputError, match="one case"):
        gx.compare(champion, X)
    with pytest.raises(gx.InputError, match="several models on several tables"):
        gx.compare([champion, challenger], {"a": X, "b": X})
    with pytest.raises(gx.InputError, match="has no regions"):
        gx.compare([champion, challenger], X, partition=3)


def test_the_page_and_the_display_show_every_case(found, tmp_path):
    page = found.html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert page.count("<svg") == 4 * 2  # a chart for each feature and region
    assert page.count('class="caseband"') == 3 * 2 * 2  # numeric features, regions, cases
    hostile = gx.compare({"<script>": champion, "b": challenger}, X, partition=RULES)
    assert "<script>" not in hostile.html().replace("<script>\n", "").split("</main>")[0]
    assert "<script>" not in hostile._repr_html_()
    display = gx.ComparisonDisplay.from_comparison(found, features=["a", "w"]).plot()
    assert display.axes_.shape == (4,)
    assert len(display.frame()) > 8
    import matplotlib.pyplot as plt

    plt.close(display.figure_)


def test_text_leads_with_the_differences(found):
    assert str(found).splitlines()[1].startswith("Region 1 (b > 0): the ")
    assert repr(found).startswith("<Comparison of old, new: ")
    same = gx.compare({"old": champion, "new": champion}, X, partition=RULES)
    assert "Nothing differs from old beyond sampling noise." in str(same)


@pytest.mark.parametrize("question", ["ice-pdp", "mplot-pdp", "cfi-pfi"])
def test_disagreement_is_without_what_chance_adds_as_an_estimate_is(question):
    options = {"partitioner": gx.partitioners.Given(["b ≤ 0", "b > 0"]), "holdout": False}
    with quiet():
        found = gx.compare(
            {"old": champion, "new": challenger}, X, y, partition=RULES, question=question
        )
        known = (
            gx.Granite(champion, question, **options)
            .fit(X, y)
            .estimate_.frame()
            .set_index("region")
        )
    for k in (0, 1):
        line = value(found, k, "disagreement", "old")
        assert line.value == pytest.approx(known.loc[k, "corrected"], rel=1e-9, abs=1e-12)
    assert "with what sampling noise adds" not in str(found)


def test_without_a_confidence_level_disagreement_is_as_measured():
    steep = lambda X: champion(X) * np.asarray(X["b"])  # noqa: E731
    rows = X["b"] > 0
    both = [
        gx.compare([steep, champion], X, partition=RULES, confidence_level=level)
        for level in (0.95, None)
    ]
    corrected, plain = (value(each, 1, "disagreement", "first").value for each in both)
    own = gx.Granite(steep, max_depth=0, confidence_level=None).fit(X[rows])
    assert plain == pytest.approx(own.disagreement_)
    assert 0 < corrected < plain
    assert "with what sampling noise adds" in str(both[1])


def test_rows_of_one_cluster_are_one_observation():
    """Every row four times: with clusters the intervals are those of the single rows, without half as wide.

    Without a confidence level rows stay in the order given, so that a cluster has the signs of its row.
    """
    few = X.iloc[:200]
    often, names = (
        few.iloc[np.repeat(np.arange(200), 4)].reset_index(drop=True),
        np.repeat(np.arange(200), 4),
    )
    models = {"old": lambda X: champion(X) * np.asarray(X["b"]), "new": challenger}
    as_given = {"partition": RULES, "confidence_level": None}
    once = gx.compare(models, few, **as_given)
    together = gx.compare(models, often, clusters=names, **as_given)
    apart = gx.compare(models, often, **as_given)
    for measure in ("mean prediction", "fraction"):
        one, two, three = (value(each, 1, measure, "new") for each in (once, together, apart))
        assert two.high - two.low == pytest.approx(one.high - one.low, rel=0.01)
        assert three.high - three.low == pytest.approx((one.high - one.low) / 2, rel=0.35)
    one, two = (next(each.curves(0)) for each in (once, together))
    assert (one.high - one.low).max() > 0.05
    np.testing.assert_allclose(two.high - two.low, one.high - one.low, rtol=1e-6)
    searched = gx.compare(models, often, clusters=names)
    assert set(searched.cases[0].values.clusters) == set(range(100))
    assert searched.cases[0].values.table.n_rows == 400
    dated = gx.compare(
        champion, {"then": often, "now": often}, partition=RULES, clusters={"now": names}
    )
    then, now = (value(dated, 1, "mean prediction", case) for case in ("then", "now"))
    assert now.high - now.low > 1.5 * (then.high - then.low)
    with pytest.raises(gx.InputError, match="clusters"):
        gx.compare(champion, {"then": often, "now": often}, clusters=names)
