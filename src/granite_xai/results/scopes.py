"""All rows, and those of every region."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granite_xai.base.text import ALL_ROWS
from granite_xai.base.typing import IntArray
from granite_xai.regions import Partition


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """All rows, or those of one region.

    Parameters
    ----------
    region : int or None
        None: all rows.
    rows : array of int
        Their positions.
    rule : str
    label : str
        Name of the region or, if it has none, its rule in words.
    """

    region: int | None
    rows: IntArray
    rule: str
    label: str = ""


def scopes_of(partition: Partition, regions: IntArray) -> tuple[Scope, ...]:
    """All rows, then each region that has some; a single region is all rows.

    Parameters
    ----------
    partition : Partition
    regions : array of shape (n_rows,)
        Region of each row.
    """
    all_rows = Scope(region=None, rows=np.arange(len(regions)), rule=ALL_ROWS)
    if len(partition) == 1:
        return (all_rows,)
    return (all_rows, *region_scopes(partition, regions))


def region_scopes(partition: Partition, regions: IntArray) -> list[Scope]:
    """Each region that has rows; parameters as of `scopes_of`."""
    scopes = []
    for region, label in zip(partition, partition.titles, strict=True):
        rows = np.flatnonzero(regions == region.index)
        if len(rows):
            scope = Scope(region=region.index, rows=rows, rule=str(region.rule), label=label)
            scopes.append(scope)
    return scopes
