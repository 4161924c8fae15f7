"""Commands that use saved regions."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from cli.running import EXPLAIN, golden, run


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


COMPARE = ("compare", "regions.json", "table.csv", "--predictor", "own_model:predict")


def test_saved_regions_are_compared_under_another_model_and_on_another_table(folder, capsys):
    run(capsys, *EXPLAIN, "--save", "regions.json")
    other_model = ("--target", "y", "--other-predictor", "own_model:doubled")
    code, out, _ = run(capsys, *COMPARE, *other_model)
    assert code == 0
    assert "first" in out
    assert "second" in out
    lines = json.loads(run(capsys, *COMPARE, *other_model, "--json")[1])
    assert {line["case"] for line in lines} == {"first", "second"}
    pd.read_csv("table.csv").iloc[::2].to_csv("half.csv", index=False)
    other_table = ("--target", "y", "--other-data", "half.csv", "--report", "pair.html")
    code, out, err = run(capsys, *COMPARE, *other_table)
    assert code == 0
    assert "half.csv" in out
    assert err == "Written: pair.html\n"
    assert (folder / "pair.html").exists()


def test_there_is_no_report_of_what_is_no_fit(folder, capsys):
    gx.save(gx.Partition.from_rules(["a ≤ 0", "a > 0"]), folder / "rules.json")
    code, _, err = run(capsys, "show", "rules.json", "--report", "r.html")
    assert code == 2
    assert "holds no fit to report on" in err


def test_rules_alone_are_no_fit_that_could_be_evaluated(folder, capsys):
    gx.save(gx.Partition.from_rules(["a ≤ 0", "a > 0"]), folder / "rules.json")
    code, _, err = run(
        capsys, "evaluate", "rules.json", "table.csv", "--predictor", "own_model:predict"
    )
    assert code == 3
    assert err == "granite: F04: rules.json holds no fit. Save with granite explain --save.\n"


def mean_predictions(lines):
    """The mean prediction over all regions, by case."""
    means = dict.fromkeys((line["case"] for line in lines), 0.0)
    fractions = {}
    for line in lines:
        key = (line["case"], line["region"])
        if line["measure"] == "fraction":
            fractions[key] = line["value"]
        elif line["measure"] == "mean prediction":
            means[line["case"]] += fractions[key] * line["value"]
    return means


def test_a_comparison_counts_rows_by_their_weights(folder, capsys):
    run(capsys, *EXPLAIN, "--save", "regions.json")
    table = pd.read_csv("table.csv")
    table["w"] = np.where(table["a"] > 0, 3.0, 1.0)
    table.to_csv("table.csv", index=False)
    table.assign(w=1.0).to_csv("alike.csv", index=False)
    weighted = ("--target", "y", "--weights", "w", "--json")
    truth = np.average(table["y"], weights=table["w"])
    lines = json.loads(
        run(capsys, *COMPARE, *weighted, "--other-predictor", "own_model:doubled")[1]
    )
    assert mean_predictions(lines) == pytest.approx({"first": truth, "second": 2 * truth})
    lines = json.loads(run(capsys, *COMPARE, *weighted, "--other-data", "alike.csv")[1])
    unweighted = table["y"].mean()
    assert mean_predictions(lines) == pytest.approx({"table.csv": truth, "alike.csv": unweighted})
