"""Commands that search for regions: what they print, and what they leave behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import granite_xai as gx
from cli.running import EXPLAIN, golden, run
from granite_xai import cli


@pytest.mark.slow
def test_demo_prints_tree_and_figures_and_writes_its_report(capsys):
    """As make demo does."""
    assert cli.main(["demo"]) == 0
    text, written = capsys.readouterr()
    assert "diabetes data, 10 features" in text
    assert "Rows: 442." in text
    parts = ("depend", "One curve per feature describes", "all rows", "Next: granite explain")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert Path("report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "report.html" in written


@pytest.mark.slow
def test_demo_leaves_a_report_that_is_there_alone(capsys):
    Path("report.html").write_text("mine", encoding="utf-8")
    assert cli.main(["demo"]) == 0
    assert Path("report.html").read_text(encoding="utf-8") == "mine"


def test_demo_as_json_holds_what_the_estimator_says(capsys):
    assert cli.main(["demo", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    partition = gx.Partition.from_dict(facts["partition"])
    assert facts["question"] == "ice-pdp"
    assert facts["disagreement"] > 0
    assert sum(region.disagreement for region in partition) == pytest.approx(facts["remaining"])
    assert facts["fidelity"] > facts["global_fidelity"]


@pytest.mark.slow
def test_demo_reads_bike_sharing(data_folder, capsys):
    assert cli.main(["demo", "--data", "bike"]) == 0
    text = capsys.readouterr().out
    assert "Rows: 17,379. Regions, curves and means come from 7,002 of them" in text
    assert "workingday" in text


def test_explain_tells_the_story(folder, capsys):
    code, out, err = run(capsys, *EXPLAIN, "--report", "report.html", "--save", "regions.json")
    assert code == 0
    golden("explain", out)
    assert err == "Written: report.html\nWritten: regions.json\n"
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert isinstance(gx.load(folder / "regions.json"), gx.Granite)


def test_explain_as_json_is_the_story(folder, capsys):
    code, out, _ = run(capsys, *EXPLAIN, "--json")
    assert code == 0
    assert json.loads(out)["figures"]["remaining"] < 0.2


def test_plan_says_what_it_would_cost_and_does_nothing(folder, capsys):
    code, out, _ = run(capsys, *EXPLAIN, "--plan", "--json")
    assert code == 0
    facts = json.loads(out)
    assert (facts["rows"], facts["held_out"], facts["available"]) == (90, 0, 90)
    assert facts["values"].keys() == set("abc")
    code, out, _ = run(capsys, *EXPLAIN, "--plan")
    assert out.startswith("90 rows search and 0 are held out, of 90 rows with 3 features.\n")
    assert f"\n{facts['model_rows']:,} rows are sent to the model" in out
    values = ", ".join(f"{name} {count}" for name, count in facts["values"].items())
    assert out.endswith(f"Values of each feature: {values}.\n")
    code, out, _ = run(capsys, *EXPLAIN, "--json")
    assert json.loads(out)["provenance"]["fit_rows"] == facts["model_rows"]


def test_frameworks_are_compared(folder, capsys):
    code, out, _ = run(
        capsys,
        "frameworks",
        "compare",
        *EXPLAIN[1:],
        "--frameworks",
        "granite",
        "repid",
        "--max-samples",
        "0",
        "--json",
    )
    assert code == 0
    assert [line["framework"] for line in json.loads(out)] == ["granite", "repid"]
