"""The command granite: what it prints and writes, what it refuses, and how it ends."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.cli import main

MODULE = """
import numpy as np

def predict(X):
    return np.asarray(X["a"]) * np.where(np.asarray(X["b"]) > 0, 1.0, -1.0) + 0.25 * np.asarray(X["c"] * X["a"])

def fails(X):
    raise RuntimeError("no power")
"""
ASKED = ("--predictor", "own_model:predict", "--target", "y")
EXPLAIN = ("explain", "table.csv", *ASKED)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a table and a module; it is where the command runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "own_model", raising=False)
    (tmp_path / "own_model.py").write_text(MODULE, encoding="utf-8")
    table_of_the_module().to_csv("table.csv", index=False)
    return tmp_path


def table_of_the_module():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(-8, 9, (90, 3)) / 8, columns=["a", "b", "c"])
    scope: dict = {}
    exec(MODULE, scope)
    return X.assign(y=scope["predict"](X))


@pytest.fixture
def run(capsys):
    """Run a command: its exit code, stdout, stderr."""

    def command(*arguments):
        code = main([*map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def granite(*arguments, **options):
    """The command in a process of its own."""
    command = [sys.executable, "-m", "granite_xai.cli", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", check=False, **options
    )


# -------------------------------------------------------------------------------------------------------------- demo


@pytest.mark.slow
def test_demo_prints_tree_and_figures_and_writes_its_report(run):
    """As make demo does; a report that is there stays as it is."""
    code, text, written = run("demo")
    assert code == 0
    assert "diabetes data, 10 features" in text
    assert "Rows: 442." in text
    parts = ("depend", "One curve per feature describes", "all rows", "Next: granite explain")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert Path("report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "report.html" in written
    Path("report.html").write_text("mine", encoding="utf-8")
    assert run("demo")[0] == 0
    assert Path("report.html").read_text(encoding="utf-8") == "mine"


def test_demo_as_json_holds_what_the_estimator_says(run):
    code, out, _ = run("demo", "--json")
    assert code == 0
    facts = json.loads(out)
    partition = gx.Partition.from_dict(facts["partition"])
    assert facts["question"] == "ice-pdp"
    assert facts["disagreement"] > 0
    assert sum(region.disagreement for region in partition) == pytest.approx(facts["remaining"])
    assert facts["fidelity"] > facts["global_fidelity"]
    assert not Path("report.html").exists()


@pytest.mark.slow
def test_demo_reads_bike_sharing(data_folder, run):
    code, text, _ = run("demo", "--data", "bike")
    assert code == 0
    assert "Rows: 17,379. Regions, curves and means come from 7,002 of them" in text
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


# ----------------------------------------------------------------------------------------------------------- explain


def test_explain_prints_the_result_and_writes_what_is_asked_for(run):
    written = ("--report", "r.html", "--markdown", "card.md", "--save", "regions.json")
    code, out, err = run(*EXPLAIN, *written)
    assert code == 0
    assert out.startswith("The effect of a depends on b.\n")
    assert out.endswith("Next: see r.html\n")
    assert err == "Written: r.html\nWritten: card.md\nWritten: regions.json\n"
    assert Path("r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    card = Path("card.md").read_text(encoding="utf-8")
    assert card.startswith("# What predicted y depends on\n")
    assert isinstance(gx.load("regions.json"), gx.Granite)
    assert run(*EXPLAIN)[1].endswith("Next: --report report.html writes the report\n")


def test_explain_as_json_is_the_story(run):
    code, out, _ = run(*EXPLAIN, "--json")
    assert code == 0
    assert json.loads(out)["fit"]["remaining"] < 0.2


def test_plan_says_what_it_would_cost_and_does_nothing(run):
    code, out, _ = run(*EXPLAIN, "--plan", "--json", "--save", "regions.json")
    assert code == 0
    assert not Path("regions.json").exists()
    facts = json.loads(out)
    assert (facts["rows"], facts["held_out"], facts["available"]) == (90, 0, 90)
    assert facts["values"].keys() == set("abc")
    code, out, _ = run(*EXPLAIN, "--plan")
    assert out.startswith("90 rows search and 0 are held out, of 90 rows with 3 features.\n")
    assert f"\n{facts['model_rows']:,} rows are sent to the model" in out
    values = ", ".join(f"{name} {count}" for name, count in facts["values"].items())
    assert out.endswith(f"Values of each feature: {values}.\n")
    code, out, _ = run(*EXPLAIN, "--json")
    assert json.loads(out)["made"]["model_rows"] == facts["model_rows"]


def test_options_of_the_command_are_those_of_the_library(run):
    asked = ("--features", "a", "b", "--split-features", "b", "--seed", "4", "--jobs", "2")
    limits = ("--max-depth", "1", "--min-samples-leaf", "7", "--alpha", "auto")
    cost = ("--max-samples", "0", "--max-grid", "exact", "--batch-size", "9", "--memory", "300")
    kept = ("--missing", "allow", "--output", "0", "--save", "g.json")
    code, _, err = run(*EXPLAIN, *asked, *limits, *cost, *kept)
    assert code == 0, err
    options = gx.load("g.json").get_params()
    expected = {
        "features": ["a", "b"],
        "split_features": ["b"],
        "random_state": 4,
        "n_jobs": 2,
        "max_depth": 1,
        "min_samples_leaf": 7,
        "alpha": "auto",
        "max_samples": None,
        "missing": "allow",
        "output": 0,
    }
    assert {name: options[name] for name in expected} == expected
    resources = options["resources"]
    assert (resources.max_grid, resources.batch_size) == (None, 9)
    assert resources.memory_limit == 300 * 2**20


def test_weights_count(run):
    weights = np.where(table_of_the_module()["a"] > 0, 3, 1)
    table_of_the_module().assign(w=weights).to_csv("table.csv", index=False)
    code, out, err = run(*EXPLAIN, "--weights", "w", "--json")
    assert code == 0, err
    expected = np.average(table_of_the_module()["y"], weights=weights)
    assert json.loads(out)["nodes"][0]["mean"] == pytest.approx(expected)


def test_other_rows_judge(run):
    table_of_the_module().iloc[:30].to_csv("other.csv", index=False)
    code, out, err = run(*EXPLAIN, "--test", "other.csv", "--json")
    assert code == 0, err
    assert json.loads(out)["evaluation"]["n_rows"] == 30


def test_train_on_fits_a_model_and_holds_rows_out(run):
    code, out, err = run("explain", "table.csv", "--train-on", "y", "--min-samples-leaf", "10")
    assert code == 0
    assert err.startswith("HistGradientBoostingRegressor fitted to 'y' on 67 rows; R² ")
    assert err.rstrip().endswith("on the other 23 rows.")
    assert "Rows: 67." in out


def test_train_on_labels_fits_a_classifier_to_text(run):
    table = table_of_the_module().assign(weather=["mist", "clear"] * 45, w=1.0)
    table = table.assign(y=np.where(table["y"] > 0, "late", "in time"))
    table.to_csv("labels.csv", index=False)
    table.iloc[:9:2].to_csv("other.csv", index=False)  # where it is never clear
    asked = ("explain", "labels.csv", "--train-on", "y", "--weights", "w")
    code, out, err = run(*asked, "--test", "other.csv")
    assert code == 0, err
    assert err.startswith("HistGradientBoostingClassifier fitted to 'y'")
    assert "the probability of y = late" in " ".join(out.split())


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda table: table.assign(y=table["y"].where(table.index != 4)), "T03"),
        (lambda table: table.iloc[:39], "D28"),
    ],
)
def test_no_model_is_fitted_to_gaps_or_few_rows(run, change, code):
    change(table_of_the_module()).to_csv("odd.csv", index=False)
    ended, out, err = run("explain", "odd.csv", "--train-on", "y")
    assert (ended, out) == (3, "")
    assert f"granite: {code}: " in err


def test_messages_name_flags(run):
    code, _, err = run("explain", "table.csv", *ASKED[:2], "--drop", "y", "--question", "pfi-risk")
    assert code == 3
    assert "T01: pfi-risk needs y" in err
    assert "Name the column of the target: --target." in err
    code, _, err = run(*EXPLAIN, "--max-evaluations", "3000")
    assert code == 5
    *fewer, higher_limit = re.findall(r"\((--max-\w+ \d+)\)", err)
    assert fewer
    for remedy in fewer:
        assert run(*EXPLAIN, "--max-evaluations", "3000", *remedy.split())[0] == 0, remedy
    assert run(*EXPLAIN, *higher_limit.split())[0] == 0
    code, _, err = run(*EXPLAIN, "--memory", "1")
    assert code == 5
    assert "D33" in err
    code, out, _ = run(*EXPLAIN, "--memory", "1", "--json")
    assert "--memory" in json.loads(out)["error"]["hint"]


def test_the_help_says_that_a_pickle_runs_code(capsys):
    with pytest.raises(SystemExit):
        main(["explain", "--help"])
    assert "runs whatever code it holds" in " ".join(capsys.readouterr().out.split())


# ------------------------------------------------------------------------------------------------------------ tables


@pytest.mark.parametrize("ending", ["parquet", "feather", "tsv"])
def test_other_files_are_read(run, ending):
    if ending == "tsv":
        table_of_the_module().to_csv("t.tsv", sep="\t", index=False)
    else:
        pytest.importorskip("pyarrow")
        getattr(table_of_the_module(), f"to_{ending}")(f"t.{ending}")
    assert run("explain", f"t.{ending}", *ASKED, "--plan")[0] == 0


def test_dash_is_standard_input(folder, run, monkeypatch):
    raw = (folder / "table.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    assert run("explain", "-", *ASKED, "--plan")[0] == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,a\n1,2,3\n", "D07: bad.csv has 'a' more than once on line 1"),
        ("a,b\n1,2\n1,2,3\n", "S12: bad.csv has 3 cells on line 3, and 2 on line 1"),
        ('a,b\n"1\n",2\n1\n', "1 cells on line 4"),
        ("", "no header on line 1"),
        ("a,b\n1,\udcff\n", "not UTF-8 at byte 6"),
    ],
)
def test_broken_tables_are_refused_with_the_line(run, text, words):
    Path("bad.csv").write_bytes(text.encode("utf-8", errors="surrogateescape"))
    code, out, err = run("explain", "bad.csv", *ASKED)
    assert (code, out) == (3, "")
    assert words in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "path", ["https://example.org/t.csv", "file:///etc/passwd", "absent.csv", "s3://b/t.parquet"]
)
def test_addresses_and_absent_files_are_refused(run, path):
    code, _, err = run("explain", path, *ASKED)
    assert code == 3
    assert "address" in err or "cannot be read" in err


def test_a_file_that_is_no_parquet_and_a_package_that_is_missing_are_named(run, monkeypatch):
    pytest.importorskip("pyarrow")
    Path("t.parquet").write_bytes(b"?")
    code, _, err = run("explain", "t.parquet", *ASKED)
    assert code == 3
    assert "S12: t.parquet is not what its name says" in err
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = run("explain", "t.parquet", *ASKED)
    assert code == 3
    assert "S12: t.parquet needs the package pyarrow. pip install pyarrow installs it." in err


@pytest.fixture
def large(monkeypatch):
    """A Parquet file of many batches, which nobody reads as a whole, and a model of its columns."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"a": rng.integers(-4, 5, 150_000), "b": rng.integers(0, 2, 150_000), "w": np.ones(150_000)}
    )
    table.to_parquet("large.parquet", row_group_size=20_000)
    Path("large_model.py").write_text("def model(X):\n    return X['a'] * (2 * X['b'] - 1)\n")
    for name in (
        "pandas.read_parquet",
        "pyarrow.parquet.read_table",
        "pyarrow.parquet.ParquetFile.read",
    ):
        monkeypatch.setattr(name, lambda *_, **__: pytest.fail("the whole file was read"))
    return table


