"""Each command on files: what it reads, prints, refuses, and leaves behind."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai import cli
from granite_xai.cli import files
from granite_xai.tables.opening import collected

GOLDEN = Path(__file__).parent / "golden"
MODULE = """
import numpy as np

def predict(X):
    return np.asarray(X["a"]) * np.where(np.asarray(X["b"]) > 0, 1.0, -1.0) + 0.25 * np.asarray(X["c"] * X["a"])

def fails(X):
    raise RuntimeError("no power")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table and a module; it is where the command runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "own_model", raising=False)
    (tmp_path / "own_model.py").write_text(MODULE, encoding="utf-8")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(-8, 9, (90, 3)) / 8, columns=["a", "b", "c"])
    scope: dict = {}
    exec(MODULE, scope)
    X.assign(y=scope["predict"](X)).to_csv(tmp_path / "table.csv", index=False)
    return tmp_path


def run(capsys, *arguments):
    """Exit code, stdout, stderr."""
    code = cli.main([*map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def golden(name, text):
    file = GOLDEN / f"{name}.txt"
    text = text.replace(gx.__version__, "VERSION")
    if os.environ.get("GRANITE_GOLDEN") == "write":
        file.write_text(text, encoding="utf-8", newline="\n")
    assert text == file.read_text(encoding="utf-8")


EXPLAIN = ("explain", "table.csv", "--predictor", "own_model:predict", "--target", "y")


def test_explain_tells_the_story(folder, capsys):
    code, out, err = run(capsys, *EXPLAIN, "--report", "report.html", "--save", "regions.json")
    assert code == 0
    golden("explain", out)
    assert err == "Written: report.html\nWritten: regions.json\n"
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert isinstance(gx.load(folder / "regions.json"), gx.Granite)


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


@pytest.mark.slow
def test_the_report_is_handed_over_as_markdown_and_as_figures(folder, capsys):
    code, _, err = run(capsys, *EXPLAIN, "--markdown", "card.md", "--figures", "out")
    assert code == 0
    assert err == "Written: card.md\nWritten: out\n"
    assert (
        (folder / "card.md").read_text(encoding="utf-8").startswith("# Where ICE and PDP agree\n")
    )
    kinds = {path.suffix for path in (folder / "out").iterdir()}
    assert kinds == {".png", ".svg", ".csv"}
    assert {path.stem for path in (folder / "out").iterdir()} == {
        "regions",
        "effects",
        "importances",
        "report",
    }
    code, _, err = run(capsys, *EXPLAIN, "--figures", "out")
    assert code == 2
    assert "not an empty folder" in err
    assert run(capsys, *EXPLAIN, "--figures", "out", "--force")[0] == 0
    assert run(capsys, *EXPLAIN, "--markdown", "table.csv")[0] == 2
    assert run(capsys, *EXPLAIN, "--markdown", "one", "--report", "one")[0] == 2


def test_explain_as_json_is_the_story(folder, capsys):
    code, out, _ = run(capsys, *EXPLAIN, "--json")
    assert code == 0
    assert json.loads(out)["figures"]["remaining"] < 0.2


def test_plan_says_what_it_would_cost_and_does_nothing(folder, capsys):
    code, out, _ = run(capsys, *EXPLAIN, "--plan", "--json")
    assert code == 0
    facts = json.loads(out)
    assert (facts["rows"], facts["held_out"], facts["available"]) == (90, 0, 90)
    assert facts["values"].keys() == set("abc")
    code, out, _ = run(capsys, *EXPLAIN, "--plan")
    assert out.startswith("90 rows search and 0 are held out, of 90 rows with 3 columns.\n")
    assert f"\n{facts['model_rows']:,} rows are sent to the model" in out
    values = ", ".join(f"{name} {count}" for name, count in facts["values"].items())
    assert out.endswith(f"Values of each column: {values}.\n")
    code, out, _ = run(capsys, *EXPLAIN, "--json")
    assert json.loads(out)["provenance"]["fit_rows"] == facts["model_rows"]


@pytest.mark.parametrize("name", ["questions", "explanations", "frameworks"])
def test_lists(name, capsys):
    code, out, _ = run(capsys, name)
    assert code == 0
    golden(name, out)
    _, out, _ = run(capsys, name, "--json")
    assert len(json.loads(out)) == len(getattr(gx, name)()) if name != "frameworks" else 7


def test_frameworks_are_compared(folder, capsys):
    code, out, _ = run(
        capsys,
        "frameworks",
        "compare",
        *EXPLAIN[1:],
        "--frameworks",
        "granite",
        "repid",
        "--max-samples",
        "0",
        "--json",
    )
    assert code == 0
    assert [line["framework"] for line in json.loads(out)] == ["granite", "repid"]


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


def test_train_on_fits_a_model_and_holds_rows_out(folder, capsys):
    code, out, err = run(
        capsys, "explain", "table.csv", "--train-on", "y", "--min-samples-leaf", "10"
    )
    assert code == 0
    assert err.startswith("HistGradientBoostingRegressor fitted to 'y' on 67 rows; R² ")
    assert "23 held-out rows" in " ".join(out.split())


def test_train_on_labels_fits_a_classifier_to_text(folder, capsys):
    table = pd.read_csv("table.csv").assign(weather=["mist", "clear"] * 45)
    table.assign(y=np.where(table["y"] > 0, "late", "in time")).to_csv("labels.csv", index=False)
    code, out, err = run(capsys, "explain", "labels.csv", "--train-on", "y")
    assert code == 0
    assert err.startswith("HistGradientBoostingClassifier fitted to 'y'")
    assert "probability of class 'late'" in " ".join(out.split())


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


def test_S11_a_pickle_is_loaded_only_when_allowed(folder, capsys):
    class Bomb:
        def __reduce__(self):
            return (os.mkdir, ("exploded",))

    (folder / "m.pkl").write_bytes(pickle.dumps(Bomb()))
    code, _, err = run(capsys, "explain", "table.csv", "--model", "m.pkl")
    assert code == 4
    assert "runs whatever code it holds" in err
    assert not (folder / "exploded").exists()
    run(capsys, "explain", "table.csv", "--model", "m.pkl", "--allow-pickle")
    assert (folder / "exploded").exists()  # the warning tells the truth


def test_S11_the_help_says_that_a_pickle_runs_code(capsys):
    with pytest.raises(SystemExit):
        cli.main(["explain", "--help"])
    assert "runs whatever code it holds" in " ".join(capsys.readouterr().out.split())


def test_S11_a_pickled_model_is_explained_when_allowed(folder, capsys):
    from sklearn.tree import DecisionTreeRegressor

    table = pd.read_csv("table.csv")
    model = DecisionTreeRegressor(max_depth=3).fit(table[["a", "b", "c"]], table["y"])
    (folder / "m.pkl").write_bytes(pickle.dumps(model))
    assert (
        run(capsys, "explain", "table.csv", "--model", "m.pkl", "--allow-pickle", "--target", "y")[
            0
        ]
        == 0
    )


@pytest.mark.parametrize("ending", ["json", "ubj", "txt", "cbm", "onnx"])
def test_S11_models_of_other_libraries_are_read(folder, capsys, ending):
    table = pd.read_csv("table.csv")
    X, y = table[["a", "b", "c"]], table["y"]
    path = f"m.{ending}"
    if ending in ("json", "ubj"):
        xgboost = pytest.importorskip("xgboost")
        xgboost.XGBRegressor(n_estimators=5).fit(X, y).save_model(path)
    elif ending == "txt":
        lightgbm = pytest.importorskip("lightgbm")
        lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, y).booster_.save_model(path)
    elif ending == "cbm":
        catboost = pytest.importorskip("catboost")
        options = {"verbose": 0, "allow_writing_files": False}
        catboost.CatBoostRegressor(iterations=5, **options).fit(X, y).save_model(path)
    else:
        pytest.importorskip("onnxruntime")
        from sklearn.linear_model import LinearRegression

        convert = pytest.importorskip("skl2onnx").to_onnx
        model = convert(LinearRegression().fit(X, y), X.to_numpy(dtype=np.float32)[:1])
        (folder / path).write_bytes(model.SerializeToString())
    code, out, err = run(
        capsys, "explain", "table.csv", "--model", path, "--target", "y", "--max-samples", "40"
    )
    assert code == 0, err
    assert "Explained variance of the predictions" in out
    assert "40 rows" in " ".join(out.split())


def test_S11_a_skops_file_holds_only_named_types(folder, capsys, monkeypatch):
    """With a stand-in for skops, which few have: unknown types are refused by name unless they are named as trusted."""
    loaded = []

    def load(path, trusted):
        loaded.append(trusted)
        return lambda X: np.asarray(X["a"])

    stand_in = SimpleNamespace(get_untrusted_types=lambda file: ["own.Type"], load=load)
    monkeypatch.setitem(sys.modules, "skops", SimpleNamespace(io=stand_in))
    monkeypatch.setitem(sys.modules, "skops.io", stand_in)
    (folder / "m.skops").write_bytes(b"?")
    code, _, err = run(capsys, "explain", "table.csv", "--model", "m.skops", "--target", "y")
    assert (code, loaded) == (4, [])
    assert "own.Type" in err
    command = ("explain", "table.csv", "--model", "m.skops", "--target", "y", "--trust", "own.Type")
    assert run(capsys, *command)[0] == 0
    assert loaded == [["own.Type"]]


@pytest.mark.slow
def test_S11_a_skops_file_that_is_no_zip_is_refused(folder, capsys):
    pytest.importorskip("skops")
    (folder / "m.skops").write_bytes(b"?")
    code, _, err = run(capsys, "explain", "table.csv", "--model", "m.skops", "--target", "y")
    assert code == 4
    assert "skops cannot read m.skops (BadZipFile" in err


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


def test_a_fit_that_time_ended_is_repeated_by_the_flags_that_it_names(folder, capsys):
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(3000, 3)), columns=["a", "b", "c"]).to_csv(
        "long.csv", index=False
    )
    command = ["explain", "long.csv", "--predictor", "own_model:predict", "--json"]
    code, out, err = run(capsys, *command, "--max-seconds", "0.001")
    assert code == 0
    assert "M13: stopped at --max-seconds 0.001 after 250 of 3,000 rows" in err
    flags = re.search(r"\((--max-samples \d+) with (--max-grid.+) repeats this\)", err)
    first = json.loads(out)
    named = flags[2].replace(",", "").split()
    assert named[2] == "--max-evaluations"
    code, out, err = run(capsys, *command, *flags[1].split(), *named)
    assert (code, err) == (0, "")
    again = json.loads(out)
    assert first["figures"] == again["figures"]
    assert first["regions"] == again["regions"]


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


