"""The same words everywhere: weights, limits and remedies in Python and on the command line."""

import argparse
import ast
import inspect
import re
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV

import granite_xai as gx
from granite_xai import cli
from granite_xai.cli import parser
from granite_xai.cli.commands import with_flags
from granite_xai.fitting.settings import GraniteOptions

SOURCE = Path(gx.__file__).parent
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.integers(-4, 5, (60, 3)) / 4, columns=["a", "b", "c"])
WEIGHTS = RNG.integers(0, 3, 60)
REPEATED = X.loc[np.repeat(np.arange(60), WEIGHTS)].reset_index(drop=True)


def model(X):
    return (X["a"] * np.where(X["b"] > 0, 1.0, -1.0) + X["b"] * X["c"]).to_numpy()


@pytest.fixture(scope="module")
def fitted():
    return gx.Granite(model, min_samples_leaf=5).fit(X)


def test_a_row_of_weight_two_is_two_rows_for_evaluate_explain_and_score(fitted):
    one, two = fitted.evaluate(X, sample_weight=WEIGHTS), fitted.evaluate(REPEATED)
    assert one.plug_in == pytest.approx(two.plug_in, rel=1e-12)
    assert one.disagreement == pytest.approx(two.disagreement, rel=1e-12)
    # A weighted row is one observation: what chance adds is larger than for as many rows.
    assert fitted.score(X, sample_weight=WEIGHTS) == 1.0 - one.remaining
    assert one.remaining > two.remaining > two.plug_in - 0.01
    kept = np.flatnonzero(WEIGHTS)
    weighted, repeated = fitted.explain(X, sample_weight=WEIGHTS), fitted.explain(REPEATED)
    first = np.cumsum([0, *WEIGHTS[kept][:-1]])
    for one, two in zip(weighted.parts, repeated.parts, strict=True):
        places = np.searchsorted(two.rows, first[one.rows])
        assert np.allclose(one.values, two.values[places])


def test_a_row_of_weight_two_is_two_rows_for_an_explainer():
    pdp = gx.Explainer(interaction="pure")
    weighted = pdp.explain(model, X, sample_weight=WEIGHTS).values
    repeated = pdp.explain(model, REPEATED).values
    kept = np.flatnonzero(WEIGHTS)
    assert np.allclose(weighted, repeated[np.cumsum([0, *WEIGHTS[kept][:-1]])])
    with pytest.raises(gx.InputError, match="D43"):
        pdp.explain(model, X, sample_weight=WEIGHTS, rows=np.flatnonzero(WEIGHTS == 0))


def test_a_row_of_weight_two_is_two_rows_for_displays(fitted):
    for display in (gx.ImportanceDisplay,):
        one = display.from_estimator(fitted, X, sample_weight=WEIGHTS, max_samples=200)
        two = display.from_estimator(fitted, REPEATED, max_samples=200)
        tables = [
            shown.frame().drop(columns="standard_error", errors="ignore") for shown in (one, two)
        ]  # by rows
        frames = [
            table.select_dtypes("float").round(9).fillna(0).drop_duplicates() for table in tables
        ]
        assert len(frames[0]) > 3
        assert {*map(tuple, frames[0].to_numpy())} == {*map(tuple, frames[1].to_numpy())}


def test_weights_reach_the_fit_of_a_report():
    report = gx.explain(model, X, model(X), sample_weight=WEIGHTS, min_samples_leaf=5)
    again = gx.Granite(model, min_samples_leaf=5).fit(X, sample_weight=WEIGHTS)
    assert report.granite.disagreement_ == again.disagreement_


def test_options_are_searched_by_their_score():
    search = GridSearchCV(gx.Granite(model, min_samples_leaf=5), {"max_depth": [0, 2]}, cv=2).fit(X)
    assert search.best_params_ == {"max_depth": 2}
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(0.0)


def test_the_signature_of_explain_is_that_of_granite():
    own = inspect.signature(gx.explain).parameters
    options = set(inspect.signature(gx.Granite).parameters) - {"model", "question"}
    assert options <= set(own)
    assert set(GraniteOptions.__annotations__) == options
    assert not [p for p in own.values() if p.kind is p.VAR_KEYWORD or p.annotation is p.empty]


# every remedy that an error names exists where the error appears


def _commands():
    actions = next(a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    flags = {}
    for name, command in actions.choices.items():
        options = {o for action in command._actions for o in action.option_strings}
        known = argparse.Namespace(**{action.dest: None for action in command._actions})
        flags[name] = options, known
    return flags


def _texts():
    """Every text of the package that names an option of the library, but for docstrings."""
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        bodies = [
            n.body[0]
            for n in ast.walk(tree)
            if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef) and n.body
        ]
        docs = {id(body.value) for body in bodies if isinstance(body, ast.Expr)}
        docs |= {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.JoinedStr)
            for part in node.values
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                yield "".join(p.value if isinstance(p, ast.Constant) else "7" for p in node.values)
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in docs
            ):
                yield node.value


@pytest.mark.parametrize("command", ["explain", "apply", "show", "demo"])
def test_every_flag_that_a_message_names_is_a_flag_of_the_command(command):
    flags, known = _commands()[command]
    options = set(GraniteOptions.__annotations__) | {
        f.name for f in gx.Resources.__dataclass_fields__.values()
    }
    named = [
        text for text in _texts() if re.search(rf"\b({'|'.join(options)})=", text) and " " in text
    ]
    assert len(named) > 15
    for text in named:
        told = with_flags(text, known)
        wrong = [
            flag for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]+", told) if flag not in flags
        ]
        if "cli" not in text and not re.search(r"--[a-z]", text):
            assert wrong == [], told
        assert "Resources(" not in told or "Resources()" in told, told


def test_remedies_on_the_command_line_are_its_flags(tmp_path, capsys):
    gaps, whole, trained = (str(tmp_path / name) for name in ("gaps.csv", "table.csv", "m.joblib"))
    table = X.assign(y=model(X), w=WEIGHTS)
    table.loc[3, "a"] = np.nan
    table.to_csv(gaps, index=False)
    table.dropna().to_csv(whole, index=False)
    joblib.dump(LinearRegression().fit(X, model(X)), trained)
    name = ["--model", trained, "--allow-pickle", "--target", "y", "--weights", "w"]
    assert cli.main(["explain", gaps, *name]) == 3
    assert "--missing allow" in capsys.readouterr().err
    assert cli.main(["explain", whole, *name, "--max-evaluations", "700"]) == 5
    err = capsys.readouterr().err
    assert all(
        flag in err for flag in ("--max-samples", "--max-grid 8", "--max-evaluations", "--features")
    )
    with pytest.raises(SystemExit):
        cli.main(["explain", whole, *name, "--max-samples", "some"])
    assert "number, auto or all" in capsys.readouterr().err
