"""Values of a column as a person would write them."""

from __future__ import annotations

from typing import Any

from granite_xai.base.numbers import column_number
from granite_xai.base.text import plain, shortened
from granite_xai.tables import Column

LONGEST_LABEL = 40


def level_text(column: Column, level: Any) -> str:
    """A value of a column as a person would write it.

    Parameters
    ----------
    column : Column
    level : object
        A present value of it.
    """
    if column.kind == "numeric":
        return column_number(float(level))
    return shortened(plain(level), LONGEST_LABEL)
