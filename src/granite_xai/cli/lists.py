"""``granite questions``, ``granite explanations``, ``granite frameworks``: what has a name."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

import granite_xai as gx
from granite_xai.base.wording import aligned
from granite_xai.catalog import meaning
from granite_xai.cli.speaking import say, say_json
from granite_xai.report.sentences import cause


def questions(options: argparse.Namespace) -> None:
    """The questions with a name."""
    lines = [
        {
            "question": name,
            "first": question.first.name,
            "second": question.second.name,
            "about": question.behavior.key,
            "differ where": cause(question),
        }
        for name, question in gx.questions().items()
    ]
    _say(lines, options.json)


def explanations(options: argparse.Namespace) -> None:
    """The explanations with a name."""
    lines = [
        {
            "explanation": name,
            "masking": explainer.masking.key,
            "behavior": explainer.behavior.key,
            "interaction": explainer.interaction.key,
            "meaning": meaning(name),
        }
        for name, explainer in gx.explanations().items()
    ]
    _say(lines, options.json)


def frameworks(options: argparse.Namespace) -> None:
    """The published frameworks, and what each addresses."""
    table = gx.frameworks.overview()
    _say(table.to_dict(orient="records"), options.json)
    if not options.json:
        say("\n✓ addressed, ✗ not, * all choices, – not defined. m, c, b: marginal, conditional, baseline masking.")


def _say(lines: Sequence[Mapping[str, object]], as_json: bool) -> None:
    if as_json:
        say_json(lines)
        return
    rows = [list(lines[0]), *(list(map(str, line.values())) for line in lines)]
    say(aligned(rows, left=range(len(rows[0]))))
