"""Every module has a test file of its name, in the folder of its room."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "granite_xai"


def modules():
    """Modules by place in the package, such as ``search/tree``."""
    for file in PACKAGE.rglob("*.py"):
        if not file.name.startswith("__"):
            yield file.relative_to(PACKAGE).with_suffix("")


def has_test_file(module):
    return (ROOT / "tests" / module.parent / f"test_{module.name}.py").exists()


def test_every_module_has_a_test_file_of_its_name():
    assert sorted(module.as_posix() for module in modules() if not has_test_file(module)) == []


def test_modules_are_found():
    assert len(list(modules())) > 300
