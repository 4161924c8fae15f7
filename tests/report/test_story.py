"""What the story says is what the estimator, the explanations and the definitions say."""

from __future__ import annotations

import json
import sys
import types
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.base.formats import share
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.report.page import render
from granite_xai.report.regions_part import chart_label, chart_labels
from granite_xai.report.text import markdown, story_text
from granite_xai.report.wording import Measure, stop_text
from report.cases import Classifier, late, product, stories, table


def interacting(X):
    x = np.asarray(X)
    return x[:, 0] * np.where(x[:, 1] > 0, 1.0, -1.0) + 0.3 * x[:, 2] * x[:, 3]


@pytest.fixture(scope="module")
def X():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(150, 4)), columns=list("abcd"))


@pytest.fixture(scope="module")
def report(X):
    return gx.explain(
        interacting,
        X,
        interacting(X),
        test=(X.iloc[:60], None),
        min_samples_leaf=30,
        search="greedy",
    )


def test_figures_are_those_of_the_estimator(report, X):
    granite = gx.Granite(interacting, "ice-pdp", min_samples_leaf=30, search="greedy").fit(X)
    figures = report.story["figures"]
    for name in ("disagreement", "remaining", "fidelity", "global_fidelity"):
        assert figures[name] == getattr(granite, f"{name}_") == getattr(report.granite, f"{name}_")
    assert [str(rule) for rule in granite.partition_.rules] == [
        region["rule"] for region in report.story["regions"]
    ]


def test_the_map_needs_no_further_model_rows(X):
    """Model rows of a report without pairs are those of a fit alone."""
    three = X[["a", "b"]]
    model = lambda X: np.asarray(X)[:, 0] * np.asarray(X)[:, 1]  # noqa: E731
    told = gx.explain(model, three, model(three)).story["provenance"]
    assert (
        told["model_rows"]
        == told["fit_rows"]
        == gx.Granite(model).fit(three).diagnostics_["model"]["rows"]
    )


@pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")
def test_every_column_of_the_map_is_what_a_fit_of_that_question_measures(report, X):
    y = interacting(X)
    for line in report.story["map"]["questions"]:
        alone = gx.Granite(interacting, line["question"], max_depth=0).fit(X, y)
        assert line["disagreement"] == pytest.approx(alone.disagreement_, rel=1e-9)
        assert sum(line["shares"]) == pytest.approx(float(alone.disagreement_ > 0), abs=1e-3)
    assert {line["question"] for line in report.story["map"]["questions"]} >= {
        "ice-pdp",
        "mplot-pdp",
        "sobol",
        "cfi-pfi",
    }


def test_the_map_says_what_the_regions_leave(report):
    own = report.story["map"]["questions"][0]
    assert own["question"] == "ice-pdp"
    assert own["remaining"] == pytest.approx(report.granite.remaining_, rel=1e-9)


def test_the_finding_opens_the_story_and_the_page(report):
    assert report.story["opening"] == "The effect of a depends on b."
    assert "<h1>The effect of a depends on b</h1>" in report.html()
    assert repr(report) == "<Report: The effect of a depends on b.>"


def test_the_bars_are_the_shares_that_curves_describe(report):
    estimate = report.granite.estimate_
    steps = report.story["describes"]["steps"]
    assert [step["share"] for step in steps] == [estimate.global_fidelity, estimate.fidelity]
    assert f"<b>{share(estimate.fidelity)}</b>" in report.html()


def test_the_tree_has_the_figures_of_its_nodes(report):
    figures = fitted_view(report.granite).result.nodes[0]
    by_region = {leaf.region: leaf for leaf in figures.leaves}

    def check(node):
        if node["region"] is not None:
            leaf = by_region[node["region"]]
            assert (node["stray"], node["share"]) == (leaf.heterogeneity, leaf.share)
        for child in node["children"]:
            check(child)

    check(report.story["tree"])
    assert report.story["tree"]["stray"] == figures.root.heterogeneity
    assert report.story["tree"]["regions"] == list(range(len(report.granite.partition_)))


