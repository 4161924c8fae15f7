"""Report and explain: ways to ask for it, and files that hold it."""

from __future__ import annotations

import json
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import granite_xai as gx
from report.cases import interacting, late


def test_the_facts_are_json_and_stay_it(report, tmp_path):
    text = report.json(tmp_path / "facts.json")
    assert (tmp_path / "facts.json").read_text(encoding="utf-8") == text
    assert json.loads(text)["finding"] == report.facts["finding"]


def test_html_replaces_the_file(report, tmp_path):
    file = tmp_path / "report.html"
    file.write_text("old", encoding="utf-8")
    assert report.html(file) == file.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_frame_has_one_line_for_each_scope_and_set(report):
    frame = report.frame()
    assert len(frame) == 4 * (1 + len(report.granite.partition_))
    assert frame["disagreement"][:4].sum() == pytest.approx(report.granite.disagreement_, rel=1e-4)


def test_a_loaded_object_is_told_from_its_curves(report, tmp_path):
    gx.save(report.granite, tmp_path / "g.json")
    again = gx.Report(gx.load(tmp_path / "g.json"))
    assert again.facts["fit"] == report.facts["fit"]
    assert again.facts["curves"] == report.facts["curves"]
    assert "<svg" in again.html()


def test_two_reports_of_one_fit_are_equal():
    first, second = late(), late()
    for told in (first, second):
        told.facts["made"].update(made="", seconds={"fit": 0, "model": 0, "report": 0})
    assert first.json() == second.json()
    without_times = [
        re.sub(r"fit [^<]* report [0-9.]+|\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", told.html())
        for told in (first, second)
    ]
    assert without_times[0] == without_times[1]


@pytest.mark.parametrize("question", ["ice-pdp", "pfi-risk", "mplot-pdp"])
@pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")
def test_a_fit_has_the_report_that_explain_would_have_told(X, question):
    """The same facts but for their costs, by the three ways to ask for it."""
    y = interacting(X)
    told = gx.explain(
        interacting, X, y, question=question, max_samples=100, title="One", search="greedy"
    ).facts
    g = gx.Granite(interacting, question, max_samples=100, search="greedy").fit(X, y)
    facts_of_the_fit = [
        gx.explain(g, X, y, title="One").facts,
        g.report(X, y, title="One").facts,
        gx.Report(g, X, y, title="One").facts,
    ]
    for each in (told, *facts_of_the_fit):
        each.pop("made")
    for each in facts_of_the_fit:
        assert each == told


def test_the_report_of_a_fit_needs_no_table(X):
    g = gx.Granite(interacting, search="greedy").fit(X)
    told = gx.explain(interacting, X, search="greedy")
    assert g.report().facts["curves"] == told.facts["curves"]
    assert g.report(test=X[:40]).facts["evaluation"]["n_rows"] == 40


def test_the_report_of_a_fit_says_what_it_lacks(X):
    g = gx.Granite(interacting, "pfi-risk", search="greedy").fit(X, interacting(X))
    assert g.report().facts["curves"] == g.report(X, interacting(X)).facts["curves"]
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


def test_the_report_of_all_outputs_is_that_of_each(X):
    """One tab an output: the facts of its own view, in the regions of all."""

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
    assert list(told.facts["outputs"]) == [str(name) for name in told.granite.outputs_]
    for k, (name, facts) in enumerate(
        zip(told.granite.outputs_, told.facts["outputs"].values(), strict=True)
    ):
        alone = told.granite.of_output(name).report(X, model(X)[:, k]).facts
        assert facts["curves"] == alone["curves"]
        assert facts["regions"] == alone["regions"]
        assert any("R² 1.00" in text for text in facts["about"])  # of its own column of y
        assert facts["evaluation"]["n_rows"] == len(X)
    with pytest.raises(gx.InputError, match="not the table of the fit"):
        told.granite.report(X[::-1], model(X))
    assert told.html().count('role="tab"') == 2
    assert set(told.frame()["output"]) == set(told.facts["outputs"])
    assert " ".join(str(told).split()).count("rows were sent to the model") == 2
    assert told.markdown().startswith("# ")
