"""Commands that list what has a name."""

from __future__ import annotations

import json

import pytest

import granite_xai as gx
from cli.running import golden, run


@pytest.mark.parametrize("name", ["questions", "explanations", "frameworks"])
def test_lists(name, capsys):
    code, out, _ = run(capsys, name)
    assert code == 0
    golden(name, out)
    _, out, _ = run(capsys, name, "--json")
    assert len(json.loads(out)) == len(getattr(gx, name)()) if name != "frameworks" else 7
