"""The README and the first page of the manual tell the truth: every line runs on the table beside it."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import webbrowser
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import granite_xai as gx

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
INDEX = (ROOT / "docs" / "index.rst").read_text(encoding="utf-8")

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.base.errors.GraniteWarning")


def block(language):
    return re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)[1]


def statements(code):
    """The statements of some code, one text each."""
    return [ast.unparse(statement) for statement in ast.parse(code).body]


def calls(text, mark):
    """Calls of the package inside sentences and tables."""
    spans = re.findall(rf"(?<!`){mark}([^`\n]+){mark}(?!`)", text)
    return [span for span in spans if re.match(r"(print\()?(gx|g)\.[\w.]+\(", span)]


def lines_of_readme():
    """What a reader runs after the first block, in the order of the page."""
    _, *others = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    prose = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    found = [line for code in others for line in statements(code)]
    return [*found, *calls(prose, "`")]


def lines_of_index():
    (code,) = re.findall(r"code-block:: python\n\n((?: {3}.*\n|\n)+)", INDEX)
    return [*statements("\n".join(line[3:] for line in code.splitlines())), *calls(INDEX, "``")]


def questions_of_readme():
    """The second column of the table of questions."""
    table = re.search(r"\| you ask \|.*?\n\n", README, re.DOTALL)[0]
    cells = [line.split(" | ")[1] for line in table.splitlines()[2:] if line]
    return [ast.literal_eval(span) for cell in cells for span in re.findall(r"`([^`]+)`", cell)]


MANY_BINS = "cshap-shap"  # learns bins for half a thousand sets of features


@pytest.fixture(scope="module")
def tour(data_folder, tmp_path_factory):
    """What the six lines leave behind and print, with the names that the page leaves open."""
    names = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(block("python"), names)
    X, y = names["X"], names["y"]
    is_busy = np.where(y > np.median(y), "yes", "no")
    names |= {
        "printed": printed.getvalue(),
        "x": X.iloc[5],
        "X_new": X.iloc[1000:1200],
        "X_test": X.iloc[1000:2000],
        "y_test": y[1000:2000],
        "other": gx.Granite(HistGradientBoostingRegressor(max_iter=5).fit(X, y)).fit(X, y),
        "classifier": HistGradientBoostingClassifier(max_iter=5).fit(X, is_busy),
        "is_busy": is_busy,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("readme"))
        patch.setattr(webbrowser, "open", lambda url: True)
        patch.setattr(plt, "show", lambda: None)
        yield names
    plt.close("all")


def run(line, names):
    """The value of an expression; None of another statement."""
    with contextlib.redirect_stdout(io.StringIO()):
        if isinstance(ast.parse(line).body[0], ast.Expr):
            return eval(line, names)
        return exec(line, names)


def rules(text):
    """The rules at the nodes; the figures beside them depend on the version of the model's library."""
    return re.findall(r"─ (?:\d+ {2})?(.+?) {2,}", text)


def test_the_six_lines_print_the_tree_that_is_shown(tour):
    assert len([line for line in block("python").splitlines() if line]) == 6
    assert len(rules(tour["printed"])) == 4
    assert rules(tour["printed"]) == rules(block("text"))


def fitted_quickly(granite, tour):
    """A question that the page asks and leaves unfitted, on few rows of its table."""
    y = tour["is_busy"] if granite.output == "yes" else tour["y"]
    return granite.set_params(max_samples=60).fit(tour["X"], y)


@pytest.mark.parametrize("line", lines_of_readme())
def test_every_line_of_the_readme_runs(line, tour):
    value = run(line, tour)
    if isinstance(value, gx.Granite) and not hasattr(value, "partition_"):
        assert len(fitted_quickly(value, tour).partition_) >= 1


@pytest.fixture(scope="module")
def names_of_index(tour):
    """The names that the README leaves behind: the first page has a model and a table, and makes its own fit."""
    return dict(tour)


@pytest.mark.parametrize("line", lines_of_index())
def test_every_line_of_the_first_page_runs(line, names_of_index):
    run(line, names_of_index)


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(
            question, marks=pytest.mark.slow if question == MANY_BINS else (), id=str(question)
        )
        for question in questions_of_readme()
    ],
)
def test_every_question_of_the_readme_is_answered(question, tour):
    g = fitted_quickly(gx.Granite(tour["model"], question=question), tour)
    assert g.disagreement_ >= 0


def test_no_line_is_overlooked():
    """The patterns above find what a reader sees: a call in every line of the table, and every line of code."""
    table = re.search(r"\| to \| call \|\n.*?\n\n", README, re.DOTALL)[0].splitlines()[2:]
    rows = [row for row in table if row]
    assert len(rows) == 14
    for row in rows:
        assert calls(row, "`"), row
    assert len(lines_of_readme()) == 6 + 16 + 3
    assert len(questions_of_readme()) == 12
    assert len(lines_of_index()) == 5


def test_rules_run_in_the_languages_that_the_readme_names(tour):
    """Also pandas, polars and plain Python: all tell the region that `apply` tells."""
    assert "`g.partition_.to_sql()`, also pandas, polars and plain Python" in README
    X = tour["X_new"]
    partition = tour["g"].partition_.rename({0: "night"})
    regions = [partition.titles[region] for region in partition.apply(X)]
    in_polars = pl.from_pandas(X).with_columns(partition.to_polars())
    assert in_polars["region"].to_list() == regions
    names = {}
    exec(partition.to_python(), names)
    assert [names["region"](row) for row in X.to_dict("records")] == regions
    for label, expression in partition.to_pandas().items():
        assert len(X.query(expression, engine="python")) == regions.count(label)


def test_one_next_call_everywhere(tour):
    """What print names is what the README and the first page call, and it makes a report."""
    (call,) = re.findall(r"^Next: (.*)$", tour["printed"], re.MULTILINE)
    assert isinstance(run(call, tour), gx.Report)
    for page in (README, INDEX):
        assert f"{call}.show()" in page
    assert f"Next: {call}" in block("text")
    texts = [
        path for folder in ("docs", "examples", "src") for path in (ROOT / folder).rglob("*.*")
    ]
    for path in [*texts, ROOT / "README.md"]:
        if path.suffix in (".py", ".rst", ".md"):
            assert "gx.explain(g," not in path.read_text(encoding="utf-8"), path


def test_every_name_in_the_readme_exists():
    names = set(re.findall(r"\bgx\.(\w+)", README))
    assert names <= set(gx.__all__)
    fitted = set(re.findall(r"\bg\.(\w+)\(", README))
    assert {name for name in fitted if not hasattr(gx.Granite, name)} == set()
