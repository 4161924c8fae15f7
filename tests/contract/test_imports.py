"""What is loaded, and when."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import granite_xai

PACKAGE = Path(granite_xai.__file__).parent


def third_party(code):
    """Run code in a fresh interpreter; the third-party packages it loaded beyond those of an empty run."""
    report = "\nimport json, sys\nprint(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    ours = {"granite_xai", *sys.stdlib_module_names, "__main__"}

    def loaded(text):
        answer = subprocess.run(
            [sys.executable, "-c", text + report], capture_output=True, text=True, check=True
        )
        return set(json.loads(answer.stdout.splitlines()[-1]))

    return loaded(code) - loaded("") - ours


LIGHT = {"numpy", "lazy_loader"}
"""What the package may load at once; lazy_loader is one file, and what keeps all others unloaded."""


def test_the_package_loads_only_what_is_light():
    assert third_party("import granite_xai") <= LIGHT


def test_the_command_line_loads_nothing_before_there_is_work():
    assert third_party("import granite_xai.cli") <= LIGHT


def test_the_estimator_pays_for_scikit_learn_but_for_no_plots():
    """Also the proof that the check can fail."""
    loaded = third_party("import granite_xai; granite_xai.Granite")
    assert "sklearn" in loaded
    assert not loaded & {"matplotlib", "jinja2", "numba", "shap", "shapiq", "torch", "polars"}


def test_every_public_name_resolves_lazily():
    """Listed before it is loaded, and what comes is what was named."""
    assert set(granite_xai.__all__) <= set(dir(granite_xai))
    resolved = {
        name: getattr(granite_xai, name).__name__.rpartition(".")[2] for name in granite_xai.__all__
    }
    assert {name: real for name, real in resolved.items() if real != name} == {}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="No granite_xai attribute Granit"):
        _ = granite_xai.Granit


def test_a_room_does_not_hide_the_function_of_the_same_name():
    """`gx.questions()` works before and after the module that has it was imported."""
    code = "import granite_xai.algebra.disagreement, granite_xai as gx\nimport sys\nassert 'ice-pdp' in gx.questions()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_type_checkers_see_the_same_names():
    """The stub is the table of rooms: each public name once, as itself."""
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    names = [name for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names]
    assert [name.asname for name in names] == [name.name for name in names]
    assert sorted(name.name for name in names) == granite_xai.__all__


def test_the_stub_is_read_alike_in_every_locale():
    """lazy_loader opens it in the encoding of the locale, so it holds nothing but ASCII."""
    assert (PACKAGE / "__init__.pyi").read_bytes().isascii()


def test_no_room_is_imported_by_a_text_that_holds_its_name():
    """Such an import would escape the contracts on layers."""
    offenders = [
        f"{path.relative_to(PACKAGE)}:{number}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(r"(?:import_module|__import__)\(\s*f?[\"']granite_xai", line)
    ]
    assert offenders == []
