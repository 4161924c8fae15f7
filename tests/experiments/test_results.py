"""How results are written down and put together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from experiments.results import Result, number, plain, table, write
from matplotlib.figure import Figure

from experiments import __main__ as program

RESULT = Result(
    title="A toy: first steps",
    text="Before.\n\n![a line](line)\n\nAfter.",
    data={"value": np.float64(1 / 3), "rows": np.arange(2), "none": np.nan},
    figures={"line": Figure(), "forgotten": Figure()},
    differences=(
        """The paper has 1,
        ours is 2.""",
    ),
)


def test_a_table_has_a_line_for_each_row_and_readable_numbers() -> None:
    lines = table([{"a": 1, "b|c": 0.123456}, {"a": 12345.678, "b|c": "x|y"}]).splitlines()
    assert lines == ["| a | b|c |", "| --- | --- |", "| 1 | 0.123 |", "| 12,346 | x\\|y |"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (1e-17, "0"),
        (123.4, "123"),
        (1.5, "1.50"),
        (-0.0123, "-0.0123"),
        (1e-8, "1.00e-08"),
    ],
)
def test_numbers_keep_three_digits(value: float, shown: str) -> None:
    assert number(value) == shown


def test_numbers_of_numpy_become_pythons_and_what_is_not_finite_null() -> None:
    assert plain(RESULT.data) == {"value": 0.3333333, "rows": [0, 1], "none": None}


def test_a_result_is_json_markdown_and_pictures(tmp_path: Path) -> None:
    write(RESULT, "toy", tmp_path, 1.234)
    assert {path.name for path in tmp_path.iterdir()} == {
        "toy.json",
        "toy.md",
        "toy-line.png",
        "toy-forgotten.png",
    }
    record = json.loads((tmp_path / "toy.json").read_text("utf-8"))
    assert record["differences"] == ["The paper has 1, ours is 2."]
    text = (tmp_path / "toy.md").read_text("utf-8")
    assert text.startswith(
        "# A toy: first steps\n\nBefore.\n\n![a line](toy-line.png)\n\nAfter.\n\n![forgotten](toy-forg"
    )
    assert text.endswith("- The paper has 1, ours is 2.\n")


def test_all_results_together_list_commands_seconds_and_differences(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    write(RESULT, "illustration", folder, 12.0)
    text = program.assembled(folder)
    assert (
        "| [A toy: first steps](#a-toy-first-steps) | `make experiment NAME=illustration` | 12 |"
        in text
    )
    assert "- *A toy: first steps.* The paper has 1, ours is 2." in text
    assert "](results/illustration-line.png)" in text
    assert "## A toy: first steps" in text
    assert "Not run yet: order_two" in text


def test_one_experiment_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.order_two.run", lambda quick: RESULT)
    program.main(["order_two", "--quick", "--out", str(tmp_path)])
    assert json.loads((tmp_path / "order_two.json").read_text("utf-8"))["quick"] is True
    assert not (tmp_path.parent / "RESULTS.md").exists()
    with pytest.raises(SystemExit):
        program.main(["nonsense"])