def test_of_a_large_parquet_file_the_sample_of_a_lazy_frame_is_read(large, run):
    polars = pytest.importorskip("polars")
    asked = ("explain", "large.parquet", "--predictor", "large_model:model")
    code, out, err = run(*asked, "--drop", "w", "--save", "g.json", "--max-samples", "300")
    assert code == 0, err
    assert "600 of the 150,000 rows of large.parquet are read." in err
    assert "b = 0" in out
    rows = polars.scan_parquet("large.parquet").drop("w")
    lazy = gx.Granite(
        lambda X: (X["a"] * (2 * X["b"] - 1)).to_numpy(), max_samples=300, random_state=0
    ).fit(rows)
    assert gx.load("g.json").disagreement_ == pytest.approx(lazy.disagreement_, rel=1e-12)


def test_regions_of_a_large_parquet_file_are_printed_batch_by_batch(large, run):
    gx.save(gx.Partition.from_rules(["b ≤ 0 and a ≤ 0", "b ≤ 0 and a > 0", "b > 0"]), "p.json")
    code, out, _ = run("apply", "p.json", "large.parquet")
    assert code == 0
    lines = out.splitlines()
    expected = np.where(large["b"] > 0, 2, (large["a"] > 0).astype(int))
    assert lines[0] == "row,region"
    assert lines[1:] == [f"{row},{region}" for row, region in enumerate(expected.tolist())]
    code, out, _ = run("apply", "p.json", "large.parquet", "--json")
    assert json.loads(out) == {"regions": expected.tolist()}