def test_features_stray_as_the_figures_of_the_nodes_say(report):
    figures = fitted_view(report.granite).result.nodes[0]
    told = {each["set"]: each for each in report.story["triage"]}
    for names, gap, inside in zip(
        figures.sets, figures.root.by_set, figures.by_set_inside_regions(), strict=True
    ):
        assert told[names[0]]["hides"] == pytest.approx(np.sqrt(max(gap, 0.0)))
        assert told[names[0]]["within"][1] == pytest.approx(np.sqrt(max(inside, 0.0)))
    assert {key for key in told["a"]["nodes"] if key.startswith("region")} == {
        f"region-{k}" for k in range(len(report.granite.partition_))
    }


def test_a_curve_is_labelled_by_what_its_axis_does_not_show():
    conditions = [["", "hr", "7–23"], ["", "workingday", "= 1"], ["20 <", "temp", "≤ 30"]]
    region = {"name": "", "words": "hr 7–23, …", "conditions": conditions}
    assert chart_label(region, "hr") == "workingday = 1, 20 < temp ≤ 30"
    assert chart_label({**region, "name": "rush hour"}, "hr") == "rush hour"
    assert chart_label({**region, "conditions": conditions[:1]}, "hr") == "hr 7–23, …"


def test_no_two_curves_have_the_same_label():
    def region(*conditions):
        return {"name": "", "words": "…", "conditions": [["", *each] for each in conditions]}

    large = ("worst radius", "> 16.6")
    small = ("worst radius", "≤ 16.6")
    few = ("worst concave points", "≤ 0.135")
    many = ("worst concave points", "> 0.135")
    regions = [region(small, few), region(small, many), region(large)]
    assert chart_labels(regions, "worst concave points") == [
        "worst concave points ≤ 0.135",
        "worst concave points > 0.135",
        "worst radius > 16.6",
    ]
    last = ("a feature with quite a long name", "= 1")
    assert chart_labels([region(small, last), region(large, last)], "hr") == [
        "worst radius ≤ 16.6",
        "worst radius > 16.6",
    ]


def test_a_finding_carries_its_doubt_right_under_it():
    told = next(each for name, each in stories() if name == "diabetes")
    assert told.story["stability"]["tentative"] == ""
    assert "Tentative" not in told.html()
    doubt = "Tentative: the first split came back in 1 of 6 searches on half the rows."
    stability = {**told.story["stability"], "tentative": doubt}
    doubted = {**told.story, "stability": stability}
    assert markdown(doubted).split("\n\n")[2] == doubt
    assert story_text(doubted, "").split("\n\n")[2] == doubt
    after_the_finding = render(doubted).split("</h1>")[1]
    assert after_the_finding.strip().startswith(f'<p class="text">{doubt}')


def test_probabilities_are_told_in_points():
    measure = Measure(per_row=True, is_rooted=True, probability=True, unit="")
    assert (measure.text(0.212), measure.level(0.27)) == ("±21", "27%")
    counts = Measure(per_row=True, is_rooted=True, probability=False, unit="bikes")
    assert (counts.text(121.3), counts.text(121.3, bare=False)) == ("±121", "±121 bikes")


def test_a_reason_not_to_split_is_a_sentence():
    assert stop_text("split undone") == "A further split did not hold up on other rows."
    assert stop_text("something new") == "Something new."


def test_what_is_only_sampling_noise_is_said_first():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    told = gx.explain(lambda X: X[:, 0] + X[:, 1] + X[:, 2], X, question="mplot-pdp")
    assert told.story["case"] == "noise"
    assert "differ by sampling noise only" in told.story["opening"]
    assert "differ by sampling noise only" in told.html()


def test_pairs_that_explain_the_rest_are_found(report, X):
    """The model is additive in each region but for c with d."""
    found = report.story["describes"]
    assert ["c", "d"] in found["pairs"]
    assert report.granite.fidelity_ < found["pairs_share"] <= 1.0
    exact = gx.Granite(
        lambda X: np.asarray(X)[:, 2] * np.asarray(X)[:, 3], influence="interaction"
    ).fit(X)
    assert exact.fidelity_ == pytest.approx(1.0)


