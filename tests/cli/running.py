"""Commands as tests run them."""

from __future__ import annotations

import os
from pathlib import Path

import granite_xai as gx
from granite_xai import cli

GOLDEN = Path(__file__).parent / "golden"
EXPLAIN = ("explain", "table.csv", "--predictor", "own_model:predict", "--target", "y")


def run(capsys, *arguments):
    """Exit code, stdout, stderr."""
    code = cli.main([*map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def golden(name, text):
    """Compare with a stored text; GRANITE_GOLDEN=write stores it anew."""
    file = GOLDEN / f"{name}.txt"
    text = text.replace(gx.__version__, "VERSION")
    if os.environ.get("GRANITE_GOLDEN") == "write":
        file.write_text(text, encoding="utf-8", newline="\n")
    assert text == file.read_text(encoding="utf-8")
