"""Tables on disk: read strictly, so that nothing is shifted or renamed in silence."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import granite_xai as gx

_SEPARATORS = {".tsv": "\t", ".tab": "\t"}


def read(path: str) -> Any:
    """Read a CSV, Parquet or Feather file, or CSV from standard input (``-``), as a pandas frame (S12)."""
    if "://" in path:
        raise _refused(f"{path} is an address; only files are read.", "Download the file first.")
    ending = Path(path).suffix.lower()
    try:
        if ending in (".parquet", ".pq"):
            return _with_pyarrow("read_parquet", path)
        if ending in (".feather", ".arrow"):
            return _with_pyarrow("read_feather", path)
        raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise _refused(f"{path} cannot be read ({error.strerror or error}).", "Check the name of the file.") from error
    return _csv(raw, "standard input" if path == "-" else path, _SEPARATORS.get(ending, ","))


def _with_pyarrow(function: str, path: str) -> Any:
    import pandas as pd

    with Path(path).open("rb") as file:  # opened here: pandas would take an address
        try:
            return getattr(pd, function)(file)
        except ImportError as error:
            raise _refused(f"{path} needs the package pyarrow.", "pip install pyarrow installs it.") from error
        except Exception as error:  # each reader has its own errors
            raise _refused(f"{path} is not what its name says ({type(error).__name__}: {error}).", "") from error


def _csv(raw: bytes, name: str, separator: str) -> Any:
    import pandas as pd

    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refused(f"{name} is not UTF-8 at byte {error.start:,}.", "Save it as UTF-8.") from error
    _check_shape(text, name, separator)
    return pd.read_csv(io.StringIO(text), sep=separator, skip_blank_lines=False)


def _check_shape(text: str, name: str, separator: str) -> None:
    """Refuse what readers mend in silence: headers that repeat, rows that are longer or shorter."""
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        header = next(lines, [])
        if not any(header):
            raise _refused(f"{name} has no header on line 1.", "Put the names of the columns there.")
        twice = sorted(column for column, count in Counter(header).items() if count > 1)
        if twice:
            message = f"{name} has {', '.join(map(repr, twice))} more than once on line 1."
            raise gx.InputError(message, code="D07", argument="data", columns=twice, hint="Rename these columns.")
        for row in lines:
            if len(row) != len(header):
                message = f"{name} has {len(row)} cells on line {lines.line_num}, and {len(header)} on line 1."
                raise _refused(message, "Mend that line.")
    except csv.Error as error:
        raise _refused(f"{name} cannot be read on line {lines.line_num} ({error}).", "") from error


def _refused(message: str, hint: str) -> gx.InputError:
    return gx.InputError(message, code="S12", argument="data", hint=hint or None)


def features_and_target(frame: Any, options: argparse.Namespace) -> tuple[Any, Any]:
    """The columns the model gets, and the target if one is named."""
    target = getattr(options, "train_on", None) or options.target
    wanted = [*options.drop, *options.categories, *([target] if target else [])]
    unknown = [name for name in wanted if name not in frame]
    if unknown:
        message = f"the table has no column {unknown[0]!r}; it has {', '.join(map(str, frame))}."
        raise gx.InputError(message, code="P04", argument="data", columns=unknown)
    y = frame[target] if target else None
    X = frame.drop(columns=[*options.drop, *([target] if target else [])])
    return X.astype(dict.fromkeys(options.categories, "category")), y
