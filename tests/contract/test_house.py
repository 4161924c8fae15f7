"""House rules that a program can check. Each test lists every offender, so that one run shows all there is to do."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from importlib.metadata import metadata
from operator import attrgetter
from pathlib import Path

import granite_xai

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "granite_xai"
SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
OWN_FILES = sorted(
    path
    for folder in (
        "src",
        "tests",
        "benchmarks",
        "docs",
        "examples",
        "experiments",
        ".ci",
        ".github",
    )
    for path in (ROOT / folder).rglob("*")
    if path.is_file()
    and not {"__pycache__", "_build", "generated", "gallery", "data", "results"} & set(path.parts)
) + [path for path in sorted(ROOT.glob("*")) if path.is_file() and path.name != ".git"]
HOME_OF_SOMEONE = re.compile(r"(?:/(?:home|Users|root|mnt|work)/\w)|[A-Z]:\\")
LEFTOVERS = re.compile(r"\b(?:TODO|FIXME|XXX|NotImplementedError|breakpoint)\b|np\.random\.seed")
LIBRARIES = {
    "scipy",
    "sklearn",
    "pandas",
    "matplotlib",
    "jinja2",
    "joblib",
    "tqdm",
    "numba",
    "torch",
}
WORDS_ONLY = {"explanation/interaction", "explanation/influence"}
"""Operators that are numpy and words."""


def where(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported(tree: ast.AST) -> set[str]:
    """The top packages a file imports anywhere, also inside functions."""
    nodes = list(ast.walk(tree))
    plain = (name.name for node in nodes if isinstance(node, ast.Import) for name in node.names)
    rooms = (node.module or "" for node in nodes if isinstance(node, ast.ImportFrom))
    return {name.partition(".")[0] for name in (*plain, *rooms)}


def borrowed(module: str, tree: ast.AST) -> Iterator[str]:
    """Names with an underscore that a file imports from another room."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("granite_xai."):
            room = node.module.split(".")[1]
            if room != module.split("/")[0]:
                yield from (name.name for name in node.names if re.match("_[^_]", name.name))


def broken_rules(module: str, text: str) -> Iterator[str]:
    """What a file, such as ``tables/columns``, does that no file may do."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    packages = imported(tree)
    yield from (f"line {node.lineno} asserts" for node in nodes if isinstance(node, ast.Assert))
    calls = (node for node in nodes if isinstance(node, ast.Call))
    yield from (
        f"line {node.lineno} prints" for node in calls if getattr(node.func, "id", "") == "print"
    )
    yield from (f"holds {word}" for word in LEFTOVERS.findall(text))
    annotated = any(isinstance(node, ast.FunctionDef | ast.AnnAssign) for node in nodes)
    if annotated and "from __future__ import annotations" not in text:
        yield "pays for its annotations at import"
    yield from (f"imports {name} from another room" for name in borrowed(module, tree))
    if "narwhals" in packages and not module.startswith(("tables/", "regions/")):
        yield "knows narwhals, which is for the rooms of tables and regions"
    if module in WORDS_ONLY and packages & LIBRARIES:
        yield f"imports {sorted(packages & LIBRARIES)}"


def test_every_file_keeps_the_rules():
    """Users get errors and warnings, not prints; rooms keep to their libraries; nobody seeds NumPy's global state."""
    found = [
        f"{where(path)}: {why}"
        for path, text in SOURCES.items()
        for why in broken_rules(path.relative_to(PACKAGE).with_suffix("").as_posix(), text)
    ]
    assert not found, "\n".join(found)


def test_the_rules_can_be_broken():
    text = (
        "import narwhals, scipy\n"
        "from granite_xai.tables.table import _cells\n"
        "def f():\n"
        "    assert 1  # TODO\n"
        "    print(np.random.seed(0))\n"
    )
    assert len(list(broken_rules("explanation/influence", text))) == 8


def test_no_file_names_a_machine():
    """Nobody's folders; data come by GRANITE_DATA."""
    this = Path(__file__)
    texts = {
        path: path.read_text(encoding="utf-8")
        for path in OWN_FILES
        if path != this and path.suffix != ".png"
    }
    assert {where(path) for path, text in texts.items() if HOME_OF_SOMEONE.search(text)} == set()


def test_the_search_for_machine_paths_finds_one():
    assert HOME_OF_SOMEONE.search("open('/" + "home/me/x')")
    assert HOME_OF_SOMEONE.search("C:" + "\\Users")
    assert not HOME_OF_SOMEONE.search("https://arxiv.org/abs/1 and/or work/life")


def undocumented(value: object) -> Iterator[str]:
    """What a public name lacks: a sentence, an example that runs, words for its methods.

    Errors and warnings are raised, not called: a docstring is enough for them.
    """
    text = inspect.getdoc(value) or ""
    examples = doctest.DocTestParser().get_examples(text)
    if not re.match(r"[A-Z`].*[.:?]$", text.split("\n\n")[0].replace("\n", " ")):
        yield "the first line is no sentence"
    if not examples and not (isinstance(value, type) and issubclass(value, BaseException)):
        yield "no example"
    if any(doctest.SKIP in example.options for example in examples):
        yield "an example that does not run"
    methods = {
        name: member
        for name, member in vars(value).items()
        if inspect.isfunction(member) and name[0] != "_"
    }
    yield from (
        f"{name} has no docstring" for name, member in methods.items() if not inspect.getdoc(member)
    )


def test_every_public_name_is_documented_with_an_example_that_runs():
    names = [name for name in granite_xai.__all__ if name != "datasets"]
    names += [f"datasets.{name}" for name in granite_xai.datasets.__all__]
    found = [
        f"{name}: {why}" for name in names for why in undocumented(attrgetter(name)(granite_xai))
    ]
    assert not found, "\n".join(found)


def test_one_version_everywhere():
    cited = re.search(
        r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE
    )
    declared = re.search(
        r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert cited[1] == declared[1] == granite_xai.__version__ == metadata("granite-xai")["Version"]


def test_the_gallery_orders_every_example_and_no_page_is_listed_twice():
    """The manual is built with warnings as errors, but not by the default tests."""
    conf = ast.parse((ROOT / "docs" / "conf.py").read_text(encoding="utf-8"))
    (order,) = (
        ast.literal_eval(node.value)
        for node in conf.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_EXAMPLES"
    )
    assert sorted(order) == sorted(path.name for path in (ROOT / "examples").rglob("plot_*.py"))
    index = (ROOT / "docs" / "index.rst").read_text(encoding="utf-8")
    entries = re.findall(r"^   (?!:)(\S.*)$", "\n".join(index.split(".. toctree::")[1:]), re.M)
    pages = [entry.rpartition("<")[2].rstrip(">") for entry in entries if "." not in entry]
    assert len(pages) > 10
    assert sorted(pages) == sorted(set(pages))
