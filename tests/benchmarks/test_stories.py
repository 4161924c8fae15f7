"""The stories of a first call run and tell what came out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_quick_stories_are_told_line_by_line():
    names = ["xgboost", "columns", "weights", "command_line"]
    command = [sys.executable, "-m", "benchmarks.stories", "--quick", *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(names)
    assert "rows search (all rows)" in lines[0]["outcome"]
    assert all(line["outcome"] for line in lines)
