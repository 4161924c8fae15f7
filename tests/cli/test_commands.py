"""Each command on files: what it prints, and what it leaves behind."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pandas as pd
import pytest

import granite_xai as gx
from cli.running import EXPLAIN, run
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
    assert "Rows: 17,379. Regions and curves come from 7,002 of them" in text
    assert "workingday" in text


GOLDEN = Path(__file__).parent / "golden"


def golden(name, text):
    file = GOLDEN / f"{name}.txt"
    text = text.replace(gx.__version__, "VERSION")
    if os.environ.get("GRANITE_GOLDEN") == "write":
        file.write_text(text, encoding="utf-8", newline="\n")
    assert text == file.read_text(encoding="utf-8")


def test_explain_tells_the_story(folder, capsys):
    code, out, err = run(capsys, *EXPLAIN, "--report", "report.html", "--save", "regions.json")
    assert code == 0
    golden("explain", out)
    assert err == "Written: report.html\nWritten: regions.json\n"
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert isinstance(gx.load(folder / "regions.json"), gx.Granite)


def test_saved_regions_are_applied_evaluated_and_shown(folder, capsys):
    run(capsys, *EXPLAIN, "--save", "regions.json")
    code, out, _ = run(capsys, "apply", "regions.json", "table.csv")
    assert code == 0
    golden("apply", "".join(out.splitlines(keepends=True)[:6]))
    assert len(out.splitlines()) == 91
    _, out, _ = run(capsys, "apply", "regions.json", "table.csv", "--json")
    assert len(json.loads(out)["regions"]) == 90
    code, out, _ = run(
        capsys,
        "evaluate",
        "regions.json",
        "table.csv",
        "--predictor",
        "own_model:predict",
        "--target",
        "y",
    )
    assert code == 0
    golden("evaluate", out)
    code, out, _ = run(capsys, "show", "regions.json")
    assert code == 0
    golden("show", out)
    assert run(capsys, "show", "regions.json", "--report", "again.html")[0] == 0
    assert (folder / "again.html").exists()


ROW = ("row", "regions.json", "table.csv", "--predictor", "own_model:predict", "--target", "y")


def test_rows_are_explained_one_by_one(folder, capsys):
    """From a file without rows the curves of the fit tell it; by position, and by a column that is no feature."""
    run(capsys, *EXPLAIN, "--save", "regions.json")
    code, out, _ = run(capsys, *ROW, "--row", "17")
    assert code == 0
    golden("row", out)
    code, several, _ = run(capsys, *ROW, "--row", "17", "3", "5")
    assert code == 0
    assert [line.split()[0] for line in several.splitlines()] == [
        "row",
        *["17"] * 4,
        *["3"] * 4,
        *["5"] * 4,
    ]
    table = pd.read_csv("table.csv")
    table["id"] = [f"c{i}" for i in range(len(table))]
    table.to_csv("with_id.csv", index=False)
    by_key = ("row", "regions.json", "with_id.csv", *ROW[3:], "--key", "id=c17")
    assert run(capsys, *by_key)[1] == out
    lines = json.loads(run(capsys, *by_key, "--json")[1])
    assert [line["set"] for line in lines] == ["a", "b", "c", "together"]
    code, _, err = run(capsys, *ROW, "--row", "900")
    assert code == 2
    assert "no such row" in err
    assert run(capsys, *ROW, "--key", "nowhere=1")[0] == 2


@pytest.mark.slow
def test_the_report_is_handed_over_as_markdown_and_as_figures(folder, capsys):
    code, _, err = run(capsys, *EXPLAIN, "--markdown", "card.md", "--figures", "out")
    assert code == 0
    assert err == "Written: card.md\nWritten: out\n"
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert card.startswith("# What predicted y depends on\n")
    kinds = {path.suffix for path in (folder / "out").iterdir()}
    assert kinds == {".png", ".svg", ".csv"}
    assert {path.stem for path in (folder / "out").iterdir()} == {
        "regions",
        "effects",
        "importances",
        "overview",
        "report",
    }
    code, _, err = run(capsys, *EXPLAIN, "--figures", "out")
    assert code == 2
    assert "not an empty folder" in err
    assert run(capsys, *EXPLAIN, "--figures", "out", "--force")[0] == 0
    assert run(capsys, *EXPLAIN, "--markdown", "table.csv")[0] == 2
    assert run(capsys, *EXPLAIN, "--markdown", "one", "--report", "one")[0] == 2


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


@pytest.mark.parametrize("name", ["questions", "explanations", "frameworks"])
def test_lists(name, capsys):
    code, out, _ = run(capsys, name)
    assert code == 0
    golden(name, out)
    _, out, _ = run(capsys, name, "--json")
    assert len(json.loads(out)) == len(getattr(gx, name)()) if name != "frameworks" else 7


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


def test_a_grid_and_a_memory_limit_can_be_asked_for(folder, capsys):
    """Both reach the fit: the plan has fewer values, and a limit that nothing fits is refused by its name."""
    values = []
    for grid in ("auto", "5", "exact"):
        code, out, _ = run(capsys, *EXPLAIN, "--plan", "--json", "--max-grid", grid)
        assert code == 0
        values.append(json.loads(out)["values"]["a"])
    assert values[:2] == [16, 5]
    assert values[2] > 16
    code, _, err = run(capsys, *EXPLAIN, "--memory", "1")
    assert code == 5
    assert "D33" in err


def test_show_refuses_what_is_not_ours(folder, capsys):
    (folder / "p.json").write_bytes(pickle.dumps({"a": 1}))
    code, _, err = run(capsys, "show", "p.json")
    assert code == 3
    assert "F06" in err
    assert run(capsys, "show", "absent.json")[0] == 3


def test_saved_rules_are_shown_and_applied(folder, capsys):
    gx.save(gx.Partition.from_rules(["a ≤ 0", "a > 0"]), folder / "rules.json")
    assert "a ≤ 0" in run(capsys, "show", "rules.json")[1]
    assert run(capsys, "apply", "rules.json", "table.csv")[1].startswith("row,region\n")
