"""The page of the API lists exactly the public names, each once."""

import re
from pathlib import Path

import granite_xai as gx

PAGE = Path(__file__).parents[2] / "docs" / "api.rst"
NAMESPACES = ("datasets", "frameworks", "partitioners")


def listed() -> list[str]:
    """The entries of every summary of the page."""
    parts = PAGE.read_text(encoding="utf-8").split(".. autosummary::\n   :toctree: generated\n\n")[
        1:
    ]
    return [
        line.strip() for part in parts for line in re.match(r"(?: +\S+\n)+", part)[0].splitlines()
    ]


def test_every_public_name_is_listed_once():
    public = [name for name in gx.__all__ if name not in NAMESPACES]
    public += [f"{room}.{name}" for room in NAMESPACES for name in getattr(gx, room).__all__]
    assert sorted(listed()) == sorted(public)
