"""What a report says is what the estimator, the explanations and the definitions say."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pandas as pd
import polars as pl
import pytest

import granite_xai as gx
from granite_xai.base.numbers import amount
from report.cases import interacting, product

INDENT = "\u2003"  # of a tree


def test_figures_are_those_of_the_estimator(report, X):
    granite = gx.Granite(interacting, "ice-pdp", min_samples_leaf=30, search="greedy").fit(X)
    for name in ("disagreement", "remaining", "fidelity", "global_fidelity"):
        expected = getattr(granite, f"{name}_")
        assert report.facts["fit"][name] == expected == getattr(report.granite, f"{name}_")
    rules = [region["rule"] for region in report.facts["regions"]]
    assert rules == [str(rule) for rule in granite.partition_.rules]


def test_the_finding_opens_the_report_and_the_page(report):
    assert report.facts["finding"]["headline"] == "The effect of a depends on b."
    assert "<h1>The effect of a depends on b</h1>" in report.html()
    assert repr(report) == "<Report: The effect of a depends on b.>"


def test_curves_are_those_of_the_fit(report):
    """Every distinct curve once, with the rows it is of, and its effects less their own mean."""
    curves = report.granite.curves_
    told = report.facts["curves"]
    assert len(told) == len(curves)
    for facts, curve in zip(told, curves, strict=True):
        assert tuple(facts["regions"]) == curve.regions
        assert facts["range"] == pytest.approx(curve.range)
        assert facts["role"] == curve.role
        effects = np.array(facts["effects"], dtype=float)
        shares = np.array(facts["shares"])
        assert len(facts["places"]) == len(effects) == len(shares)
        assert np.abs(effects).max() <= np.abs(curve.effects).max() * (1 + 1e-4)


def test_features_are_told_as_they_differ(report):
    """Those that differ by region have a chart of their own, with the rules at the ends of its curves."""
    curves = report.granite.curves_
    page = report.html()
    assert curves.differs[0] == "a"
    first = page[page.index('id="differ"') :]
    chart = first[first.index("<svg") : first.index("</svg>")]
    labels = [curve.label for curve in curves.of("a")]
    assert len(labels) > 1
    for region in report.granite.partition_:
        assert unescape(chart).count(f'data-r="{region.index}"') or len(curves.of("a")) < 2
    assert "b &gt;" in chart
    assert "all rows" in chart


def test_the_tree_has_the_figures_of_the_nodes(report):
    nodes = report.facts["nodes"]
    assert nodes[0]["id"] == "all"
    assert nodes[0]["regions"] == list(range(len(report.facts["regions"])))
    leaves = [node for node in nodes if node["region"] is not None]
    frame = report.granite.partition_.frame()
    assert [node["n_samples"] for node in leaves] == frame["n_samples"].tolist()
    assert [node["stray"] for node in leaves] == pytest.approx(frame["heterogeneity"].tolist())
    for node in nodes[1:]:
        assert set(node["regions"]) <= set(nodes[node["parent"]]["regions"])


def test_on_any_scale_means_are_those_of_the_prediction(X):
    """Effects may be compared as log-odds; the mean of a region is a probability in tree, facts and card."""

    class Late:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            late = 1 / (1 + np.exp(-interacting(X)))
            return np.column_stack([1 - late, late])

    rows = pd.concat([X] * 2, ignore_index=True) + np.linspace(0, 0.01, 2 * len(X))[:, None]
    told = gx.explain(Late(), rows, scale="log-odds", max_depth=1, rows=rows[:1])
    leaves = [node["mean"] for node in told.facts["nodes"] if node["region"] is not None]
    assert len(leaves) > 1
    means = told.granite.partition_.frame()["mean_prediction"].tolist()
    assert [region["mean"] for region in told.facts["regions"]] == leaves == means
    assert 0 < min(means) < max(means) < 1
    # What is compared is in log-odds.
    page = told.html()
    assert "effect on the probability of class 1 (log-odds)" in page
    assert "all features together (log-odds)" in page
    table = re.sub("<[^>]*>", " ", page[page.index("what it hides") :]).split()
    hidden = told.facts["features"][0]["hidden"]
    assert amount(hidden) in table[: table.index("Row")]
    (row,) = told.facts["rows"]
    assert amount(abs(row["parts"][0][2])) in "".join(table[table.index("Row") :])


@pytest.mark.parametrize(("max_grid", "off"), [(None, 1e-4), ("auto", 0.02)])
def test_importances_are_those_of_the_explanations(X, max_grid, off):
    """Exactly at all values; at sixteen values of each column to two in a hundred."""
    resources = gx.Resources(max_grid=max_grid)
    report = gx.explain(interacting, X, interacting(X), search="greedy", resources=resources)
    values = gx.explanations()["pdp"].explain(interacting, X).values
    told = report.facts["values"][0]["scopes"][0]["second"]
    assert told == pytest.approx(np.sqrt(np.square(values).mean(axis=0)), rel=off)


def test_features_are_ranked_by_heterogeneity_then_by_average_effect(report):
    features = report.facts["features"]
    ranks = [max(each["hidden"], 1e-3 * each["average"]) for each in features]
    assert ranks == sorted(ranks, reverse=True)
    assert features[0]["feature"] == "a"
    table = report.html()[report.html().index('id="rows"') :]
    assert table.index("what it hides") > 0


def test_where_only_rounding_is_left_no_row_strays(X):
    told = gx.explain(lambda X: 3.0 * np.asarray(X)[:, 0], X[:40])
    assert [each["hidden"] for each in told.facts["features"]] == [0.0] * 4


def test_what_is_only_sampling_noise_is_said_first():
    X = np.random.default_rng(3).normal(size=(300, 3))
    told = gx.explain(lambda X: X[:, 0] + X[:, 1] + X[:, 2], X, question="mplot-pdp")
    assert told.facts["finding"]["outcome"] == "noise"
    assert "differ by sampling noise only" in told.facts["finding"]["headline"]
    assert "differ by sampling noise only" in told.html()


def test_no_raw_rows(report, X):
    text = report.json()
    assert not any(repr(value) in text for value in interacting(X))


@pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")
@pytest.mark.parametrize(
    "question",
    ["mplot-pdp", "shap-pdp", "pfi-risk", "sobol", "coe", "ale", ["ice-pdp", "variance"]],
)
def test_every_kind_of_question_has_a_report(question, X):
    told = gx.explain(
        interacting, X.iloc[:60], interacting(X.iloc[:60]), question=question, search="greedy"
    )
    assert told.facts["finding"]["headline"] in str(told).replace("\n", " ")
    assert "<!doctype html>" in told.html()
    assert told.facts["questions"][0]["cause"]


@pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")
def test_other_explanations_are_drawn_beside_the_curves(X):
    rows = X.assign(b=X["a"] + 0.3 * X["b"])
    told = gx.explain(interacting, rows, question="mplot-pdp", search="greedy", max_depth=1)
    assert 'class="side ' in told.html()
    assert "Dotted: M-plot" in told.html()


@pytest.mark.parametrize(
    "options", [{"influence": "interaction"}, {"influence": "joint", "groups": {"g": ["a", "b"]}}]
)
def test_every_influence_has_a_report(options, X):
    told = gx.explain(interacting, X.iloc[:50], **options)
    assert len(told.html()) > 10_000
    assert 'class="chart wide" role="img" aria-label="Effects of' not in told.html()


@pytest.mark.parametrize("rows", [1, 2])
def test_one_row_has_a_report(rows, X):
    told = gx.explain(interacting, X.iloc[:rows])
    assert told.facts["finding"]["headline"] in str(told).replace("\n", " ")


def test_a_constant_model_has_no_figures(X):
    told = gx.explain(lambda X: np.ones(len(X)), X[:40])
    assert 'class="dots' not in told.html()
    assert 'class="ln' not in told.html()


def test_the_models_of_these_tests_interact():
    X, _ = gx.datasets.load_diabetes()
    assert product(X).std() > 0


def test_the_report_says_which_rows_are_which(large):
    told, _ = large
    about = " ".join(told.facts["about"])
    assert "Rows: 900. Regions, curves and means come from 600 of them (search rows)" in about
    assert "from 300 others, set aside before the search (held-out rows)" in about


def test_a_report_always_searches_halves(large, X):
    """They ask the model nothing; also those of a fit that holds rows out."""
    told, _ = large
    small = gx.explain(interacting, X, max_depth=1)
    for one in (told, small):
        stability = one.facts["stability"]
        assert stability["searches"] == 6
        counts = [split.count for split in one.granite.stability_.splits]
        assert [split["times"] for split in stability["splits"]] == counts
        assert {split["verdict"] for split in stability["splits"]} <= {
            "stable",
            "unstable",
            "unclear",
        }


def test_where_halves_cannot_be_searched_the_page_says_who_tells(report, X):
    one_cluster = gx.Granite(interacting, max_depth=1, confidence_level=None)
    one_cluster.fit(X, clusters=np.zeros(len(X)))
    assert len(one_cluster.partition_) > 1
    assert one_cluster.report().facts["stability"] is None
    given = gx.explain(
        interacting, X, partitioner=gx.partitioners.GivenRules(report.granite.partition_)
    )
    assert given.facts["stability"] is None
    assert "g.stability()" in given.html()


def test_the_score_is_that_of_the_rows_it_names(large):
    told, rows = large
    y = interacting(rows) + 0.5  # off by a constant
    about = " ".join(told.granite.report(rows, y).facts["about"])
    assert "typical error 0.5" in about
    assert "300 held-out rows" in about
    constant = told.granite.report(rows, np.ones(len(rows))).facts["about"]
    assert not any("typical error" in sentence for sentence in constant)


def test_the_estimator_inside_a_pipeline_is_named(X):
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LinearRegression()).fit(X, interacting(X))
    assert gx.explain(model, X).facts["about"][0] == "LinearRegression in a Pipeline, 4 features."


def test_figures_on_test_rows_are_those_of_evaluate(report, X):
    found = report.granite.evaluate(X.iloc[:60])
    assert report.facts["evaluation"]["remaining"] == found.remaining
    assert report.facts["evaluation"]["n_rows"] == 60
    with_target = report.granite.report(test=(X.iloc[:60], np.zeros(60)))
    assert with_target.facts["evaluation"] == report.facts["evaluation"]
    assert "rows given for testing" in str(report)


@pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")
def test_where_test_rows_show_noise_only_the_regions_remove_nothing(X):
    """What is left is then not known."""
    rows = X.assign(b=X["a"] + 0.3 * X["b"])
    granite = gx.Granite(lambda X: np.asarray(X["a"] + X["b"]), "mplot-pdp", max_depth=1).fit(rows)
    told = granite.report(test=rows[:5])
    assert np.isnan(granite.evaluate(rows[:5]).remaining)
    assert told.facts["evaluation"]["remaining"] is None
    assert "the regions remove none of the heterogeneity" in " ".join(str(told).split())


def test_on_test_rows_too_rounding_is_no_disagreement(X):
    granite = gx.Granite(lambda X: 1e6 + np.asarray(X)[:, 0] / 3).fit(X[:50])
    told = granite.report(test=X[50:90]).facts["evaluation"]
    assert told["disagreement"] == told["global_disagreement"] == 0.0
    assert told["regions"][0]["disagreement"] == 0.0


def test_single_rows_add_up_in_the_report(X):
    """What columns add, and what they do only together, leads from the mean of the region to the prediction."""
    told = gx.explain(interacting, X, rows=X.iloc[[3, 40]], max_depth=1, search="greedy")
    for line, each in zip((3, 40), told.facts["rows"], strict=True):
        found = told.granite.explain_row(X.iloc[[line]])
        assert each["region"] == told.granite.apply(X.iloc[[line]])[0]
        total = sum(adds for _, _, adds in each["parts"])
        assert total == pytest.approx(found.prediction - found.mean, abs=1e-12)
    assert told.facts["rows"][1]["sentences"][0] in unescape(told.html())
    assert "no other" in told.html()
    assert "No row of the data" in gx.explain(told.granite, X).html()
    with pytest.raises(gx.InputError, match="20 rows at most"):
        told.granite.report(rows=X.iloc[:21])


def test_single_rows_are_called_by_their_labels_or_places(X):
    g = gx.Granite(interacting, max_depth=1, search="greedy").fit(X)
    shown = g.report(rows=X.iloc[[3, 40]]).facts["rows"]
    assert [each["sentences"][0].split(":")[0] for each in shown] == ["Row 3", "Row 40"]
    in_polars = gx.Granite(product_of_two, max_depth=1).fit(pl.from_pandas(X))
    shown = in_polars.report(rows=pl.from_pandas(X.iloc[[3, 40]])).facts["rows"]
    assert [each["sentences"][0].split(":")[0] for each in shown] == ["Row 0", "Row 1"]


def product_of_two(frame):
    return np.asarray(frame[:, 0] * frame[:, 1])


def test_only_the_question_and_options_that_differ_from_defaults_are_listed(X):
    made = gx.Granite(interacting, max_depth=1, min_samples_leaf=7).fit(X).report(X).facts["made"]
    assert set(made["settings"]) == {"question", "max_depth", "min_samples_leaf"}
    assert made["settings"]["max_depth"] == "1"
    assert "interacting" in made["model"]
    assert "0x" not in made["model"]


def test_every_row_has_a_dot_where_there_is_room(X):
    """The effect of a feature that rises leads from low values on the left to high values on the right."""
    page = gx.explain(lambda X: np.asarray(X)[:, 0], X[:60], max_depth=0).html()
    wide = page[page.index('aria-label="Effects of') :]
    wide = wide[: wide.index("</svg>")]
    low = wide[wide.index('class="dots v0"') :].partition('"/>')[0].partition("</path>")[0]
    high = wide[wide.index('class="dots v4"') :].partition("</path>")[0]

    def mean_place(path):
        return np.mean([float(dot.split(" ")[0]) for dot in path.split("M")[1:]])

    assert mean_place(low) < mean_place(high)


def test_long_names_are_cut_where_they_are_alike():
    names = [f"the very long name that all of these features have {part}" for part in "xyz"]
    X = pd.DataFrame(np.random.default_rng(1).normal(size=(80, 3)), columns=names)
    page = gx.explain(lambda X: np.asarray(X) @ [3.0, 2.0, 1.0], X, max_depth=0).html()
    overview = page[page.index('aria-label="Effects of') :]
    overview = overview[: overview.index("</svg>")]
    assert all(f"{part}<" in overview or f"{part}</text>" in overview for part in "xyz")


def test_nothing_in_a_name_acts_on_a_terminal_or_in_markdown(hostile):
    text = str(hostile)
    assert all(character == "\n" or character.isprintable() for character in text)
    assert "\\u202eevil" in text
    assert repr(hostile).isprintable()
    markdown = hostile.markdown()
    assert "<script" not in markdown.replace("\\<", "")
    lines = markdown.replace(INDENT, "").splitlines()
    assert all(line.isprintable() for line in lines)


def test_markdown_says_what_the_page_says(report, tmp_path):
    text = report.markdown(tmp_path / "card.md")
    assert (tmp_path / "card.md").read_text(encoding="utf-8") == text
    assert f"**{report.facts['finding']['headline']}**" in text
    for section in ("differ", "regions", "trust"):
        assert f'id="{section}"' in report.html()
    assert "## How certain this is" in text
    assert "## How this was made" in text


@pytest.mark.slow
def test_bike_sharing_opens_with_the_sentence_a_reader_needs(data_folder):
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, y = gx.datasets.load_bike_sharing()
    model = HistGradientBoostingRegressor(random_state=0, max_iter=40).fit(X, y)
    report = gx.explain(model, X, y, max_samples=1000, max_depth=2)
    finding = report.facts["finding"]
    assert finding["headline"].startswith("The effect of hr depends on workingday")
    assert "held-out rows" in finding["benefit"]
    assert len(report.html().encode()) < 400_000
