"""House rules that a program can check."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from importlib.metadata import metadata
from operator import attrgetter
from pathlib import Path

import pytest

import granite_xai

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "granite_xai"
SOURCES = sorted(PACKAGE.rglob("*.py"))
OWN_FILES = sorted(
    path
    for folder in ("src", "tests", "benchmarks", "docs", "examples", "experiments", ".ci")
    for path in (ROOT / folder).rglob("*")
    if path.is_file() and not {"__pycache__", "_build", "generated", "gallery", "data", "results"} & set(path.parts)
) + [path for path in sorted(ROOT.glob("*")) if path.is_file()]
HOME_OF_SOMEONE = re.compile(r"(?:/(?:home|Users|root|mnt|work)/\w)|[A-Z]:\\")


def where(path):
    return str(path.relative_to(ROOT))


def imported(tree):
    """The top packages a file imports anywhere, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


@pytest.mark.parametrize("path", SOURCES, ids=where)
def test_no_print_no_assert_no_leftovers(path):
    """Users get errors and warnings; the command line writes to its streams."""
    text = path.read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(text)))
    prints = [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"]
    assert not [node.lineno for node in nodes if isinstance(node, ast.Assert)]
    assert not [node.lineno for node in prints]
    assert not re.findall(r"\b(?:TODO|FIXME|XXX|NotImplementedError|breakpoint)\b", text)


@pytest.mark.parametrize("path", SOURCES, ids=where)
def test_rooms_keep_to_their_libraries(path):
    """Only the border to tables knows narwhals; operators are numpy and words; nobody seeds NumPy's global state."""
    text = path.read_text(encoding="utf-8")
    packages = set(imported(ast.parse(text)))
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert "narwhals" not in packages or room == "tables"
    third_party = packages & {"scipy", "sklearn", "pandas", "matplotlib", "jinja2", "joblib", "tqdm", "numba", "torch"}
    assert room not in {"interaction", "influence"} or not third_party
    assert "np.random.seed" not in text


@pytest.mark.parametrize("path", SOURCES, ids=where)
def test_annotations_cost_nothing_at_import(path):
    text = path.read_text(encoding="utf-8")
    annotated = any(isinstance(node, ast.FunctionDef | ast.AnnAssign) for node in ast.walk(ast.parse(text)))
    assert not annotated or "from __future__ import annotations" in text


def test_no_file_names_a_machine():
    """Nobody's folders; data come by GRANITE_DATA."""
    this = Path(__file__)
    texts = {path: path.read_text(encoding="utf-8") for path in OWN_FILES if path != this and path.suffix != ".png"}
    assert {where(path) for path, text in texts.items() if HOME_OF_SOMEONE.search(text)} == set()


def test_the_search_for_machine_paths_finds_one():
    assert HOME_OF_SOMEONE.search("open('/" + "home/me/x')")
    assert HOME_OF_SOMEONE.search("C:" + "\\Users")
    assert not HOME_OF_SOMEONE.search("https://arxiv.org/abs/1 and/or work/life")


PUBLIC = [name for name in granite_xai.__all__ if name != "datasets"] + [
    f"datasets.{name}" for name in granite_xai.datasets.__all__
]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented_with_an_example_that_runs(name):
    """Errors and warnings are raised, not called: a docstring is enough for them."""
    value = attrgetter(name)(granite_xai)
    text = inspect.getdoc(value) or ""
    examples = doctest.DocTestParser().get_examples(text)
    assert re.match(r"[A-Z`].*[.:?]$", text.split("\n\n")[0].replace("\n", " ")), "the first line is no sentence"
    assert examples or (isinstance(value, type) and issubclass(value, BaseException))
    assert not any(doctest.SKIP in example.options for example in examples)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_method_is_documented(name):
    members = vars(attrgetter(name)(granite_xai)).items()
    methods = {inner: inspect.getdoc(member) for inner, member in members if inspect.isfunction(member)}
    assert {inner for inner, text in methods.items() if not inner.startswith("_") and not text} == set()


def test_one_version_everywhere():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    declared = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited[1] == declared[1] == granite_xai.__version__ == metadata("granite-xai")["Version"]