def test_a_cell_that_turns_numbers_into_text_is_named(folder, run):
    """Column, line and cell: nobody explains a column of text that should hold numbers."""
    lines = (folder / "table.csv").read_text(encoding="utf-8").splitlines()
    cells = lines[17].split(",")
    lines[17] = ",".join([cells[0], "1.2.5", *cells[2:]])
    Path("odd.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _, _, err = run("explain", "odd.csv", *ASKED)
    assert "granite: warning: S12: column 'b' of odd.csv is read as text" in err
    assert "1 cell is no number: line 18 holds '1.2.5'" in err
    texts = [
        f"{name},{cell}"
        for name, cell in zip(["A1", "12", "B7", "99"] * 20, [1, 2] * 40, strict=True)
    ]
    Path("texts.csv").write_text("\n".join(["id,a", *texts]) + "\n", encoding="utf-8")
    Path("only_a.py").write_text("def model(X):\n    return X['a'] * 1.0\n", encoding="utf-8")
    code, _, err = run("explain", "texts.csv", "--predictor", "only_a:model", "--plan")
    assert (code, err) == (0, "")


def test_text_for_a_model_of_categories_names_the_flag(run):
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": rng.choice([*"xyz"], 200), "a": rng.normal(size=200)})
    model = xgboost.XGBRegressor(n_estimators=5, enable_categorical=True)
    model.fit(X.astype({"c": "category"}), X["a"] * (X["c"] == "x"))
    model.save_model("model.json")
    X.to_csv("texts.csv", index=False)
    asked = ("explain", "texts.csv", "--model", "model.json")
    code, _, err = run(*asked)
    assert code == 4
    assert "M07" in err
    hint = "The model was given text in 'c'. If it was trained on categories: --categories c."
    assert hint in err
    code, out, err = run(*asked, "--categories", "c")
    assert code == 0, err
    assert "c = x" in out


def test_names_are_escaped_on_the_terminal(run):
    nasty = "a\x1b[31m"
    table_of_the_module().rename(columns={"y": nasty}).to_csv("nasty.csv", index=False)
    asked = ("explain", "nasty.csv", "--predictor", "own_model:predict")
    code, out, err = run(*asked, "--drop", "absent")
    assert code == 2
    assert "\x1b" not in out + err
    code, out, err = run(*asked)
    assert code == 0
    assert "\x1b" not in out + err


# ------------------------------------------------------------------------------------------------------------ models


def test_a_pickle_is_loaded_only_when_allowed(folder, run):
    class Bomb:
        def __reduce__(self):
            return (os.mkdir, ("exploded",))

    Path("m.pkl").write_bytes(pickle.dumps(Bomb()))
    code, _, err = run("explain", "table.csv", "--model", "m.pkl")
    assert code == 4
    assert "runs whatever code it holds" in err
    assert not (folder / "exploded").exists()
    run("explain", "table.csv", "--model", "m.pkl", "--allow-pickle")
    assert (folder / "exploded").exists()  # the warning tells the truth


def test_a_pickled_model_is_explained_when_allowed(run):
    from sklearn.tree import DecisionTreeRegressor

    table = table_of_the_module()
    model = DecisionTreeRegressor(max_depth=3).fit(table[["a", "b", "c"]], table["y"])
    Path("m.pkl").write_bytes(pickle.dumps(model))
    asked = ("explain", "table.csv", "--model", "m.pkl", "--target", "y")
    assert run(*asked, "--allow-pickle")[0] == 0


@pytest.mark.parametrize("ending", ["json", "ubj", "txt", "cbm"])
def test_models_of_other_libraries_are_read(run, ending):
    table = table_of_the_module()
    X, y = table[["a", "b", "c"]], table["y"]
    path = f"m.{ending}"
    if ending in ("json", "ubj"):
        xgboost = pytest.importorskip("xgboost")
        xgboost.XGBRegressor(n_estimators=5).fit(X, y).save_model(path)
    elif ending == "txt":
        lightgbm = pytest.importorskip("lightgbm")
        lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, y).booster_.save_model(path)
    else:
        catboost = pytest.importorskip("catboost")
        options = {"verbose": 0, "allow_writing_files": False}
        catboost.CatBoostRegressor(iterations=5, **options).fit(X, y).save_model(path)
    asked = ("explain", "table.csv", "--model", path, "--target", "y", "--max-samples", "40")
    code, out, err = run(*asked)
    assert code == 0, err
    assert "One curve per feature describes" in out
    assert "come from 40 of them" in out


