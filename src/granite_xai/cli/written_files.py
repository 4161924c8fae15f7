"""Files that a command writes: checked before any work, so that none replaces what it should not."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import granite_xai as gx
from granite_xai.base.files import require_writable

INPUTS = {
    "data": "the table that is read",
    "test": "the other table",
    "model": "the model that is read",
    "module": "the module of the model",
    "saved": "the saved file",
}
"""What a command reads, in words."""


class Output(NamedTuple):
    """A file that an option writes: what it is, and what such files begin with."""

    words: str
    beginnings: tuple[bytes, ...]


OUTPUTS = {
    "report": Output("an HTML page", (b"<!doctype html", b"<html")),
    "save": Output("a saved fit", (b'{"schema": "granite',)),
    "markdown": Output("a report in Markdown", (b"# ",)),
}


def check_outputs(
    options: argparse.Namespace, *, predictor: str | None = None, **inputs: str | None
) -> None:
    """Refuse to write over what is read, two things to one file, or over a file of another kind.

    Parameters
    ----------
    options : Namespace
        Where to write, and ``force``.
    predictor : str, optional
        ``MODULE:NAME`` of the model.
    **inputs : str, optional
        Files that are read, by their names in `INPUTS`.

    Raises
    ------
    InputError
        P03, or F02 if a file cannot be written.
    """
    read = {name: path for name, path in inputs.items() if path and path != "-"}
    if predictor:
        module = predictor.partition(":")[0]
        read["module"] = module.replace(".", "/") + ".py"
    written = {}
    for option in OUTPUTS:
        path = getattr(options, option, None)
        if path:
            written[option] = str(path)
    _require_different_files(written)
    _require_empty_folder(getattr(options, "figures", None), options)
    for option, path in written.items():
        _require_not_read(option, path, read)
        _require_same_kind(option, path, options)
    for path in written.values():
        require_writable(path)


def _unsafe(message: str, option: str, hint: str) -> gx.InputError:
    return gx.InputError(message, code="P03", argument=option, hint=hint)


def _require_different_files(written: Mapping[str, str]) -> None:
    for first, second in combinations(written, 2):
        if _are_one_file(written[first], written[second]):
            message = f"--{first} {written[first]} and --{second} {written[second]} are one file."
            raise _unsafe(message, second, "Choose two files.")


def _require_empty_folder(folder: str | None, options: argparse.Namespace) -> None:
    if not folder or options.force or not Path(folder).exists():
        return
    if not Path(folder).is_dir() or any(Path(folder).iterdir()):
        message = f"--figures {Path(folder)} exists and is not an empty folder."
        hint = "Choose another folder, or pass --force to replace files in it."
        raise _unsafe(message, "figures", hint)


def _require_not_read(option: str, path: str, read: Mapping[str, str]) -> None:
    for name, input_path in read.items():
        if _are_one_file(path, input_path):
            raise _unsafe(f"--{option} {path} is {INPUTS[name]}.", option, "Choose another file.")


def _require_same_kind(option: str, path: str, options: argparse.Namespace) -> None:
    output = OUTPUTS[option]
    if options.force or not Path(path).is_file() or _begins_with(path, output.beginnings):
        return
    message = f"--{option} {path} exists and is not {output.words}."
    raise _unsafe(message, option, "Choose another file, or pass --force to replace it.")


def _are_one_file(first: str, second: str) -> bool:
    """Whether two paths lead to one file, by whatever links; neither need exist."""
    if os.path.realpath(first) == os.path.realpath(second):
        return True
    if not Path(first).exists() or not Path(second).exists():
        return False
    return Path(first).samefile(second)


def _begins_with(path: str, beginnings: tuple[bytes, ...]) -> bool:
    """Whether a file is empty or begins as one of ours; one that cannot be read is not ours."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(64).lstrip().lower()
    except OSError:
        return False
    return not head or head.startswith(beginnings)
