"""Every module has a test file of its name, in the folder of its room."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "granite_xai"

# Modules that other files test so far. The list may only become shorter: take a module out when its
# file is written.
STILL_WITHOUT = [
    "base/typing",
    "datasets",
    "display/effect_lines",
    "report/certainty_part",
    "report/comparison_page",
    "report/effect_charts",
    "report/effects_part",
    "report/feature_chart",
    "report/features_part",
    "report/figure_files",
    "report/overview_chart",
    "report/path_chart",
    "report/regions_part",
    "report/report",
    "report/source",
    "report/svg",
    "report/wording",
    "tables/arrays",
    "tables/containers",
    "tables/frames",
    "tables/opening",
    "tables/series",
]


def modules():
    """Modules by place in the package, such as ``search/tree``."""
    for file in PACKAGE.rglob("*.py"):
        if not file.name.startswith("__"):
            yield file.relative_to(PACKAGE).with_suffix("")


def has_test_file(module):
    return (ROOT / "tests" / module.parent / f"test_{module.name}.py").exists()


def test_every_module_has_a_test_file_of_its_name():
    lacking = {module.as_posix() for module in modules() if not has_test_file(module)}
    assert sorted(lacking - set(STILL_WITHOUT)) == []


def test_the_list_names_each_module_once():
    assert len(STILL_WITHOUT) == len(set(STILL_WITHOUT))
    assert len(STILL_WITHOUT) <= 26