def test_a_skops_file_holds_only_named_types(run, monkeypatch):
    """With a stand-in for skops, which few have: unknown types are refused by name unless they are named as trusted."""
    loaded = []

    def load(path, trusted):
        loaded.append(trusted)
        return lambda X: np.asarray(X["a"])

    stand_in = SimpleNamespace(get_untrusted_types=lambda file: ["own.Type"], load=load)
    monkeypatch.setitem(sys.modules, "skops", SimpleNamespace(io=stand_in))
    monkeypatch.setitem(sys.modules, "skops.io", stand_in)
    Path("m.skops").write_bytes(b"?")
    command = ("explain", "table.csv", "--model", "m.skops", "--target", "y")
    code, _, err = run(*command)
    assert (code, loaded) == (4, [])
    assert "own.Type" in err
    assert run(*command, "--trust", "own.Type")[0] == 0
    assert loaded == [["own.Type"]]


@pytest.mark.slow
def test_a_skops_file_that_is_no_zip_is_refused(run):
    pytest.importorskip("skops")
    Path("m.skops").write_bytes(b"?")
    code, _, err = run("explain", "table.csv", "--model", "m.skops", "--target", "y")
    assert code == 4
    assert "skops cannot read m.skops (BadZipFile" in err


# -------------------------------------------------------------------------------------------------------- saved fits


