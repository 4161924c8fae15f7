"""The command line: what it prints, how it fails, how fast it starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import granite_xai as gx
from granite_xai import cli


def granite(*arguments, **options):
    command = [sys.executable, "-m", "granite_xai.cli", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", check=False, **options
    )


@pytest.fixture
def failing(monkeypatch):
    """Let the demo end in the given way."""

    def end_with(error):
        def refuse():
            raise error

        monkeypatch.setattr(gx.datasets, "load_diabetes", refuse)

    return end_with


@pytest.mark.slow
def test_demo_prints_tree_and_figures_and_writes_its_report(capsys):
    """As make demo does."""
    assert cli.main(["demo"]) == 0
    text, written = capsys.readouterr()
    assert "442 rows and 10 columns" in text
    for figure in ("disagreement_", "remaining_", "fidelity_", "global_fidelity_"):
        assert figure in text
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
    assert "bike data, 7,002 rows" in text
    assert "workingday" in text


@pytest.mark.slow
def test_data_that_cannot_be_found_is_a_data_error(tmp_path):
    """No folder, no network: a sentence and exit code 3, no traceback."""
    offline = {
        "GRANITE_DATA": str(tmp_path),
        "SCIKIT_LEARN_DATA": str(tmp_path),
        "https_proxy": "http://127.0.0.1:9",
    }
    answer = granite("demo", "--data", "bike", env=os.environ | offline)
    assert answer.returncode == 3
    assert answer.stderr.splitlines()[-1].startswith("granite: D44: ")
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (gx.InputError("bad", code="D01"), 3),
        (gx.InputError("bad", code="P02"), 2),
        (gx.FormatError("bad", code="F04"), 3),
        (gx.ModelError("bad", code="M04"), 4),
        (gx.ResourceError("bad", code="D33"), 5),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_codes(failing, error, code):
    failing(error)
    assert cli.main(["demo"]) == code


def test_errors_as_json_are_machine_readable(failing, capsys):
    failing(
        gx.InputError("NaN", code="D01", argument="X", columns=["temp"], rows=[3], hint="impute")
    )
    assert cli.main(["demo", "--json"]) == 3
    error = json.loads(capsys.readouterr().out)["error"]
    assert error == {
        "message": "D01: NaN impute",
        "code": "D01",
        "argument": "X",
        "columns": ["temp"],
        "rows": [3],
        "hint": "impute",
    }


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["demo", "--data", "moon"]])
def test_wrong_usage_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert "usage: granite" in capsys.readouterr().err


def test_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"granite-xai {gx.__version__}\n"


def test_the_command_starts_fast():
    """Best of five; a bare interpreter is part of it."""

    def seconds():
        start = time.perf_counter()
        granite("--version")
        return time.perf_counter() - start

    assert min(seconds() for _ in range(5)) < 0.3


@pytest.mark.slow
def test_a_reader_that_leaves_early_causes_no_noise():
    """`granite demo | head -0`: exit code 141, nothing on stderr."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "granite_xai.cli", "demo"]
    answer = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert answer.returncode == 141
    assert answer.stderr == b""


@pytest.mark.slow
def test_a_terminal_without_the_sign_still_gets_the_rules():
    answer = granite("demo", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert answer.returncode == 0
    assert "\\u2264" in answer.stdout


@pytest.mark.parametrize(("given", "read"), [("auto", "auto"), ("0.02", 0.02)])
def test_the_price_of_a_region_is_a_share_or_auto(given, read):
    assert (
        cli.parser().parse_args(["explain", "d.csv", "--model", "m.json", "--alpha", given]).alpha
        == read
    )
