"""The README tells the truth."""

from __future__ import annotations

import re
from pathlib import Path

import granite_xai as gx

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def block(language):
    return re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)[1]


def rules(text):
    """The rules at the nodes; the figures beside them depend on the version of the model's library."""
    return re.findall(r"─ (?:\d+ {2})?(.+?) {2,}", text)


def test_the_six_lines_print_the_tree_that_is_shown(data_folder, capsys):
    code = block("python")
    assert len([line for line in code.splitlines() if line]) == 6
    exec(code, {})
    printed = capsys.readouterr().out
    assert len(rules(printed)) == 4
    assert rules(printed) == rules(block("text"))


def test_every_name_in_the_readme_exists():
    names = set(re.findall(r"\bgx\.(\w+)", README))
    told_for_later = {"explain"}
    assert names - told_for_later <= set(gx.__all__)
    fitted = set(re.findall(r"\bg\.(\w+)\(", README))
    assert {name for name in fitted if not hasattr(gx.Granite, name)} == set()
