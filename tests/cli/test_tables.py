"""Tables that a command reads: CSV strictly, Parquet by the batch."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from cli.running import EXPLAIN, run
from granite_xai.cli import tables
from granite_xai.tables.lazy import collect_rows


@pytest.mark.parametrize("ending", ["parquet", "feather", "tsv"])
def test_other_files_are_read(folder, capsys, ending):
    table = pd.read_csv("table.csv")
    if ending == "tsv":
        table.to_csv("t.tsv", sep="\t", index=False)
    else:
        pytest.importorskip("pyarrow")
        getattr(table, f"to_{ending}")(f"t.{ending}")
    assert run(capsys, "explain", f"t.{ending}", *EXPLAIN[2:], "--plan")[0] == 0


def test_S12_dash_is_standard_input(folder, capsys, monkeypatch):
    raw = (folder / "table.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    assert run(capsys, "explain", "-", *EXPLAIN[2:], "--plan")[0] == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,a\n1,2,3\n", "'a' more than once on line 1"),
        ("a,b\n1,2\n1,2,3\n", "3 cells on line 3, and 2 on line 1"),
        ('a,b\n"1\n",2\n1\n', "1 cells on line 4"),
        ("", "no header on line 1"),
        ("a,b\n1,\udcff\n", "not UTF-8 at byte 6"),
    ],
)
def test_S12_broken_tables_are_refused_with_the_line(folder, capsys, text, words):
    (folder / "bad.csv").write_bytes(text.encode("utf-8", errors="surrogateescape"))
    code, out, err = run(capsys, "explain", "bad.csv", *EXPLAIN[2:])
    assert (code, out) == (3, "")
    assert words in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "path", ["https://example.org/t.csv", "file:///etc/passwd", "absent.csv", "s3://b/t.parquet"]
)
def test_S12_addresses_and_absent_files_are_refused(folder, capsys, path):
    code, _, err = run(capsys, "explain", path, *EXPLAIN[2:])
    assert code == 3
    assert "address" in err or "cannot be read" in err


@pytest.fixture
def large(folder):
    """A Parquet file of many batches, and a model of its columns."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"a": rng.integers(-4, 5, 150_000), "b": rng.integers(0, 2, 150_000), "w": np.ones(150_000)}
    )
    table.to_parquet("large.parquet", row_group_size=20_000)
    (folder / "large_model.py").write_text("def model(X):\n    return X['a'] * (2 * X['b'] - 1)\n")
    return table


@pytest.fixture
def not_collected(monkeypatch):
    """Nobody reads a Parquet file as a whole."""
    for name in (
        "pandas.read_parquet",
        "pyarrow.parquet.read_table",
        "pyarrow.parquet.ParquetFile.read",
    ):
        monkeypatch.setattr(name, lambda *_, **__: pytest.fail("the whole file was read"))


def test_of_a_large_parquet_file_a_sample_is_read(large, not_collected, folder, capsys):
    asked = [
        "explain",
        "large.parquet",
        "--predictor",
        "large_model:model",
        "--weights",
        "w",
        "--save",
        "g.json",
    ]
    code, out, err = run(capsys, *asked, "--max-samples", "300")
    assert code == 0, err
    assert "600 of the 150,000 rows of large.parquet are read." in err
    assert "b = 0" in out
    again = gx.load("g.json")
    assert len(again.diagnostics_["rows"]["search"]) == 300


def test_the_sample_is_that_of_a_lazy_frame(large, not_collected, folder):
    polars = pytest.importorskip("polars")
    options = SimpleNamespace(max_samples="auto", train_on=None, seed=3)
    found = tables.read_table("large.parquet", options)
    same, *_ = collect_rows(polars.scan_parquet("large.parquet"), None, None, None, 3)
    assert len(found) == 50_000
    assert found.to_numpy().tolist() == same.to_numpy().tolist()
    for options.max_samples, options.train_on in (("all", None), ("auto", "y")):
        assert len(tables.read_table("large.parquet", options)) == len(large)


def test_regions_of_a_large_parquet_file_are_printed_batch_by_batch(
    large, not_collected, folder, capsys
):
    gx.save(gx.Partition.from_rules(["b ≤ 0 and a ≤ 0", "b ≤ 0 and a > 0", "b > 0"]), "p.json")
    code, out, _ = run(capsys, "apply", "p.json", "large.parquet")
    assert code == 0
    lines = out.splitlines()
    expected = np.where(large["b"] > 0, 2, (large["a"] > 0).astype(int))
    assert lines[0] == "row,region"
    assert lines[1:] == [f"{row},{region}" for row, region in enumerate(expected.tolist())]
    code, out, _ = run(capsys, "apply", "p.json", "large.parquet", "--json")
    assert json.loads(out) == {"regions": expected.tolist()}


def test_S12_a_cell_that_turns_numbers_into_text_is_named(folder, capsys):
    """Column, line and cell: nobody explains a column of text that should hold numbers."""
    lines = (folder / "table.csv").read_text(encoding="utf-8").splitlines()
    cells = lines[17].split(",")
    lines[17] = ",".join([cells[0], "1.2.5", *cells[2:]])
    (folder / "odd.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    frame = tables.read_table("odd.csv")
    assert str(frame["b"].iloc[16]) == "1.2.5"
    err = capsys.readouterr().err
    assert "granite: warning: S12: column 'b' of odd.csv is read as text" in err
    assert "1 cell is no number: line 18 holds '1.2.5'" in err
    (folder / "texts.csv").write_text("id,n\nA1,1\n12,2\nB7,\n99,4\n", encoding="utf-8")
    tables.read_table("texts.csv")
    tables.read_table("table.csv")
    assert capsys.readouterr().err == ""


def test_M07_text_for_a_model_of_categories_names_the_flag(folder, capsys):
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": rng.choice([*"xyz"], 200), "a": rng.normal(size=200)})
    known = X.astype({"c": "category"})
    model = xgboost.XGBRegressor(n_estimators=5, enable_categorical=True)
    model.fit(known, X["a"] * (X["c"] == "x"))
    model.save_model(folder / "model.json")
    X.to_csv(folder / "texts.csv", index=False)
    asked = ("explain", "texts.csv", "--model", "model.json")
    code, _, err = run(capsys, *asked)
    assert code == 4
    assert "M07" in err
    assert (
        "The model was given text in 'c'. If it was trained on categories: --categories c." in err
    )
    code, out, err = run(capsys, *asked, "--categories", "c")
    assert code == 0, err
    assert "c = x" in out