def test_saved_regions_are_applied_and_shown(run):
    _, printed, _ = run(*EXPLAIN, "--save", "regions.json")
    code, out, _ = run("apply", "regions.json", "table.csv")
    assert code == 0
    expected = (table_of_the_module()["b"] > 0).astype(int)
    assert out.splitlines()[:1] == ["row,region"]
    assert out.splitlines()[1:] == [f"{row},{region}" for row, region in enumerate(expected)]
    _, out, _ = run("apply", "regions.json", "table.csv", "--json")
    assert json.loads(out)["regions"] == expected.tolist()
    assert run("show", "regions.json")[:2] == (0, printed)
    code, _, err = run("show", "regions.json", "--report", "again.html")
    assert (code, err) == (0, "Written: again.html\n")
    assert Path("again.html").exists()


def test_saved_rules_are_shown_and_applied_but_are_no_fit(run):
    partition = gx.Partition.from_rules(["a ≤ 0", "a > 0"])
    gx.save(partition, "rules.json")
    assert "a ≤ 0" in run("show", "rules.json")[1]
    shown = json.loads(run("show", "rules.json", "--json")[1])
    assert [*map(str, gx.Partition.from_dict(shown).rules)] == [*map(str, partition.rules)]
    assert run("apply", "rules.json", "table.csv")[1].startswith("row,region\n")
    code, _, err = run("show", "rules.json", "--report", "r.html")
    assert code == 2
    assert "holds no fit to report on" in err


def test_show_refuses_what_is_not_ours(run):
    Path("p.json").write_bytes(pickle.dumps({"a": 1}))
    code, _, err = run("show", "p.json")
    assert code == 3
    assert "F06" in err
    code, _, err = run("show", "absent.json")
    assert code == 3
    assert "F04: absent.json cannot be read" in err


