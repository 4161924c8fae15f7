"""Commands as tests run them."""

from __future__ import annotations

from granite_xai import cli

EXPLAIN = ("explain", "table.csv", "--predictor", "own_model:predict", "--target", "y")


def run(capsys, *arguments):
    """Exit code, stdout, stderr."""
    code = cli.main([*map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err
