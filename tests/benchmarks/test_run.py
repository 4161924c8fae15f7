"""The benchmarks run, write their lines, and find the plain implementation's trees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[2] / "benchmarks" / "run.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(RUN), *arguments], capture_output=True, text=True, timeout=300
    )


@pytest.mark.slow
def test_a_quick_run_writes_every_section(tmp_path):
    done = run("--quick", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = {path.stem: json.loads(path.read_text())["rows"] for path in tmp_path.iterdir()}
    assert {"search", "growth", "scalability"} <= lines.keys()
    exact = [line for line in lines["search"] if line["max_grid"] is None]
    assert exact
    assert all(line["same_tree"] for line in exact)
    assert all(line["peak_over_limit"] <= 1.1 for line in lines["growth"])
    assert {line["max_grid"] for line in lines["scalability"]} == {None, 64}


def test_an_unknown_section_is_refused_by_name():
    done = run("speed")
    assert done.returncode == 2
    assert "no section speed; there are search, evaluations, growth, scalability" in done.stderr