# --------------------------------------------------------------------------------------------- how a command ends


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (gx.InputError("bad", code="D01"), 3),
        (gx.InputError("bad", code="P02"), 2),
        (gx.FormatError("bad", code="F04"), 3),
        (gx.ModelError("bad", code="M04"), 4),
        (gx.ResourceError("bad", code="D33"), 5),
        (MemoryError(), 5),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_codes(monkeypatch, run, error, code):
    monkeypatch.setattr(gx.datasets, "load_diabetes", raising(error))
    assert run("demo")[0] == code


def test_errors_as_json_are_machine_readable(monkeypatch, run):
    error = gx.InputError(
        "NaN", code="D01", argument="X", columns=["temp"], rows=[3], hint="impute"
    )
    monkeypatch.setattr(gx.datasets, "load_diabetes", raising(error))
    code, out, _ = run("demo", "--json")
    assert code == 3
    assert json.loads(out)["error"] == {
        "message": "D01: NaN impute",
        "code": "D01",
        "argument": "X",
        "columns": ["temp"],
        "rows": [3],
        "hint": "impute",
    }


def raising(error):
    def refuse():
        raise error

    return refuse


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["demo", "--data", "moon"]])
def test_wrong_usage_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: granite" in capsys.readouterr().err


def test_a_number_or_a_word_is_named_where_it_is_neither(capsys):
    with pytest.raises(SystemExit):
        main([*EXPLAIN, "--max-samples", "some"])
    assert "number, auto or all" in capsys.readouterr().err


def test_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"granite-xai {gx.__version__}\n"


def test_the_command_starts_fast():
    """Best of five; a bare interpreter is part of it."""

    def seconds():
        start = time.perf_counter()
        granite("--version")
        return time.perf_counter() - start

    assert min(seconds() for _ in range(5)) < 0.3


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--model", "m.bin"), 4, "no format that is read here"),
        (("--model", "absent.json"), 4, "there is no file absent.json"),
        (("--model", "https://example.org/m.json"), 4, "is an address"),
        (("--model", "broken.ubj"), 4, "xgboost cannot read broken.ubj"),
        (("--predictor", "own_model"), 2, "is not MODULE:NAME"),
        (("--predictor", "own_model:absent"), 4, "own_model:absent cannot be loaded"),
        (("--predictor", "own_model:fails"), 4, "M07"),
        (("--predictor", "own_model:predict", "--question", "ice-pdf"), 2, "ice-pdp"),
        (("--predictor", "own_model:predict", "--drop", "absent"), 2, "no column 'absent'"),
        (("--predictor", "own_model:predict", "--max-depth", "-1"), 2, "max_depth"),
        (("--predictor", "own_model:predict", "--output", "late"), 2, "--output late is not known"),
        (("--predictor", "own_model:fails", "--report", "no/such/folder.html"), 3, "F02"),
    ],
)
def test_every_failure_has_its_exit_code_and_one_sentence(run, arguments, code, words):
    Path("m.bin").write_bytes(b"?")
    Path("broken.ubj").write_bytes(b"?")
    ended, out, err = run("explain", "table.csv", *arguments)
    assert (ended, out) == (code, "")
    assert words in err
    assert "Traceback" not in err
    ended, out, _ = run("explain", "table.csv", *arguments, "--json")
    assert ended == code
    assert json.loads(out)["error"]["code"]


@pytest.mark.slow
@pytest.mark.parametrize("environment", [None, {"PATH": "", "HOME": "/nonexistent"}])
def test_a_reader_that_leaves_early_causes_no_noise(environment):
    """`granite explain … | head -0`: exit code 141, nothing on stderr; also with no home, terminal or cache."""
    reader, writer = os.pipe()
    os.close(reader)
    if environment is not None:
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": "/nonexistent"}
        kept = ("SYSTEMROOT", "PYTHONPATH")
        environment |= {key: os.environ[key] for key in kept if key in os.environ}
    command = [sys.executable, "-m", "granite_xai.cli", *EXPLAIN]
    answer = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, check=False, env=environment
    )
    os.close(writer)
    assert answer.stderr == b""
    assert answer.returncode == 141


