"""The commands by name; each is a function of the options that were read."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from granite_xai.cli.finding import compare_frameworks, demo, explain
from granite_xai.cli.lists import explanations, frameworks, questions
from granite_xai.cli.saved_fits import apply, compare, evaluate, row, show

COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "demo": demo,
    "explain": explain,
    "evaluate": evaluate,
    "row": row,
    "compare": compare,
    "apply": apply,
    "show": show,
    "questions": questions,
    "explanations": explanations,
    "frameworks": frameworks,
    "frameworks compare": compare_frameworks,
}
