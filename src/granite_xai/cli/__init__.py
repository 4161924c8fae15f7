"""The command ``granite``: results on stdout, everything else on stderr."""

from granite_xai.cli.flags import with_flags
from granite_xai.cli.options import parser
from granite_xai.cli.program import main

__all__ = ["main", "parser", "with_flags"]
