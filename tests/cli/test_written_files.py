"""Nothing that is read, and nothing else of value, is written over."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai import cli

MODULE = "import numpy as np\n\ndef predict(X):\n    return np.asarray(X['a']) * np.sign(np.asarray(X['b']))\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table, another one, a model on disk and one in a module; it is where the command runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    xgboost = pytest.importorskip("xgboost")
    X = pd.DataFrame(np.random.default_rng(0).integers(-8, 9, (90, 2)) / 8, columns=["a", "b"])
    xgboost.XGBRegressor(n_estimators=3).fit(X, X["a"] * np.sign(X["b"])).save_model("model.json")
    X.to_csv("d.csv", index=False)
    X.to_csv("other.csv", index=False)
    Path("module_of_the_user.py").write_text(MODULE, encoding="utf-8")
    return tmp_path


MODEL = ("explain", "d.csv", "--model", "model.json")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def refused(folder, capsys, *arguments):
    """The command ends with 2 and one sentence, before any work, and every file is as it was."""
    before = contents(folder)
    assert cli.main([*arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert contents(folder) == before
    return captured.err


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        (("--report", "d.csv"), "--report d.csv is the table that is read"),
        (("--save", "d.csv"), "--save d.csv is the table that is read"),
        (("--report", "model.json"), "--report model.json is the model that is read"),
        (("--save", "model.json"), "--save model.json is the model that is read"),
        (("--report", "r", "--save", "r"), "--report r and --save r are one file"),
    ],
)
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_the_five_ways_to_lose_a_file(folder, capsys, outputs, words, force):
    """Issue 13: all of them ended with 0; --force does not allow them either."""
    assert words in refused(folder, capsys, *MODEL, *outputs, *force)


def test_other_inputs_are_not_written_over(folder, capsys):
    assert "is the other table" in refused(
        folder, capsys, *MODEL, "--test", "other.csv", "--save", "other.csv"
    )
    own = (
        "explain",
        "d.csv",
        "--predictor",
        "module_of_the_user:predict",
        "--report",
        "module_of_the_user.py",
    )
    assert "is the module of the model" in refused(folder, capsys, *own, "--force")


@pytest.mark.parametrize("other", ["./d.csv", "sub/../d.csv", "link.csv", "hard.csv"])
def test_another_name_of_the_same_file_is_the_same_file(folder, capsys, other):
    (folder / "sub").mkdir()
    (folder / "link.csv").symlink_to("d.csv")
    os.link("d.csv", "hard.csv")
    assert "is the table that is read" in refused(
        folder, capsys, *MODEL, "--report", other, "--force"
    )
    assert "are one file" in refused(
        folder, capsys, *MODEL, "--report", "new", "--save", "sub/../new"
    )


def test_two_outputs_by_a_link_or_one_inode_are_one_file(folder, capsys):
    (folder / "dangling").symlink_to("later.html")
    assert "are one file" in refused(
        folder, capsys, *MODEL, "--report", "dangling", "--save", "later.html"
    )
    Path("page.html").write_text("<!doctype html>", encoding="utf-8")
    os.link("page.html", "twin.html")
    assert "are one file" in refused(
        folder, capsys, *MODEL, "--report", "page.html", "--save", "twin.html", "--force"
    )


@pytest.mark.parametrize("flag", ["--report", "--save"])
def test_a_file_of_another_kind_needs_force(folder, capsys, flag):
    Path("thesis.tex").write_text("ten years of work", encoding="utf-8")
    shutil.copy("model.json", "other.json")  # JSON, but not ours
    for path in ("thesis.tex", "other.json"):
        assert "--force" in refused(folder, capsys, *MODEL, flag, path)
    assert cli.main([*MODEL, flag, "thesis.tex", "--force"]) == 0
    assert "ten years" not in Path("thesis.tex").read_text(encoding="utf-8")


def test_ones_own_files_and_empty_ones_are_replaced_without_force(folder, capsys):
    Path("r.html").touch()
    for _ in range(2):
        assert cli.main([*MODEL, "--report", "r.html", "--save", "s.json"]) == 0
    assert isinstance(gx.load("s.json"), gx.Granite)
    capsys.readouterr()
    assert "--force" in refused(folder, capsys, *MODEL, "--report", "s.json")
    assert "--force" in refused(folder, capsys, *MODEL, "--save", "r.html")


def test_show_and_demo_keep_files_too(folder, capsys):
    gx.save(gx.Partition.from_rules(["a ≤ 0", "a > 0"]), "regions.json")
    assert "is the saved file" in refused(
        folder, capsys, "show", "regions.json", "--report", "regions.json"
    )
    assert "--force" in refused(folder, capsys, "show", "regions.json", "--report", "d.csv")
    assert "--force" in refused(folder, capsys, "demo", "--report", "d.csv")