@pytest.mark.slow
def test_a_terminal_without_the_sign_still_gets_the_rules():
    answer = granite("demo", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert answer.returncode == 0
    assert "\\u2264" in answer.stdout


@pytest.mark.slow
def test_files_are_the_same_whatever_the_locale(folder):
    texts = set()
    for setting in (
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
        {"LC_ALL": "de_DE.UTF-8", "PYTHONIOENCODING": "cp1252"},
    ):
        command = [sys.executable, "-m", "granite_xai.cli", *EXPLAIN, "--report", "r.html"]
        subprocess.run(command, capture_output=True, check=True, env=os.environ | setting)
        texts.add((folder / "r.html").read_bytes().partition(b"How this was made")[0])
    assert len(texts) == 1
    assert "≤".encode() in texts.pop()


# --------------------------------------------------------------- nothing that is read or of value is written over


def contents():
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


@pytest.fixture
def refused(run):
    """The command ends with 2 and one sentence, before any work, and every file is as it was."""

    def command(*arguments):
        before = contents()
        code, out, err = run(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert contents() == before
        return err

    return command


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        (("--report", "table.csv"), "--report table.csv is the table that is read"),
        (("--save", "table.csv"), "--save table.csv is the table that is read"),
        (("--markdown", "m.json"), "--markdown m.json is the model that is read"),
        (("--test", "other.csv", "--save", "other.csv"), "--save other.csv is the other table"),
        (("--report", "r", "--save", "r"), "--report r and --save r are one file"),
    ],
)
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_what_is_read_is_not_written_over(refused, outputs, words, force):
    """--force does not allow it either; a module counts as the file that it is."""
    Path("m.json").touch()
    Path("other.csv").touch()
    assert words in refused("explain", "table.csv", "--model", "m.json", *outputs, *force)
    own = refused(*EXPLAIN, "--report", "own_model.py", "--force")
    assert "is the module of the model" in own


@pytest.mark.parametrize("other", ["./table.csv", "sub/../table.csv", "link.csv", "hard.csv"])
def test_another_name_of_the_same_file_is_the_same_file(folder, refused, other):
    (folder / "sub").mkdir()
    (folder / "link.csv").symlink_to("table.csv")
    os.link("table.csv", "hard.csv")
    assert "is the table that is read" in refused(*EXPLAIN, "--report", other, "--force")
    assert "are one file" in refused(*EXPLAIN, "--report", "new", "--save", "sub/../new")


def test_two_outputs_by_a_link_or_one_inode_are_one_file(folder, refused):
    (folder / "dangling").symlink_to("later.html")
    assert "are one file" in refused(*EXPLAIN, "--report", "dangling", "--save", "later.html")
    Path("page.html").write_text("<!doctype html>", encoding="utf-8")
    os.link("page.html", "twin.html")
    twice = ("--report", "page.html", "--save", "twin.html", "--force")
    assert "are one file" in refused(*EXPLAIN, *twice)


@pytest.mark.parametrize("flag", ["--report", "--save", "--markdown"])
def test_a_file_of_another_kind_needs_force(refused, run, flag):
    Path("thesis.tex").write_text("ten years of work", encoding="utf-8")
    Path("other.json").write_text('{"a": 1}', encoding="utf-8")  # JSON, but not ours
    for path in ("thesis.tex", "other.json"):
        assert "--force" in refused(*EXPLAIN, flag, path)
    assert run(*EXPLAIN, flag, "thesis.tex", "--force")[0] == 0
    assert "ten years" not in Path("thesis.tex").read_text(encoding="utf-8")


def test_ones_own_files_and_empty_ones_are_replaced_without_force(refused, run):
    Path("r.html").touch()
    for _ in range(2):
        assert run(*EXPLAIN, "--report", "r.html", "--save", "s.json")[0] == 0
    assert isinstance(gx.load("s.json"), gx.Granite)
    assert "--force" in refused(*EXPLAIN, "--report", "s.json")
    assert "--force" in refused(*EXPLAIN, "--save", "r.html")


def test_show_and_demo_keep_files_too(refused):
    gx.save(gx.Partition.from_rules(["a ≤ 0", "a > 0"]), "regions.json")
    shutil.copy("regions.json", "copy.json")
    same = refused("show", "regions.json", "--report", "regions.json")
    assert "is the saved file" in same
    assert "--force" in refused("show", "regions.json", "--report", "table.csv")
    assert "--force" in refused("demo", "--report", "table.csv")
