"""Names that users give to regions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import cast

import numpy as np

from granite_xai.base.errors import InputError


def check_region_names(names: Mapping[int, str], n_regions: int) -> dict[int, str]:
    """Check names of regions.

    Parameters
    ----------
    names : mapping of int to str
        Names by number of the region.
    n_regions : int

    Returns
    -------
    dict of int to str
        By ascending number, without blanks at the ends and without empty names.

    Raises
    ------
    InputError
        If there is no such region, a name is no text, or two regions would have the same.
    """
    checked: dict[int, str] = {}
    for number, name in names.items():
        _check_number(number, n_regions)
        if not isinstance(name, str):
            raise InputError(
                f"the name of region {number} is {name!r}, not a text.",
                code="P02",
                argument="names",
            )
        if name.strip():
            checked[int(number)] = name.strip()
    _require_different(checked)
    return dict(sorted(checked.items()))


def _check_number(number: object, n_regions: int) -> None:
    is_number = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not is_number or not 0 <= int(cast(int, number)) < n_regions:
        raise InputError(
            f"there is no region {number!r}: regions are numbered 0 to {n_regions - 1}.",
            code="P02",
            argument="names",
        )


def _require_different(names: Mapping[int, str]) -> None:
    for name, count in Counter(names.values()).items():
        if count > 1:
            raise InputError(
                f"two regions would be called {name!r}.",
                code="P03",
                argument="names",
                hint="Give each region a name of its own.",
            )
