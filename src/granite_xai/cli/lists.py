"""Commands that list what has a name."""

from __future__ import annotations

import argparse

import granite_xai as gx
from granite_xai.cli.printing import say, say_table
from granite_xai.explanation.catalog import meaning
from granite_xai.fitting.causes import cause


def questions(options: argparse.Namespace) -> None:
    """The questions with a name."""
    lines = [
        (name, question.first.name, question.second.name, question.behavior.key, cause(question))
        for name, question in gx.questions().items()
    ]
    say_table(("question", "first", "second", "about", "differ where"), lines, options.json)


def explanations(options: argparse.Namespace) -> None:
    """The explanations with a name."""
    lines = [
        (
            name,
            explanation.masking.key,
            explanation.behavior.key,
            explanation.interaction.key,
            meaning(name),
        )
        for name, explanation in gx.explanations().items()
    ]
    headings = ("explanation", "masking", "behavior", "interaction", "meaning")
    say_table(headings, lines, options.json)


def frameworks(options: argparse.Namespace) -> None:
    """The published frameworks, and what each addresses."""
    table = gx.frameworks.overview()
    say_table(list(table), table.itertuples(index=False), options.json)
    if not options.json:
        say(
            "\n✓ addressed, ✗ not, * all choices, – not defined. "
            "m, c, b: marginal, conditional, baseline masking."
        )