def test_pairs_are_left_out_when_they_cost_more_than_the_fit():
    """Columns of twelve values: a pair of them has a hundred."""
    X = np.random.default_rng(1).integers(0, 12, (200, 5)).astype(float)
    model = lambda X: X[:, 0] * X[:, 1] * X[:, 2] + X[:, 1] * X[:, 2]  # noqa: E731
    found = gx.explain(model, X, max_depth=0).story["describes"]
    assert len(found["steps"]) == 1
    assert "more evaluations; the fit took" in found["note"]


def test_effects_are_ice_and_pdp(report, X):
    """The mean curve over all rows is the partial dependence; eight of ten rows run inside the band around it."""
    effect = next(effect for effect in report.story["effects"] if effect["set"] == "a")
    panel = effect["panels"][0]
    ice = np.array([interacting(X.assign(a=value)) for value in effect["x"]])
    assert panel["mean"] == pytest.approx(ice.mean(axis=1), rel=1e-3, abs=1e-4)
    own = np.mean([interacting(X.assign(a=value)) for value in X["a"]], axis=0)
    moved = ice - own + own.mean()
    for quantile, key in ((0.1, "low"), (0.9, "high")):
        assert panel[key] == pytest.approx(
            np.quantile(moved, quantile, axis=1, method="inverted_cdf"), rel=1e-3, abs=1e-4
        )
    assert panel["error"] == pytest.approx(ice.std(axis=1) / np.sqrt(len(X)), rel=1e-3)


def test_curves_of_a_region_end_where_its_rows_end(report, X):
    for effect in report.story["effects"]:
        for panel in effect["panels"][1:]:
            rows = X[effect["set"]][report.granite.apply(X) == panel["region"]]
            drawn = [x for x, y in zip(effect["x"], panel["mean"], strict=True) if y is not None]
            assert rows.min() <= min(drawn)
            assert max(drawn) <= rows.max()
            assert sum(panel["rows"]) == len(rows)


@pytest.mark.parametrize(("max_grid", "off"), [(None, 1e-4), ("auto", 0.02)])
def test_importances_are_those_of_the_explanations(X, max_grid, off):
    """Exactly at all values; at sixteen values of each column to two in a hundred."""
    resources = gx.Resources(max_grid=max_grid)
    report = gx.explain(interacting, X, interacting(X), search="greedy", resources=resources)
    values = gx.explanations()["pdp"].explain(interacting, X).values
    told = report.story["importances"][0]["scopes"][0]["second"]
    assert told == pytest.approx(np.sqrt(np.square(values).mean(axis=0)), rel=off)


def test_S15_no_raw_rows(report, X):
    text = report.json()
    assert not any(repr(value) in text for value in interacting(X))


def test_S15_regions_of_few_rows_are_flagged(X):
    told = gx.explain(interacting, X.iloc[:60], min_samples_leaf=5, search="greedy")
    small = [region for region in told.story["regions"] if region["n_samples"] < 20]
    assert small
    assert all(region["small"] for region in small)
    assert "fewer than 20 search rows" in told.html()
    assert "It has few rows" in str(told).replace("\n", " ").replace("   ", " ")


def test_held_out_figures_are_those_of_evaluate(report, X):
    found = report.granite.evaluate(X.iloc[:60])
    assert report.story["evaluation"]["remaining"] == found.remaining
    assert report.story["evaluation"]["n_rows"] == 60


def test_the_story_is_json_and_stays_it(report, tmp_path):
    text = report.json(tmp_path / "story.json")
    assert (tmp_path / "story.json").read_text(encoding="utf-8") == text
    assert json.loads(text)["opening"] == report.story["opening"]


def test_F03_html_replaces_the_file(report, tmp_path):
    file = tmp_path / "report.html"
    file.write_text("old", encoding="utf-8")
    assert report.html(file) == file.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_frame_has_one_line_for_each_scope_and_set(report):
    frame = report.frame()
    assert len(frame) == 4 * (1 + len(report.granite.partition_))
    assert frame["disagreement"][:4].sum() == pytest.approx(report.granite.disagreement_, rel=1e-4)


@pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")
@pytest.mark.parametrize(
    "question",
    ["mplot-pdp", "shap-pdp", "pfi-risk", "sobol", "coe", "ale", ["ice-pdp", "variance"]],
)
def test_every_kind_of_question_has_a_story(question, X):
    told = gx.explain(
        interacting, X.iloc[:60], interacting(X.iloc[:60]), question=question, search="greedy"
    )
    assert told.story["opening"] in str(told).replace("\n", " ")
    assert "<!doctype html>" in told.html()


@pytest.mark.parametrize(
    "options", [{"influence": "interaction"}, {"influence": "joint", "groups": {"g": ["a", "b"]}}]
)
def test_every_influence_has_a_story(options, X):
    assert len(gx.explain(interacting, X.iloc[:50], **options).html()) > 10_000


@pytest.mark.parametrize("rows", [1, 2])
def test_D29_one_row_has_a_story(rows, X):
    told = gx.explain(interacting, X.iloc[:rows])
    assert told.story["opening"] in str(told).replace("\n", " ")


def test_missing_values_and_categories_have_a_story():
    names = ["kind", "one", "two"]
    people = table(names, ["u", "v", "w"], rows=80)
    people.loc[::7, "two"] = np.nan
    model = Classifier(names)
    told = gx.explain(
        lambda X: model.predict_proba(X.fillna({"two": 0.0}))[:, 1], people, missing="allow"
    )
    effects = {effect["set"]: effect for effect in told.story["effects"]}
    assert {effect["kind"] for effect in effects.values()} == {"nominal", "numeric"}
    two, kind = effects["two"], effects["kind"]
    assert two["texts"][-1].replace(" %", "%") == "missing (15%)"
    assert two["panels"][0]["rows"][-1] == people["two"].isna().sum()
    means = kind["panels"][0]["mean"]
    assert means == sorted(means, reverse=True)


def test_F09_a_loaded_object_is_told_from_its_curves(report, tmp_path):
    gx.save(report.granite, tmp_path / "g.json")
    again = gx.Report(gx.load(tmp_path / "g.json"))
    assert again.story["figures"] == report.story["figures"]
    assert "<svg" in again.html()


def test_the_plan_counts_what_the_fit_then_sends(X):
    granite = gx.Granite(interacting)
    found = granite.plan(X)
    assert found["model_rows"] == granite.fit(X).diagnostics_["model"]["rows"]
    assert granite.diagnostics_["plan"]["model_rows"] == found["model_rows"]
    assert found["values"] == dict.fromkeys("abcd", 16)
    assert found["bytes"] == 8 * len(X) * (
        1 + 4 * 16
    )  # its own prediction, and those at all values


def test_two_reports_of_one_fit_are_equal():
    first, second = late(), late()
    for told in (first, second):
        told.story["provenance"].update(made="", seconds={"fit": 0, "model": 0, "report": 0})
    assert first.json() == second.json()
    assert first.html() == second.html()


def test_the_models_of_these_tests_interact():
    X, _ = gx.datasets.load_diabetes()
    assert product(X).std() > 0


@pytest.mark.parametrize("question", ["ice-pdp", "pfi-risk", "mplot-pdp"])
@pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")
def test_a_fit_has_the_report_that_explain_would_have_told(X, question):
    """The same story but for its costs, by the three ways to ask for it."""
    y = interacting(X)
    told = gx.explain(
        interacting, X, y, question=question, max_samples=100, title="One", search="greedy"
    ).story
    g = gx.Granite(interacting, question, max_samples=100, search="greedy").fit(X, y)
    stories_of_the_fit = [
        gx.explain(g, X, y, title="One").story,
        g.report(X, y, title="One").story,
        gx.Report(g, X, y, title="One").story,
    ]
    for each in (told, *stories_of_the_fit):
        each.pop("provenance")
    for each in stories_of_the_fit:
        assert each == told


def test_the_report_of_a_fit_needs_no_table(X):
    g = gx.Granite(interacting, search="greedy").fit(X)
    assert (
        g.report().story["effects"] == gx.explain(interacting, X, search="greedy").story["effects"]
    )
    assert g.report(test=X[:40]).story["evaluation"]["n_rows"] == 40


