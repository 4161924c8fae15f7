"""How a command ends: its exit code, and what it leaves on the streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from cli.running import EXPLAIN, run
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


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--model", "m.bin"), 4, "no format that is read here"),
        (("--model", "absent.onnx"), 4, "there is no file absent.onnx"),
        (("--model", "broken.ubj"), 4, "xgboost cannot read broken.ubj"),
        (("--predictor", "own_model"), 2, "is not MODULE:NAME"),
        (("--predictor", "own_model:absent"), 4, "own_model:absent cannot be loaded"),
        (("--predictor", "own_model:fails"), 4, "M07"),
        (("--predictor", "own_model:predict", "--question", "ice-pdf"), 2, "ice-pdp"),
        (("--predictor", "own_model:predict", "--drop", "absent"), 2, "no column 'absent'"),
        (("--predictor", "own_model:predict", "--max-depth", "-1"), 2, "max_depth"),
        (("--predictor", "own_model:predict", "--report", "no/such/folder.html"), 3, "F02"),
    ],
)
def test_S14_every_failure_has_its_exit_code_and_one_sentence(
    folder, capsys, arguments, code, words
):
    (folder / "m.bin").write_bytes(b"?")
    (folder / "broken.ubj").write_bytes(b"?")
    found, out, err = run(capsys, "explain", "table.csv", *arguments)
    assert (found, out) == (code, "")
    assert words in err
    assert "Traceback" not in err
    found, out, _ = run(capsys, "explain", "table.csv", *arguments, "--json")
    assert found == code
    assert json.loads(out)["error"]["code"]


def test_S14_too_much_work_is_a_resource_error(folder, capsys):
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(9000, 3)), columns=["a", "b", "c"]).to_csv(
        "long.csv", index=False
    )
    command = ["explain", "long.csv", "--predictor", "own_model:predict", "--json"]
    exact = [*command, "--max-samples", "all", "--max-grid", "exact"]
    code, out, _ = run(capsys, *exact, "--memory", "8000", "--max-evaluations", "1000000")
    assert code == 5
    assert "M13" in out
    assert "--max-evaluations" in json.loads(out)["error"]["hint"]
    code, out, _ = run(capsys, *exact)
    assert code == 5
    assert "D33" in out
    hint = json.loads(out)["error"]["hint"]
    assert all(flag in hint for flag in ("--max-samples", "--max-grid 16", "--memory"))


@pytest.mark.slow
def test_R15_R17_no_home_no_terminal_no_cache_and_a_reader_that_leaves(folder):
    """Exit code 141 and nothing on stderr, in an environment with next to nothing."""
    reader, writer = os.pipe()
    os.close(reader)
    environment = {
        "PATH": "",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/nonexistent",
        "NUMBA_CACHE_DIR": "/nonexistent",
    }
    environment |= {key: os.environ[key] for key in ("SYSTEMROOT",) if key in os.environ}
    command = [sys.executable, "-m", "granite_xai.cli", *EXPLAIN]
    answer = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, check=False, env=environment
    )
    os.close(writer)
    assert answer.stderr == b""
    assert answer.returncode == 141


@pytest.mark.slow
def test_S09_files_are_the_same_whatever_the_locale(folder):
    texts = set()
    for setting in (
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
        {"LC_ALL": "de_DE.UTF-8", "PYTHONIOENCODING": "cp1252"},
    ):
        command = [
            sys.executable,
            "-m",
            "granite_xai.cli",
            *EXPLAIN,
            "--save",
            "regions.json",
            "--report",
            "r.html",
        ]
        answer = subprocess.run(command, capture_output=True, check=True, env=os.environ | setting)
        assert answer.returncode == 0
        page = (folder / "r.html").read_bytes().partition(b'id="provenance"')[0]
        texts.add(page)
    assert len(texts) == 1
    assert "≤".encode() in page


def test_F02_the_report_is_tried_before_the_work(folder, capsys):
    """A model that fails is never asked."""
    code, _, err = run(
        capsys,
        "explain",
        "table.csv",
        "--predictor",
        "own_model:fails",
        "--report",
        "no/such/r.html",
    )
    assert code == 3
    assert "F02" in err
