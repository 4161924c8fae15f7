"""What a command reads: tables, strictly, models on disk or in a module, or a model fitted on the spot.

What readers of tables mend in silence is refused (S12). Whatever a library raises about a file becomes an error of ours
with a sentence.
"""

from __future__ import annotations

import argparse
import csv
import io
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import granite_xai as gx
from granite_xai.base.text import plain, shortened
from granite_xai.tables import MOST_ROWS, draw_positions

SEPARATORS = {".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
FEATHER = (".feather", ".arrow")
STANDARD_INPUT = "-"

ODD_CELLS = 0.05
"""Share of cells that are no numbers, in a column that was probably meant to hold numbers."""

COLUMNS_NAMED = 5
"""Columns of text that a hint names."""

PICKLES = (".pkl", ".pickle", ".joblib")
LIBRARIES = {".json": "xgboost", ".ubj": "xgboost", ".txt": "lightgbm", ".cbm": "catboost"}
"""Who reads a model, by the ending of its file."""

HELD_OUT = 0.25
"""Share of the rows that a model fitted here does not see."""

FEWEST_ROWS = 40
"""Rows below which no model is fitted."""

FEW_VALUES = 2
"""Distinct values up to which a number is a label."""

FEWEST_ROWS_OF_LABEL = 2
"""Rows of its rarest label that a division by labels needs."""


class Case(NamedTuple):
    """A model, the rows that it is explained on, and other rows."""

    model: Any
    X: Any
    y: Any
    test: tuple[Any, Any] | None  # features and target of the other rows
    weights: Any


def open_case(options: argparse.Namespace) -> Case:
    """Read the tables, then load or fit the model.

    Parameters
    ----------
    options : Namespace
        Of ``granite explain``.

    Raises
    ------
    InputError
        S12, D07: a table cannot be read; P04: it has no such column; T03, D28: no model can be fitted to it.
    ModelError
        S11: the model cannot be loaded.
    """
    X, y, weights = _features_target_and_weights(read_table(options.data, options), options)
    test = None
    if options.test:
        test = _features_target_and_weights(read_table(options.test), options)[:2]
    if not options.train_on:
        return Case(model=_load_model(options), X=X, y=y, test=test, weights=weights)
    model, X, y, held_out = _train(X, y, options.random_state)
    if test is None:
        test = held_out
    else:
        categories = X.dtypes[X.dtypes == "category"].to_dict()
        test = (_with_categories(test[0]).astype(categories), test[1])
    if weights is not None:
        weights = weights.loc[X.index]
    return Case(model=model, X=X, y=y, test=test, weights=weights)


_bad_table = partial(gx.InputError, code="S12", argument="data")
_bad_model = partial(gx.ModelError, code="S11", argument="model")


def remark(text: str) -> None:
    """Say something that is no result."""
    sys.stderr.write(escaped(text) + "\n")


def escaped(text: str) -> str:
    """Text in which nothing acts on a terminal (S04); line ends stay."""
    return "\n".join(plain(line) for line in text.split("\n"))


@contextmanager
def _refused(
    refuse: Callable[..., gx.GraniteError],
    path: str,
    words: str,
    package: str | None = None,
    hint: str | None = None,
) -> Iterator[None]:
    """Refuse a file with these words, whatever error the enclosed work ends in.

    Libraries, pickles and modules of the user may raise anything. Where the package that reads the file is named and
    cannot be imported, the error says how to install it.
    """
    try:
        yield
    except gx.GraniteError:
        raise
    except Exception as error:
        if package and isinstance(error, ImportError):
            raise refuse(
                f"{path} needs the package {package}.", hint=f"pip install {package} installs it."
            ) from error
        raise refuse(f"{words} ({type(error).__name__}: {error}).", hint=hint) from error


def _refuse_address(path: str, refuse: Callable[..., gx.GraniteError]) -> None:
    if "://" in path:
        raise refuse(f"{path} is an address; only files are read.", hint="Download the file first.")


# ------------------------------------------------------------------------------------------------------------ tables


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
    _refuse_address(path, _bad_table)
    ending = Path(path).suffix.lower()
    try:
        if path == STANDARD_INPUT:
            return _read_csv(sys.stdin.buffer.read(), "standard input", ",")
        if ending not in (*PARQUET, *FEATHER):
            return _read_csv(Path(path).read_bytes(), path, SEPARATORS.get(ending, ","))
        words = f"{path} is not what its name says"
        # An open file: a path could be an address to pandas.
        with Path(path).open("rb") as file, _refused(_bad_table, path, words, "pyarrow"):
            if ending in FEATHER:
                return pd.read_feather(file)
            if options is None:
                return pd.read_parquet(file)
            return _read_rows_of_parquet(path, options)
    except OSError as error:
        raise _bad_table(
            f"{path} cannot be read ({error.strerror or error}).",
            hint="Check the name of the file.",
        ) from error


def read_parts(path: str) -> Iterator[Any]:
    """Read a table in parts that fit the memory: the batches of a Parquet file; others as they are."""
    if Path(path).suffix.lower() not in PARQUET or not Path(path).is_file():
        yield read_table(path)
        return
    with _refused(_bad_table, path, f"{path} is not what its name says", "pyarrow"):
        from pyarrow import parquet

        for batch in parquet.ParquetFile(path).iter_batches():
            yield batch.to_pandas()


def _read_rows_of_parquet(path: str, options: argparse.Namespace) -> Any:
    """Draw the rows that are wanted; the others are not collected.

    Twice as many rows as may search are wanted, 50,000 if nobody says, all if a model is to be trained.
    """
    from pyarrow import dataset

    source = dataset.dataset(path, format="parquet")
    total = source.count_rows()
    wanted = total
    if not options.train_on and options.max_samples is not None:
        wanted = MOST_ROWS if options.max_samples == "auto" else 2 * options.max_samples
    rows = draw_positions(total, min(wanted, total), options.random_state)
    if len(rows) < total:
        remark(f"{len(rows):,} of the {total:,} rows of {path} are read.")
    return source.take(rows).to_pandas()


def _read_csv(raw: bytes, name: str, separator: str) -> Any:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _bad_table(
            f"{name} is not UTF-8 at byte {error.start:,}.", hint="Save it as UTF-8."
        ) from error
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
        if not any(header):
            raise _bad_table(
                f"{name} has no header on line 1.", hint="Put the names of the columns there."
            )
        repeated = sorted(column for column, count in Counter(header).items() if count > 1)
        if repeated:
            raise gx.InputError(
                f"{name} has {', '.join(map(repr, repeated))} more than once on line 1.",
                code="D07",
                argument="data",
                columns=repeated,
                hint="Rename these columns.",
            )
        for row in lines:
            if len(row) != len(header):
                cells = f"{len(row)} cells on line {lines.line_num}, and {len(header)} on line 1"
                raise _bad_table(f"{name} has {cells}.", hint="Mend that line.")
    except csv.Error as error:
        raise _bad_table(f"{name} cannot be read on line {lines.line_num} ({error}).") from error


def _warn_of_odd_cells(frame: Any, text: str, name: str, separator: str) -> None:
    """Warn about columns of numbers that a few other cells turn into text (S12)."""
    for column in _text_columns(frame):
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
        # The line where that row ends: cells may hold line ends.
        lines = _lines(text, separator)
        next(islice(lines, first + 1, None))  # behind the header and the rows above
        remark(
            f"granite: warning: S12: column {column!r} of {name} is read as text, "
            f"because {cells_are} no number: line {lines.line_num} holds {cell!r}. "
            "Mend it, or leave the cell empty."
        )


def _text_columns(frame: Any) -> list[Any]:
    """Names of the columns that hold text."""
    return [
        name for name, dtype in frame.dtypes.items() if str(dtype) in ("object", "str", "string")
    ]


def _features_target_and_weights(frame: Any, options: argparse.Namespace) -> tuple[Any, Any, Any]:
    """The columns that the model gets, and the target and the weights if they are named; else P04."""
    target = options.train_on or options.target
    no_features = [name for name in (target, options.weights) if name]
    names = [*options.drop, *options.categories, *no_features]
    unknown = [name for name in names if name not in frame]
    if unknown:
        raise gx.InputError(
            f"the table has no column {unknown[0]!r}; it has {', '.join(map(str, frame))}.",
            code="P04",
            argument="data",
            columns=unknown,
        )
    X = frame.drop(columns=[*options.drop, *no_features])
    return (
        X.astype(dict.fromkeys(options.categories, "category")),
        frame[target] if target else None,
        frame[options.weights] if options.weights else None,
    )


@contextmanager
def hint_at_categories(X: Any) -> Iterator[None]:
    """Name the columns of text where a model refuses rows (M07).

    It may have been trained on them as categories.
    """
    try:
        yield
    except gx.ModelError as error:
        columns = [str(name) for name in _text_columns(X)][:COLUMNS_NAMED]
        if error.code == "M07" and columns:
            hint = (
                f"{error.hint or ''} The model was given text in "
                f"{', '.join(map(repr, columns))}. "
                f"If it was trained on categories: --categories {' '.join(columns)}."
            )
            error.hint = hint.strip()
        raise


# ------------------------------------------------------------------------------------------------------------ models


def _load_model(options: argparse.Namespace) -> Any:
    """Load the model that the options name: a file, or something in a module (S11)."""
    if options.predictor:
        return _from_module(options.predictor)
    path = options.model
    _refuse_address(path, _bad_model)
    if not Path(path).is_file():
        raise _bad_model(f"there is no file {path}.", hint="Check its name.")
    ending = Path(path).suffix.lower()
    if ending in PICKLES:
        if not options.allow_pickle:
            raise _bad_model(
                f"{path} is a pickle: loading it runs whatever code it holds.",
                hint="Pass --allow-pickle if you trust the file, or save the model in another format.",
            )
        with _refused(_bad_model, path, f"{path} cannot be loaded"):
            import joblib

            return joblib.load(path)  # reads plain pickles as well
    if ending == ".skops":
        words = f"skops cannot read {path}"
        with _refused(_bad_model, path, words, "skops", "Save it again with skops."):
            import skops.io

            types = skops.io.get_untrusted_types(file=path)
            unknown = [name for name in types if name not in options.trust]
            if unknown:
                raise _bad_model(
                    f"{path} holds types that are not known to be harmless: {', '.join(unknown)}.",
                    hint=f"If you trust them: --trust {' '.join(unknown)}",
                )
            return skops.io.load(path, trusted=options.trust)
    if ending not in LIBRARIES:
        endings = ", ".join([*LIBRARIES, ".skops", *PICKLES])
        raise _bad_model(
            f"{path} is in no format that is read here.",
            hint=f"Known are {endings}; or use --predictor.",
        )
    package = LIBRARIES[ending]
    with _refused(_bad_model, path, f"{package} cannot read {path}", package):
        library = import_module(package)
        if package == "catboost":
            return library.CatBoost().load_model(path)
        return library.Booster(model_file=path)


def _from_module(text: str) -> Any:
    """``package.module:name``, also from the current folder."""
    module, _, name = text.partition(":")
    if not module or not name:
        raise gx.InputError(
            f"--predictor {text} is not MODULE:NAME.", code="P02", argument="predictor"
        )
    folder = os.getcwd()  # noqa: PTH109 - sys.path holds text
    if folder not in sys.path:
        sys.path.insert(0, folder)
    with _refused(_bad_model, text, f"{text} cannot be loaded"):
        return attrgetter(name)(import_module(module))


# --------------------------------------------------------------------------------------- a model fitted on the spot


def _train(X: Any, y: Any, seed: int) -> tuple[Any, Any, Any, tuple[Any, Any]]:
    """Fit gradient boosting to three quarters of the rows.

    Labels get a classifier, numbers a regressor; columns of text become categories.

    Returns
    -------
    model, features and target of the rows that it was fitted to, those of the others
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.model_selection import train_test_split

    if y.isna().any():
        raise gx.InputError(
            f"the target {y.name!r} is missing in {int(y.isna().sum()):,} rows.",
            code="T03",
            argument="y",
            hint="Drop these rows.",
        )
    if len(X) < FEWEST_ROWS:
        raise gx.InputError(
            f"{len(X)} rows are too few to fit a model to.", code="D28", argument="data"
        )
    are_labels = y.nunique() <= FEW_VALUES or y.dtype.kind not in "fiu"
    by_label = are_labels and y.value_counts().min() >= FEWEST_ROWS_OF_LABEL
    X_train, X_test, y_train, y_test = train_test_split(
        _with_categories(X),
        y,
        test_size=HELD_OUT,
        random_state=seed,
        stratify=y if by_label else None,
    )
    learner = HistGradientBoostingClassifier if are_labels else HistGradientBoostingRegressor
    model = learner(random_state=seed, categorical_features="from_dtype").fit(X_train, y_train)
    remark(
        f"{type(model).__name__} fitted to {y.name!r} on {len(X_train):,} rows; "
        f"{_score(model, X_test, y_test)} on the other {len(X_test):,} rows."
    )
    return model, X_train, y_train, (X_test, y_test)


def _with_categories(X: Any) -> Any:
    """Text columns as categories, which is what gradient boosting takes."""
    return X.astype(dict.fromkeys(_text_columns(X), "category"))


# How well a model does on rows it has not seen, by its number of classes: the scorer, and its name.
_SCORES = {0: ("r2", "R²"), 2: ("roc_auc", "ROC AUC")}


def _score(model: Any, X: Any, y: Any) -> str:
    """How well the model does on rows it has not seen, in words."""
    from sklearn.metrics import get_scorer

    n_classes = len(getattr(model, "classes_", ()))  # of the fitting rows: rare classes count, too
    scorer, name = _SCORES.get(n_classes, ("balanced_accuracy", "balanced accuracy"))
    score = math.nan  # of rows that are all alike
    if y.nunique() > 1:
        score = get_scorer(scorer)(model, X, y)
    return f"{name} {score:.3f}"
