"""Every `make` command that a page or the continuous integration names is a target of the Makefile."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.rst"))]
WORKFLOW = ROOT / ".github" / "workflows" / "test.yml"


def test_named_commands_exist():
    targets = set(
        re.findall(
            r"^([a-z][a-z -]*):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    targets = {target for line in targets for target in line.split()}
    assert {"demo", "test", "docs", "wheel"} <= targets
    named = {
        (target, page.name)
        for page in PAGES
        for target in re.findall(
            r"(?:^|`)make (?:\w+=\S+ )?([a-z][a-z-]*)",
            page.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }
    workflow = WORKFLOW.read_text(encoding="utf-8")
    named |= {(target, WORKFLOW.name) for target in re.findall(r"run: make ([a-z-]+)", workflow)}
    listed = re.search(r"target: \[(.+)\]", workflow)
    named |= {(target, WORKFLOW.name) for target in listed[1].split(", ")}
    assert {("test", "README.md"), ("mutants", "CONTRIBUTING.md"), ("wheel", "test.yml")} <= named
    assert {pair for pair in named if pair[0] not in targets} == set()
