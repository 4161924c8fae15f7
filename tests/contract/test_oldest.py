"""The oldest versions: every package that is needed names one, and they are what `make test-oldest` installs."""

from __future__ import annotations

import tomllib

import pytest

import oldest


def test_every_requirement_has_a_smallest_version():
    with oldest.PROJECT.open("rb") as file:
        needed = tomllib.load(file)["project"]["dependencies"]
    floors = oldest.floors()
    assert {requirement.split(">=")[0] for requirement in needed} <= set(floors)
    assert {"numba", "treelite", "shapiq", "polars", "pyarrow", "pytest"} <= set(floors)
    assert not {"ruff", "mypy", "torch"} & set(floors)


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy>=1.26,<3"])
def test_one_without_is_refused(tmp_path, requirement):
    project = tmp_path / "pyproject.toml"
    project.write_text(
        f'[project]\ndependencies = ["{requirement}"]\noptional-dependencies = {{}}\n[dependency-groups]\ntest = []\n'
    )
    with pytest.raises(ValueError, match="names no smallest version"):
        oldest.floors(project)
