"""The command ``granite``: results on stdout, everything else on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import granite_xai as gx
from granite_xai.cli.options import parser

__all__ = ["main", "parser"]

OK = 0
USAGE = 2
DATA = 3
MODEL = 4
RESOURCES = 5
INTERRUPTED = 130
CLOSED_PIPE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (S14).

    0 ok, 2 usage, 3 data, 4 model, 5 resources, 130 interrupted.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows ``granite`` on the command line; None: that of the process.

    Examples
    --------
    >>> main(["apply", "no_such_file.json", "table.csv"])
    3
    """
    options = parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        # Rules such as "x ≤ 1" are printed also where the terminal has no such sign.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        # Commands load pandas, so only where there is work.
        from granite_xai.cli import commands

        try:
            getattr(commands, options.command)(options)
            sys.stdout.flush()
        except gx.GraniteError as error:
            commands.print_error(error, options)
            return _exit_code(error)
        except MemoryError:
            hint = "Use fewer rows."
            refusal = gx.ResourceError("there is not enough memory.", code="D33", hint=hint)
            commands.print_error(refusal, options)
            return RESOURCES
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (`granite demo | head`): nobody is left to tell, and Python must not
        # try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    return OK


def _exit_code(error: gx.GraniteError) -> int:
    if error.code.startswith("P"):  # options are numbered P01, P02, …
        return USAGE
    if isinstance(error, gx.ModelError):
        return MODEL
    if isinstance(error, gx.ResourceError):
        return RESOURCES
    return DATA