def test_the_report_of_a_fit_says_what_it_lacks(X):
    g = gx.Granite(interacting, "pfi-risk", search="greedy").fit(X, interacting(X))
    assert g.report().story["effects"] == g.report(X, interacting(X)).story["effects"]
    with pytest.raises(gx.InputError, match="not the table of the fit"):
        g.report(X[::-1], interacting(X))
    with pytest.raises(gx.InputError, match="options already"):
        gx.explain(g, X, max_depth=1)
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        gx.explain(gx.Granite(interacting), X)


def test_the_page_is_shown_in_the_browser(X, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    gx.Granite(interacting, max_depth=1).fit(X[:50]).report().show()
    path = (
        Path.from_uri(opened[0])
        if hasattr(Path, "from_uri")
        else Path(opened[0].removeprefix("file://"))
    )
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_page_is_shown_in_the_notebook(X, monkeypatch):
    shown = []
    display = types.SimpleNamespace(display=shown.append)
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(
        sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell, display=display)
    )
    report = gx.Granite(interacting, max_depth=1).fit(X[:50]).report()
    report.show()
    assert shown == [report]


def test_markdown_says_what_the_page_says(report, tmp_path):
    text = report.markdown(tmp_path / "card.md")
    assert (tmp_path / "card.md").read_text(encoding="utf-8") == text
    assert report.story["opening"] in text
    assert text.count("\n| ") >= 5 + len(report.story["regions"])
    assert "## Rows given for testing" in text


