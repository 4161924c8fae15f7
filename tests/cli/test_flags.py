"""Messages name flags, not options of the library."""

from __future__ import annotations

import pytest

from cli.running import run
from granite_xai import cli


def test_T01_a_question_about_risk_asks_for_the_flag_of_the_target(folder, capsys):
    asked = ("explain", "table.csv", "--predictor", "own_model:predict", "--drop", "y")
    code, _, err = run(capsys, *asked, "--question", "pfi-risk")
    assert code == 3
    assert "T01: pfi-risk needs y" in err
    assert "Name the column of the target: --target." in err


@pytest.mark.parametrize(
    ("text", "with_flags"),
    [
        ("pass max_samples=500", "pass --max-samples 500"),
        ("gx.Resources(memory_limit=1048577)", "--memory 2"),
        ("pass n_jobs=2", "pass --jobs 2"),
        ("pass groups={...}", "pass groups={...} (in Python)"),
        ('missing="allow"', "--missing allow"),
    ],
)
def test_options_of_the_library_become_flags_or_are_marked(text, with_flags):
    arguments = ["explain", "d.csv", "--model", "m.json"]
    assert cli.with_flags(text, cli.parser().parse_args(arguments)) == with_flags
