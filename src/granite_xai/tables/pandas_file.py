"""Columns of pandas frames in the types of JSON: categories, nullable and text dtypes, time zones."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from granite_xai.base.files import broken, entry, members
from granite_xai.tables.arrays_file import UnwritableError, array_from_json, array_to_json

# Dtypes that pandas builds from their name; nothing else is handed to its parser.
_NULLABLE = re.compile(r"(?:U?Int(?:8|16|32|64)|Float(?:32|64)|boolean|string|str)")
_ARROW = re.compile(r"(?:u?int(?:8|16|32|64)|float|double|bool|string|large_string)\[pyarrow\]")
_ZONED = re.compile(r"datetime64\[(s|ms|us|ns), ([A-Za-z]+(?:/[A-Za-z0-9_+-]+){0,2})\]")


def series_to_dict(series: Any) -> dict[str, Any]:
    """Return a column as its dtype and its cells.

    Examples
    --------
    >>> series_to_dict(pd.Series([1, None], dtype="Int8"))
    {'dtype': 'Int8', 'cells': [1, None]}
    """
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        name, cells = array_to_json(series.to_numpy())
        return {"dtype": name, "cells": cells}
    if isinstance(dtype, pd.CategoricalDtype):
        declared = series_to_dict(dtype.categories.to_series())
        return {"categories": declared, "ordered": dtype.ordered, "codes": series.cat.codes.tolist()}
    if _ZONED.fullmatch(str(dtype)):
        name, cells = array_to_json(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
        return {"dtype": str(dtype), "cells": cells}
    if not (_NULLABLE.fullmatch(str(dtype)) or _ARROW.fullmatch(str(dtype))):
        raise UnwritableError(f"has dtype {dtype}")
    return {"dtype": str(dtype), "cells": [None if pd.isna(cell) else _item(cell) for cell in series.tolist()]}


def series_from_dict(data: object, place: str) -> Any:
    """Return the column that `series_to_dict` wrote; anything else is a FormatError.

    Examples
    --------
    >>> series_from_dict({"dtype": "Int8", "cells": [1, None]}, "column").dtype
    Int8Dtype()
    """
    try:
        return _category(data, place) if isinstance(data, dict) and "categories" in data else _column(data, place)
    except (ArithmeticError, ImportError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise broken(place, f"cannot be read as a column of pandas ({str(error)[:80]})") from error


def _column(data: object, place: str) -> Any:
    name, cells = entry(data, "dtype", str, place), members(data, "cells", place)
    zoned = _ZONED.fullmatch(name)
    if zoned and not name.startswith("datetime64[" + zoned[1] + ", dateutil"):
        naive = pd.Series(array_from_json(f"datetime64[{zoned[1]}]", cells, place))
        return naive.dt.tz_localize("UTC").dt.tz_convert(zoned[2])
    if _NULLABLE.fullmatch(name) or _ARROW.fullmatch(name):
        if not all(cell is None or isinstance(cell, str | int | float) for cell in cells):
            raise broken(place, "has a cell that is neither text nor number")
        return pd.Series(pd.array(cells, dtype=name))  # type: ignore[call-overload]
    values = array_from_json(name, cells, place)
    return pd.Series(values, dtype=object if values.dtype == object else None)


def _category(data: object, place: str) -> Any:
    declared = series_from_dict(entry(data, "categories", dict, place), f"{place}.categories")
    ordered, codes = entry(data, "ordered", bool, place), members(data, "codes", place)
    if not all(type(code) is int and -1 <= code < len(declared) for code in codes):
        raise broken(f"{place}.codes", "is not a list of positions among the categories")
    dtype = pd.CategoricalDtype(pd.Index(declared), ordered=ordered)
    return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype))


def _item(cell: Any) -> Any:
    plain = cell.item() if isinstance(cell, np.generic) else cell
    if not isinstance(plain, str | int | float) or plain != plain:
        raise UnwritableError(f"holds {plain!r}")
    return plain