def test_S04_names_cannot_act_in_markdown():
    for name, told in stories():
        if name == "classifier":
            text = told.markdown()
            assert "<script" not in text.replace("\\<", "")
            assert all(line.isprintable() for line in text.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("question", ["ice-pdp", "pfi-risk"])
def test_figures_and_their_numbers_lie_in_a_folder(X, tmp_path, question):
    told = gx.explain(
        interacting, X[:60], interacting(X[:60]), question=question, max_depth=1, search="greedy"
    )
    written = told.figures(tmp_path / "out", ("png", "svg", "pdf"))
    assert all(path.stat().st_size > 0 for path in written)
    names = {"regions", "effects", "overview", "report"} | (
        {"importances"} if question == "ice-pdp" else set()
    )
    assert {path.stem for path in written} == names
    assert pd.read_csv(tmp_path / "out" / "report.csv").shape == told.frame().shape
    again = gx.load(gx.save(told.granite, tmp_path / "g.json"))
    assert {path.stem for path in gx.Report(again).figures(tmp_path / "again")} == {
        "regions",
        "report",
    }


def test_single_rows_add_up_in_the_report(X):
    """What columns add, and what they do only together, leads from the mean of the region to the prediction."""
    told = gx.explain(interacting, X, rows=X.iloc[[3, 40]], max_depth=1, search="greedy")
    for line, each in zip((3, 40), told.story["rows"], strict=True):
        found = told.granite.explain_row(X.iloc[[line]])
        assert each["region"] == told.granite.apply(X.iloc[[line]])[0]
        total = sum(adds for _, _, adds in each["lines"])
        assert total == pytest.approx(found.prediction - found.mean, abs=1e-12)
    assert told.story["rows"][1]["sentences"][0] in unescape(told.html())
    assert "no other" in told.html()
    assert "No row of the data" in gx.explain(told.granite, X).html()
    with pytest.raises(gx.InputError, match="20 rows at most"):
        told.granite.report(rows=X.iloc[:21])


def test_the_page_says_why_there_are_so_many_regions(X):
    """The path that chose alpha is drawn, with its table; where alpha was given there is none."""
    told = gx.explain(interacting, X, alpha="auto", max_depth=2, search="greedy")
    steps = told.story["path"]["steps"]
    assert [step["regions"] for step in steps if step["chosen"]] == [len(told.granite.partition_)]
    assert steps == told.granite.path_.to_dict("records")
    assert "what fewer regions would leave" in told.html()
    assert told.html().count("(chosen)") == 1
    assert gx.explain(interacting, X, max_depth=1, search="greedy").story["path"] is None


def test_the_report_of_all_outputs_is_that_of_each(X):
    """One tab an output: the story of its own view, in the regions of all."""

    def model(X):
        x = np.asarray(X)
        return np.column_stack([x[:, 0] * np.sign(x[:, 1]), x[:, 2] + x[:, 0] * np.sign(x[:, 1])])

    told = gx.explain(
        model,
        X,
        model(X),
        output="all",
        search="greedy",
        max_depth=1,
        title="Both",
        test=(X, model(X)),
    )
    assert list(told.story["outputs"]) == [str(name) for name in told.granite.outputs_]
    for k, (name, story) in enumerate(
        zip(told.granite.outputs_, told.story["outputs"].values(), strict=True)
    ):
        alone = told.granite.of_output(name).report(X, model(X)[:, k]).story
        assert story["effects"] == alone["effects"]
        assert story["regions"] == alone["regions"]
        assert any("R² 1.00" in text for text in story["about"])  # of its own column of y
        assert story["evaluation"]["n_rows"] == len(X)
    with pytest.raises(gx.InputError, match="not the table of the fit"):
        told.granite.report(X[::-1], model(X))
    assert told.html().count('role="tab"') == 2
    assert set(told.frame()["output"]) == set(told.story["outputs"])
    assert " ".join(str(told).split()).count("rows were sent to the model") == 2
    assert told.markdown().startswith("# ")


@pytest.fixture(scope="module")
def large(X):
    """A report of a fit that holds rows out, and its table."""
    rows = pd.DataFrame(np.random.default_rng(5).normal(size=(900, 4)), columns=list("abcd"))
    return gx.explain(interacting, rows, interacting(rows), max_depth=1), rows


def test_a_region_has_one_mean_in_tree_card_curve_and_row(large):
    """All of them are of the search rows; how far rows stray is of held-out rows."""
    told, rows = large
    story = told.story
    leaves = story["tree"]["children"]
    row = told.granite.explain_row(rows.iloc[[0]])
    for card, leaf in zip(story["regions"], leaves, strict=True):
        number = card["region"]
        assert card["mean"] == leaf["mean"]
        assert card["share"] == leaf["share"]
        panel = story["effects"][0]["panels"][1 + number]
        assert panel["centre"] == pytest.approx(card["mean"])
        if number == row.region:
            assert row.mean == pytest.approx(card["mean"])
    assert story["measure"]["rows"] == "300 held-out rows"


def test_the_report_says_which_rows_are_which(large):
    told, _ = large
    about = " ".join(told.story["about"])
    assert "come from 600 of 900 rows (search rows)." in about
    assert "measured on 300 others, set aside before the search to check the regions" in about
    assert "not used" not in about
    few = gx.explain(interacting, large[1], max_samples=300, max_depth=1)
    assert "rows were not used." in " ".join(few.story["about"])


def test_halves_are_searched_where_that_takes_no_longer_than_the_fit(large, report, X):
    """A fit that cross-validates has searched five times; otherwise the page says how to get the table."""
    told, _ = large
    assert told.story["stability"] is None
    assert "was not tried here" in told.html()
    small = gx.explain(interacting, X, max_depth=1)
    assert small.story["stability"]["searches"] == 6
    assert {split["verdict"] for split in small.story["stability"]["splits"]} <= {
        "stable",
        "unstable",
        "unclear",
    }
    assert "was not tried here" not in small.html()


def test_values_of_effects_are_no_levels():
    """Tables below effects of a classifier are in points, not in percent of a probability."""
    page = late().html()
    more = page[page.index('id="more"') :]
    tables = more.split('<details class="vals">')[1:]
    assert tables
    for part in tables:
        body = part[: part.index("</table>")]
        assert "%" not in body[body.index("<tbody>") :]


def test_where_nothing_is_found_other_questions_are_not_asked_and_no_empty_chart_is_drawn():
    rows = pd.DataFrame(np.random.default_rng(2).normal(size=(300, 3)), columns=list("abc"))
    told = gx.explain(lambda X: np.asarray(X).sum(axis=1), rows, question="mplot-pdp")
    assert told.story["case"] == "noise"
    assert len(told.story["map"]["questions"]) == 1
    assert "average misleads" not in told.html()
