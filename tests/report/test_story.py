"""What the story says is what the estimator, the explanations and the definitions say."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from report.cases import interacting, product


def test_figures_are_those_of_the_estimator(report, X):
    granite = gx.Granite(interacting, "ice-pdp", min_samples_leaf=30, search="greedy").fit(X)
    figures = report.story["figures"]
    for name in ("disagreement", "remaining", "fidelity", "global_fidelity"):
        assert figures[name] == getattr(granite, f"{name}_") == getattr(report.granite, f"{name}_")
    assert [str(rule) for rule in granite.partition_.rules] == [
        region["rule"] for region in report.story["regions"]
    ]


def test_the_finding_opens_the_story_and_the_page(report):
    assert report.story["opening"] == "The effect of a depends on b."
    assert "<h1>The effect of a depends on b</h1>" in report.html()
    assert repr(report) == "<Report: The effect of a depends on b.>"


def test_what_is_only_sampling_noise_is_said_first():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    told = gx.explain(lambda X: X[:, 0] + X[:, 1] + X[:, 2], X, question="mplot-pdp")
    assert told.story["case"] == "noise"
    assert "differ by sampling noise only" in told.story["opening"]
    assert "differ by sampling noise only" in told.html()


def test_no_raw_rows(report, X):
    text = report.json()
    assert not any(repr(value) in text for value in interacting(X))


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
def test_one_row_has_a_story(rows, X):
    told = gx.explain(interacting, X.iloc[:rows])
    assert told.story["opening"] in str(told).replace("\n", " ")


def test_the_plan_counts_what_the_fit_then_sends(X):
    granite = gx.Granite(interacting)
    found = granite.plan(X)
    assert found["model_rows"] == granite.fit(X).diagnostics_["model"]["rows"]
    assert granite.diagnostics_["plan"]["model_rows"] == found["model_rows"]
    assert found["values"] == dict.fromkeys("abcd", 16)
    assert found["bytes"] == 8 * len(X) * (
        1 + 4 * 16
    )  # its own prediction, and those at all values


def test_the_models_of_these_tests_interact():
    X, _ = gx.datasets.load_diabetes()
    assert product(X).std() > 0


def test_the_report_says_which_rows_are_which(large):
    told, _ = large
    about = " ".join(told.story["about"])
    assert "come from 600 of 900 rows (search rows)." in about
    assert "measured on 300 others, set aside before the search to check the regions" in about
    assert "not used" not in about
    few = gx.explain(interacting, large[1], max_samples=300, max_depth=1)
    assert "rows were not used." in " ".join(few.story["about"])


def test_values_of_effects_are_no_levels(golden_reports):
    """Tables below effects of a classifier are in points, not in percent of a probability."""
    page = golden_reports["classifier"].html()
    more = page[page.index('id="more"') :]
    tables = more.split('<details class="vals">')[1:]
    assert tables
    for part in tables:
        body = part[: part.index("</table>")]
        assert "%" not in body[body.index("<tbody>") :]


def test_the_progress_bar_of_a_report_reaches_its_end(X, monkeypatch):
    bars = []

    class Recorder:
        def __init__(self, resources, total, **look):
            self.total = total
            self.done = 0
            bars.append(self)

        def __call__(self, parts):
            self.done += parts

        def close(self):
            pass

    monkeypatch.setattr("granite_xai.report.story.Meter", Recorder)
    gx.explain(interacting, X.iloc[:60], max_depth=0)
    assert [bar.done for bar in bars] == [bar.total for bar in bars] == [2]