def test_S04_names_are_escaped_on_the_terminal(folder, capsys):
    nasty = "a\x1b[31m"
    table = pd.read_csv("table.csv").rename(columns={"y": nasty})
    table.to_csv("nasty.csv", index=False)
    code, out, err = run(
        capsys, "explain", "nasty.csv", "--predictor", "own_model:predict", "--drop", "absent"
    )
    assert code == 2
    assert "\x1b" not in out + err
    code, out, err = run(capsys, "explain", "nasty.csv", "--predictor", "own_model:predict")
    assert code == 0
    assert "\x1b" not in out + err


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
    assert "b ≤ 0" in out
    again = gx.load("g.json")
    assert again.diagnostics_["rows"]["steps"][0]["search"] == 300


def test_the_sample_is_that_of_a_lazy_frame(large, not_collected, folder):
    polars = pytest.importorskip("polars")
    options = SimpleNamespace(max_samples="auto", train_on=None, seed=3)
    found = files.read_table("large.parquet", options)
    same, *_ = collected(polars.scan_parquet("large.parquet"), None, None, None, 3)
    assert len(found) == 50_000
    assert found.to_numpy().tolist() == same.to_numpy().tolist()
    for options.max_samples, options.train_on in (("all", None), ("auto", "y")):
        assert len(files.read_table("large.parquet", options)) == len(large)


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
    frame = files.read_table("odd.csv")
    assert str(frame["b"].iloc[16]) == "1.2.5"
    err = capsys.readouterr().err
    assert "granite: warning: S12: column 'b' of odd.csv is read as text" in err
    assert "1 cell is no number: line 18 holds '1.2.5'" in err
    (folder / "texts.csv").write_text("id,n\nA1,1\n12,2\nB7,\n99,4\n", encoding="utf-8")
    files.read_table("texts.csv")
    files.read_table("table.csv")
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
    assert "c is" in out


def test_T01_a_question_about_risk_asks_for_the_flag_of_the_target(folder, capsys):
    asked = ("explain", "table.csv", "--predictor", "own_model:predict", "--drop", "y")
    code, _, err = run(capsys, *asked, "--question", "pfi-risk")
    assert code == 3
    assert "T01: pfi-risk needs y" in err
    assert "Name the column of the target: --target." in err
