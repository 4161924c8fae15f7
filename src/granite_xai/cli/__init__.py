"""The command ``granite``.

It knows the package by its public face, and loads what it needs only when there is work to do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import granite_xai as gx
from granite_xai.cli.arguments import parser
from granite_xai.cli.speaking import CLOSED_PIPE, INTERRUPT, RESOURCES, exit_code, survive_narrow_encodings, tell

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 ok, 2 usage, 3 data, 4 model, 5 resources, 130 interrupted. `arguments` follow ``granite`` on the command line.

    >>> main(["questions"])  # doctest: +ELLIPSIS
    question...
    0
    """
    options = parser().parse_args(arguments)
    survive_narrow_encodings()
    try:
        getattr(import_module("granite_xai.cli.commands"), options.command)(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPT
    except BrokenPipeError:
        # The reader has gone (`granite demo | head`): nobody is left to tell, and Python must not try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except gx.GraniteError as error:
        tell(error, options)
        return exit_code(error)
    except MemoryError:
        tell(gx.ResourceError("there is not enough memory.", code="D33", hint="Use fewer rows."), options)
        return RESOURCES
    return 0
