"""Options of the library, as messages name them, in the flags of a command."""

from __future__ import annotations

import argparse
import re

_RESOURCES = re.compile(r"(?:gx\.)?Resources\((\w+=[^()]*)\)")
_OPTION = re.compile(
    r"\b(max_samples|max_grid|max_evaluations|memory_limit|batch_size|missing"
    r"|response|output|features|split_features|n_jobs|influence|kinds|device|groups)"
    r"=([\"']\w*[\"']|\[.*?\]|\{.*?\}|[\w…]+(?:\.\d+)?|\.\.\.|)"
)
_FLAG_NAMES = {"memory_limit": "memory", "n_jobs": "jobs"}
_SENTENCES = {"Pass the target as the second argument.": "Name the column of the target: --target."}


def with_flags(text: str, options: argparse.Namespace) -> str:
    """Write a message with the options of the library as flags.

    Parameters
    ----------
    text : str
        A message of the library, such as ``"… pass max_samples=500"``.
    options : Namespace
        Options of the command; what it does not have is marked "(in Python)".

    Returns
    -------
    str
        Such as ``"… pass --max-samples 500"``.
    """

    def flag(match: re.Match[str]) -> str:
        option = match[1]
        name = _FLAG_NAMES.get(option, option)
        if not hasattr(options, name):
            return f"{match[0]} (in Python)"
        value = match[2].strip("\"'…").removesuffix("...")
        if option == "memory_limit" and value.isdigit():
            value = _whole_mebibytes(int(value))
        return f"--{name.replace('_', '-')} {value}".rstrip()

    for sentence, with_flag in _SENTENCES.items():
        text = text.replace(sentence, with_flag)
    return _OPTION.sub(flag, _RESOURCES.sub(r"\1", text))


def _whole_mebibytes(count: int) -> str:
    return str(-(-count // 2**20))  # rounded up
