"""Figures of a report as files."""

from __future__ import annotations

import pandas as pd
import pytest

import granite_xai as gx
from report.cases import interacting


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


def test_without_rows_and_model_the_tree_is_drawn(X, tmp_path):
    granite = gx.Granite(interacting, max_depth=1, search="greedy").fit(X[:60])
    again = gx.load(gx.save(granite, tmp_path / "g.json"))
    written = gx.Report(again).figures(tmp_path / "new" / "folder", formats=["svg"])
    assert [path.name for path in written] == ["report.csv", "regions.svg", "regions.csv"]
    assert written[1].read_text(encoding="utf-8").lstrip().startswith("<?xml")
    assert len(pd.read_csv(written[2])) == 2 * len(again.partition_) - 1
