"""Reports in the forms that a command was asked for."""

from __future__ import annotations

import argparse

import pytest

from cli.running import EXPLAIN, run
from granite_xai.cli.reports import write_report


class StandIn:
    """A report that remembers what was asked of it."""

    def __init__(self):
        self.written = []

    def html(self, path):
        self.written.append(("html", path))

    def markdown(self, path):
        self.written.append(("markdown", path))

    def figures(self, path, formats):
        self.written.append(("figures", path, formats))

    def json(self):
        return '{"a": 1}\n'


def test_only_what_is_asked_for_is_written_and_said(capsys):
    report = StandIn()
    write_report(report, argparse.Namespace(report=None, json=True))  # a command without the others
    assert report.written == []
    assert capsys.readouterr() == ('{"a": 1}\n', "")
    options = argparse.Namespace(report="r.html", markdown="c.md", figures="out", json=True)
    write_report(report, options)
    assert report.written == [
        ("html", "r.html"),
        ("markdown", "c.md"),
        ("figures", "out", ("png", "svg")),
    ]
    assert capsys.readouterr().err == "Written: r.html\nWritten: c.md\nWritten: out\n"


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
