"""Tables that a command reads, strictly: what readers mend in silence is refused (S12)."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import granite_xai as gx
from granite_xai.base.text import shortened
from granite_xai.cli.printing import remark
from granite_xai.cli.refusals import any_error, bad_table, needs
from granite_xai.tables.lazy import MOST_ROWS, draw_positions

SEPARATORS = {".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
FEATHER = (".feather", ".arrow")
STANDARD_INPUT = "-"

ODD_CELLS = 0.05
"""Share of cells that are no numbers, in a column that was probably meant to hold numbers."""

COLUMNS_NAMED = 5
"""Columns of text that a hint names."""


class Columns(NamedTuple):
    """The parts of a table: what the model gets, the target, the weights."""

    X: Any
    y: Any
    weights: Any


def read_table(path: str, options: argparse.Namespace | None = None) -> Any:
    """Read a CSV, Parquet or Feather file as a pandas frame.

    Parameters
    ----------
    path : str
        The file; ``-`` is CSV from standard input.
    options : Namespace, optional
        Of a Parquet file, only the rows that these ask for are read; None: all.

    Raises
    ------
    InputError
        S12 or D07, with the line.
    """
    if "://" in path:
        hint = "Download the file first."
        raise bad_table(f"{path} is an address; only files are read.", hint)
    ending = Path(path).suffix.lower()
    try:
        if ending in (*PARQUET, *FEATHER):
            return _read_binary(path, options)
        raw = sys.stdin.buffer.read() if path == STANDARD_INPUT else Path(path).read_bytes()
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror or error})."
        raise bad_table(message, "Check the name of the file.") from error
    name = "standard input" if path == STANDARD_INPUT else path
    return _read_csv(raw, name, SEPARATORS.get(ending, ","))


def read_parts(path: str) -> Iterator[Any]:
    """Read a table in parts that fit the memory: the batches of a Parquet file; others as they are."""
    if Path(path).suffix.lower() not in PARQUET or not Path(path).is_file():
        yield read_table(path)
        return
    with any_error(_not_what_it_says(path), bad_table, unless=(gx.GraniteError,)):
        from pyarrow import parquet

        for batch in parquet.ParquetFile(path).iter_batches():
            yield batch.to_pandas()


def _not_what_it_says(path: str) -> str:
    return f"{path} is not what its name says"


def _read_binary(path: str, options: argparse.Namespace | None) -> Any:
    """Read Parquet or Feather from an open file: a path could be an address to pandas."""
    with (
        Path(path).open("rb") as file,
        any_error(_not_what_it_says(path), bad_table, unless=(gx.InputError,)),
        needs("pyarrow", path, bad_table),
    ):
        if Path(path).suffix.lower() in FEATHER:
            return pd.read_feather(file)
        if options is None:
            return pd.read_parquet(file)
        return _read_rows_of_parquet(file, path, options)


def _read_rows_of_parquet(file: Any, path: str, options: argparse.Namespace) -> Any:
    """Draw the rows that are wanted batch by batch; the others are not collected."""
    import pyarrow
    from pyarrow import parquet

    source = parquet.ParquetFile(file)
    total = source.metadata.num_rows
    wanted = _rows_wanted(total, options)
    rows = draw_positions(total, min(wanted, total), getattr(options, "seed", 0))  # sorted
    parts = []
    start = 0
    for batch in source.iter_batches():
        end = start + len(batch)
        first_drawn, end_drawn = np.searchsorted(rows, (start, end))
        parts.append(batch.take(rows[first_drawn:end_drawn] - start))
        start = end
    if len(rows) < total:
        remark(f"{len(rows):,} of the {total:,} rows of {path} are read.")
    return pyarrow.Table.from_batches(parts, source.schema_arrow).to_pandas()


def _rows_wanted(total: int, options: argparse.Namespace) -> int:
    """Twice as many rows as may search, 50,000 if nobody says, all if a model is to be trained."""
    trains_model = getattr(options, "train_on", None)
    if trains_model or options.max_samples in ("all", 0):
        return total
    if options.max_samples == "auto":
        return MOST_ROWS
    return 2 * int(options.max_samples)


def _read_csv(raw: bytes, name: str, separator: str) -> Any:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{name} is not UTF-8 at byte {error.start:,}."
        raise bad_table(message, "Save it as UTF-8.") from error
    _check_lines(text, name, separator)
    frame = pd.read_csv(io.StringIO(text), sep=separator, skip_blank_lines=False)
    _warn_of_odd_cells(frame, text, name, separator)
    return frame


def _lines(text: str, separator: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator)


def _check_lines(text: str, name: str, separator: str) -> None:
    """Refuse headers that repeat, and rows that are longer or shorter."""
    lines = _lines(text, separator)
    try:
        header: list[str] = next(lines, [])
        _check_header(header, name)
        for row in lines:
            if len(row) != len(header):
                message = (
                    f"{name} has {len(row)} cells on line {lines.line_num}, "
                    f"and {len(header)} on line 1."
                )
                raise bad_table(message, "Mend that line.")
    except csv.Error as error:
        raise bad_table(f"{name} cannot be read on line {lines.line_num} ({error}).") from error


def _check_header(header: list[str], name: str) -> None:
    if not any(header):
        hint = "Put the names of the columns there."
        raise bad_table(f"{name} has no header on line 1.", hint)
    repeated = sorted(column for column, count in Counter(header).items() if count > 1)
    if repeated:
        names = ", ".join(map(repr, repeated))
        raise gx.InputError(
            f"{name} has {names} more than once on line 1.",
            code="D07",
            argument="data",
            columns=repeated,
            hint="Rename these columns.",
        )


def _warn_of_odd_cells(frame: Any, text: str, name: str, separator: str) -> None:
    """Warn about columns of numbers that a few other cells turn into text (S12)."""
    for column in text_columns(frame):
        is_present = frame[column].notna()
        is_odd = is_present & pd.to_numeric(frame[column], errors="coerce").isna()
        n_odd = int(is_odd.sum())
        n_present = int(is_present.sum())
        most_odd = max(1, int(ODD_CELLS * n_present))
        is_probably_numeric = 0 < n_odd <= most_odd and 2 * n_odd < n_present
        if not is_probably_numeric:
            continue
        first = int(np.flatnonzero(is_odd)[0])
        cell = shortened(str(frame[column].iloc[first]), 40)
        cells_are = "1 cell is" if n_odd == 1 else f"{n_odd:,} cells are"
        remark(
            f"granite: warning: S12: column {column!r} of {name} is read as text, "
            f"because {cells_are} no number: "
            f"line {_line_of_row(text, separator, first)} holds {cell!r}. "
            "Mend it, or leave the cell empty."
        )


def _line_of_row(text: str, separator: str, row: int) -> int:
    """The line of the file where a row ends; cells may hold line ends."""
    lines = _lines(text, separator)
    next(islice(lines, row + 1, None))  # behind the header and the rows above
    return int(lines.line_num)


def text_columns(frame: Any) -> list[Any]:
    """Names of the columns that hold text."""
    return [name for name in frame if _holds_text(frame[name])]


def _holds_text(column: Any) -> bool:
    return column.dtype == object or str(column.dtype) in ("str", "string")


def features_and_target(frame: Any, options: argparse.Namespace) -> Columns:
    """Take the columns that the model gets, and the target and the weights if they are named.

    Raises
    ------
    InputError
        P04: the table has no such column.
    """
    target = getattr(options, "train_on", None) or options.target
    no_features = [name for name in (target, options.weights) if name]
    names = [*options.drop, *options.categories, *no_features]
    unknown = [name for name in names if name not in frame]
    if unknown:
        message = f"the table has no column {unknown[0]!r}; it has {', '.join(map(str, frame))}."
        raise gx.InputError(message, code="P04", argument="data", columns=unknown)
    X = frame.drop(columns=[*options.drop, *no_features])
    return Columns(
        X=X.astype(dict.fromkeys(options.categories, "category")),
        y=frame[target] if target else None,
        weights=frame[options.weights] if options.weights else None,
    )


@contextmanager
def hint_at_categories(X: Any) -> Iterator[None]:
    """Name the columns of text where a model refuses rows (M07).

    It may have been trained on them as categories.
    """
    try:
        yield
    except gx.ModelError as error:
        columns = [str(name) for name in text_columns(X)][:COLUMNS_NAMED]
        if error.code == "M07" and columns:
            hint = (
                f"{error.hint or ''} The model was given text in "
                f"{', '.join(map(repr, columns))}. "
                f"If it was trained on categories: --categories {' '.join(columns)}."
            )
            error.hint = hint.strip()
        raise
