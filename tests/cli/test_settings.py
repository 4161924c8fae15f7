"""Options of the command line as arguments of the library."""

from __future__ import annotations

import json

import pytest

from cli.running import EXPLAIN, run
from granite_xai import cli
from granite_xai.cli.settings import limits_of, settings_of


def options(*arguments):
    return cli.parser().parse_args([*EXPLAIN, *arguments])


@pytest.mark.parametrize(
    ("text", "output"), [("2", 2), ("-1", -1), ("late", "late"), ("2b", "2b"), ("all", "all")]
)
def test_an_output_is_a_number_or_the_name_of_a_class(text, output):
    assert settings_of(options("--output", text))["output"] == output
    assert settings_of(options())["output"] is None


@pytest.mark.parametrize(
    ("text", "max_samples"), [("all", None), ("0", None), ("auto", "auto"), ("50", 50)]
)
def test_all_rows_are_no_limit(text, max_samples):
    assert limits_of(options("--max-samples", text))["max_samples"] == max_samples


def test_resources_have_the_units_of_the_library():
    resources = limits_of(options("--memory", "3", "--max-grid", "exact", "--batch-size", "7"))[
        "resources"
    ]
    assert resources.memory_limit == 3 * 2**20
    assert resources.max_grid is None
    assert resources.batch_size == 7
    assert limits_of(options())["resources"].max_grid == "auto"


def test_settings_are_arguments_of_the_same_meaning():
    settings = settings_of(options("--features", "a", "b", "--seed", "4", "--jobs", "2"))
    assert settings["features"] == ["a", "b"]
    assert settings["random_state"] == 4
    assert settings["n_jobs"] == 2
    assert (settings["max_depth"], settings["min_samples_leaf"], settings["alpha"]) == (3, 20, 0.05)


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
