"""Checks that several parts of a loaded file share."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite_xai.tables import Outline, Table


def has_rows(table: Table) -> bool:
    """Whether a table still has its rows: a file without data holds an outline of it."""
    return not isinstance(table.container, Outline)


def are_numbers(values: Any, count: int) -> bool:
    """Whether values are an array of ``count`` numbers, all of them finite."""
    return np.shape(values) == (count,) and bool(np.all(np.isfinite(values)))
