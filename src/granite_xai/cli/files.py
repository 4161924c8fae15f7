"""Files: tables, read strictly; models, from pickles only if the user says so (S11), or fitted on the spot; outputs."""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import combinations, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import granite_xai as gx
from granite_xai.base.files import require_writable
from granite_xai.base.text import shortened
from granite_xai.cli import remark
from granite_xai.tables.opening import MOST, some_rows

_SEPARATORS = {".tsv": "\t", ".tab": "\t"}
_BINARY = {
    ".parquet": "read_parquet",
    ".pq": "read_parquet",
    ".feather": "read_feather",
    ".arrow": "read_feather",
}
_PICKLES = (".pkl", ".pickle", ".joblib")
_READ = {
    "data": "the table that is read",
    "test": "the other table",
    "model": "the model that is read",
}
_READ |= {"module": "the module of the model", "saved": "the saved file"}
_KINDS = {
    "report": ("an HTML page", (b"<!doctype html", b"<html")),
    "save": ("a saved fit", (b'{"schema": "granite',)),
}
_KINDS |= {"markdown": ("a report in Markdown", (b"# ",))}
_bad_table = partial(gx.InputError, code="S12", argument="data")
_bad_model = partial(gx.ModelError, code="S11", argument="model")
_unsafe = partial(gx.InputError, code="P03")
_FEW, _HELD_OUT = 2, 0.25
ODD_CELLS = (
    0.05  # share of cells that are no numbers, in a column that was probably meant to hold numbers
)


@contextmanager
def _any_error(
    words: str, refused: Any = _bad_model, told: Any = (), **more: Any
) -> Iterator[None]:
    """Libraries, pickles and modules of the user may raise anything; what is ``told`` already stays."""
    try:
        yield
    except told:
        raise
    except Exception as error:
        raise refused(f"{words} ({type(error).__name__}: {error}).", **more) from error


@contextmanager
def _needs(package: str, path: str, refused: Any = _bad_model) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise refused(
            f"{path} needs the package {package}.", hint=f"pip install {package} installs it."
        ) from error


def read_table(path: str, options: argparse.Namespace | None = None) -> Any:
    """Read a CSV, Parquet or Feather file, or CSV from standard input (``-``), as a pandas frame (S12).

    Of a Parquet file, only rows that the options ask for: a sample is drawn batch by batch, the rest is not collected.
    """
    if "://" in path:
        raise _bad_table(
            f"{path} is an address; only files are read.", hint="Download the file first."
        )
    ending = Path(path).suffix.lower()
    try:
        if ending in _BINARY:
            odd = _any_error(f"{path} is not what its name says", _bad_table, gx.InputError)
            with Path(path).open("rb") as file, odd, _needs("pyarrow", path, _bad_table):
                if options is not None and _BINARY[ending] == "read_parquet":
                    return _sampled(file, path, options)
                return getattr(pd, _BINARY[ending])(file)  # a path could be an address to pandas
        raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        words = f"{path} cannot be read ({error.strerror or error})."
        raise _bad_table(words, hint="Check the name of the file.") from error
    return _csv(raw, "standard input" if path == "-" else path, _SEPARATORS.get(ending, ","))


def _sampled(file: Any, path: str, options: argparse.Namespace) -> Any:
    """Rows of a Parquet file: twice as many as may search, 50,000 if nobody says, all if a model is to be trained."""
    source, most, parts, start = (
        import_module("pyarrow.parquet").ParquetFile(file),
        options.max_samples,
        [],
        0,
    )
    total, trains = source.metadata.num_rows, getattr(options, "train_on", None)
    wanted = total if trains or most in ("all", 0) else MOST if most == "auto" else 2 * most
    rows = some_rows(total, min(wanted, total), getattr(options, "seed", 0))
    for batch in source.iter_batches():
        inside = slice(*np.searchsorted(rows, (start, start + len(batch))))
        parts.append(batch.take(rows[inside] - start))
        start += len(batch)
    if len(rows) < total:
        remark(f"{len(rows):,} of the {total:,} rows of {path} are read.")
    return import_module("pyarrow").Table.from_batches(parts, source.schema_arrow).to_pandas()


def read_parts(path: str) -> Iterator[Any]:
    """A table in parts that fit the memory: the batches of a Parquet file; any other as it is."""
    if _BINARY.get(Path(path).suffix.lower()) != "read_parquet" or not Path(path).is_file():
        yield read_table(path)
        return
    with _any_error(f"{path} is not what its name says", _bad_table, gx.GraniteError):
        yield from (
            batch.to_pandas()
            for batch in import_module("pyarrow.parquet").ParquetFile(path).iter_batches()
        )


def _csv(raw: bytes, name: str, separator: str) -> Any:
    """Read CSV, but refuse what readers mend in silence: headers that repeat, rows that are longer or shorter."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _bad_table(
            f"{name} is not UTF-8 at byte {error.start:,}.", hint="Save it as UTF-8."
        ) from error
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        header = next(lines, [])
        if not any(header):
            raise _bad_table(
                f"{name} has no header on line 1.", hint="Put the names of the columns there."
            )
        twice = sorted(column for column, count in Counter(header).items() if count > 1)
        if twice:
            message = f"{name} has {', '.join(map(repr, twice))} more than once on line 1."
            raise gx.InputError(
                message, code="D07", argument="data", columns=twice, hint="Rename these columns."
            )
        for row in lines:
            if len(row) != len(header):
                message = f"{name} has {len(row)} cells on line {lines.line_num}, and {len(header)} on line 1."
                raise _bad_table(message, hint="Mend that line.")
    except csv.Error as error:
        raise _bad_table(f"{name} cannot be read on line {lines.line_num} ({error}).") from error
    frame = pd.read_csv(io.StringIO(text), sep=separator, skip_blank_lines=False)
    _tell_odd_cells(frame, text, name, separator)
    return frame


def _tell_odd_cells(frame: Any, text: str, name: str, separator: str) -> None:
    """Warn about columns of numbers that a few other cells turn into text: where they are, and what they hold (S12)."""
    for column in text_columns(frame):
        present = frame[column].notna()
        odd = present & pd.to_numeric(frame[column], errors="coerce").isna()
        count, most = int(odd.sum()), max(1, int(ODD_CELLS * present.sum()))
        if 0 < count <= most and 2 * count < present.sum():
            first = int(np.flatnonzero(odd)[0])
            lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
            next(islice(lines, first + 1, None))  # behind the header and the rows above
            cell = str(frame[column].iloc[first])
            what = "1 cell is" if count == 1 else f"{count:,} cells are"
            where = f"line {lines.line_num} holds {shortened(cell, 40)!r}"
            remark(
                f"granite: warning: S12: column {column!r} of {name} is read as text, because {what} no number: "
                f"{where}. Mend it, or leave the cell empty."
            )


def text_columns(frame: Any) -> list[Any]:
    """Names of the columns that hold text."""
    return [
        name
        for name in frame
        if frame[name].dtype == object or str(frame[name].dtype) in ("str", "string")
    ]


@contextmanager
def hint_at_categories(X: Any) -> Iterator[None]:
    """Where a model refuses rows (M07), name the columns of text that it may have been trained on as categories."""
    try:
        yield
    except gx.ModelError as error:
        texts = [str(name) for name in text_columns(X)]
        if error.code == "M07" and texts:
            named = ", ".join(map(repr, texts[:5]))
            remedy = f"If it was trained on categories: --categories {' '.join(texts[:5])}."
            error.hint = f"{error.hint or ''} The model was given text in {named}. {remedy}".strip()
        raise


def features_and_target(frame: Any, options: argparse.Namespace) -> tuple[Any, Any, Any]:
    """The columns the model gets, the target and the weights if they are named."""
    target = getattr(options, "train_on", None) or options.target
    apart = [name for name in (target, options.weights) if name]
    wanted = [*options.drop, *options.categories, *apart]
    unknown = [name for name in wanted if name not in frame]
    if unknown:
        message = f"the table has no column {unknown[0]!r}; it has {', '.join(map(str, frame))}."
        raise gx.InputError(message, code="P04", argument="data", columns=unknown)
    y, weights = (frame[name] if name else None for name in (target, options.weights))
    X = frame.drop(columns=[*options.drop, *apart])
    return X.astype(dict.fromkeys(options.categories, "category")), y, weights


def load_model(options: argparse.Namespace) -> Any:
    """The model that the options name: a file, or something in a module."""
    if options.predictor:
        return _from_module(options.predictor)
    path = options.model
    ending = Path(path).suffix.lower()
    if "://" in path:
        raise _bad_model(
            f"{path} is an address; only files are read.", hint="Download the file first."
        )
    if not Path(path).is_file():
        raise _bad_model(f"there is no file {path}.", hint="Check its name.")
    if ending in _PICKLES:
        if not options.allow_pickle:
            hint = "Pass --allow-pickle if you trust the file, or save the model in another format."
            raise _bad_model(
                f"{path} is a pickle: loading it runs whatever code it holds.", hint=hint
            )
        with _any_error(f"{path} cannot be loaded"):
            return import_module("joblib").load(path)  # reads plain pickles as well
    if ending == ".skops":
        return _skops(path, options.trust)
    if ending not in _READERS:
        known = ", ".join([*_READERS, ".skops", *_PICKLES])
        raise _bad_model(
            f"{path} is in no format that is read here.",
            hint=f"Known are {known}; or use --predictor.",
        )
    package, reader = _READERS[ending]
    with _needs(package, path):
        library = import_module(package)
    with _any_error(f"{package} cannot read {path}"):
        return reader(library, path)


_READERS: dict[str, tuple[str, Callable[[Any, str], Any]]] = {
    ".onnx": (
        "onnxruntime",
        lambda library, path: library.InferenceSession(path, providers=["CPUExecutionProvider"]),
    ),
    ".json": ("xgboost", lambda library, path: library.Booster(model_file=path)),
    ".ubj": ("xgboost", lambda library, path: library.Booster(model_file=path)),
    ".txt": ("lightgbm", lambda library, path: library.Booster(model_file=path)),
    ".cbm": ("catboost", lambda library, path: library.CatBoost().load_model(path)),
}


def _skops(path: str, trusted: list[str]) -> Any:
    with _needs("skops", path):
        library = import_module("skops.io")
    with _any_error(f"skops cannot read {path}", hint="Save it again with skops."):
        unknown = [name for name in library.get_untrusted_types(file=path) if name not in trusted]
        if not unknown:
            return library.load(path, trusted=trusted)
    message = f"{path} holds types that are not known to be harmless: {', '.join(unknown)}."
    raise _bad_model(message, hint=f"If you trust them: --trust {' '.join(unknown)}")


def _from_module(text: str) -> Any:
    """``package.module:name``, also from the current folder."""
    module, _, name = text.partition(":")
    if not module or not name:
        raise gx.InputError(
            f"--predictor {text} is not MODULE:NAME.", code="P02", argument="predictor"
        )
    here = os.getcwd()  # noqa: PTH109 - sys.path holds text
    if here not in sys.path:
        sys.path.insert(0, here)
    with _any_error(f"{text} cannot be loaded"):
        return attrgetter(name)(import_module(module))


class Case(NamedTuple):
    """A model, its rows, and others."""

    model: Any
    X: Any
    y: Any
    test: tuple[Any, Any] | None
    weights: Any = None


def opened(options: argparse.Namespace) -> Case:
    """Read the table, then load or fit the model."""
    X, y, weights = features_and_target(read_table(options.data, options), options)
    other = features_and_target(read_table(options.test), options)[:2] if options.test else None
    if not options.train_on:
        return Case(load_model(options), X, y, other, weights)
    trained = _train(X, y, options.seed)
    if other is not None:
        shared = {
            name: dtype for name, dtype in trained.X.dtypes.items() if str(dtype) == "category"
        }
        other = (_with_categories(other[0]).astype(shared), other[1])
    weights = None if weights is None else weights.loc[trained.X.index]
    return trained._replace(weights=weights, test=other or trained.test)


def _train(X: Any, y: Any, seed: int) -> Case:
    """Fit gradient boosting to three quarters of the rows: a classifier for labels, otherwise a regressor."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.metrics import get_scorer
    from sklearn.model_selection import train_test_split

    if y.isna().any():
        message = f"the target {y.name!r} is missing in {int(y.isna().sum()):,} rows."
        raise gx.InputError(message, code="T03", argument="y", hint="Drop these rows.")
    if len(X) < 40:
        raise gx.InputError(
            f"{len(X)} rows are too few to fit a model to.", code="D28", argument="data"
        )
    X, labels = _with_categories(X), y.nunique() <= _FEW or y.dtype.kind not in "fiu"
    kind = HistGradientBoostingClassifier if labels else HistGradientBoostingRegressor
    strata = y if labels and y.value_counts().min() >= _FEW else None
    parts = train_test_split(X, y, test_size=_HELD_OUT, random_state=seed, stratify=strata)
    model = kind(random_state=seed, categorical_features="from_dtype").fit(parts[0], parts[2])
    two = labels and len(model.classes_) == 2  # rare classes count, too
    measure, by = (
        ("ROC AUC", "roc_auc") if two else ("balanced accuracy",) * 2 if labels else ("R²", "r2")
    )
    score = (
        get_scorer(by.replace(" ", "_"))(model, parts[1], parts[3])
        if parts[3].nunique() > 1
        else float("nan")
    )
    fitted = f"{kind.__name__} fitted to {y.name!r} on {len(parts[0]):,} rows"
    remark(f"{fitted}; {measure} {score:.3f} on the other {len(parts[1]):,} rows.")
    return Case(model, parts[0], parts[2], (parts[1], parts[3]))


def _with_categories(X: Any) -> Any:
    """Text columns as categories, which is what gradient boosting takes."""
    return X.astype(dict.fromkeys(text_columns(X), "category"))


def check_outputs(options: argparse.Namespace, **read: str | None) -> None:
    """Refuse, before any work, to write over what is read, two things to one file, or over a file of another kind."""
    module = (
        (read.pop("predictor", None) or "").partition(":")[0].replace(".", "/")
    )  # of MODULE:NAME
    read["module"] = module and f"{module}.py"
    inputs = {name: path for name, path in read.items() if path and path != "-"}
    outputs = {name: str(path) for name in _KINDS if (path := getattr(options, name, None))}
    for one, two in combinations(outputs, 2):
        if _same_file(outputs[one], outputs[two]):
            words = " and ".join(f"--{option} {outputs[option]}" for option in (one, two))
            raise _unsafe(f"{words} are one file.", argument=two, hint="Choose two files.")
    folder = Path(getattr(options, "figures", None) or "")
    if (
        folder.name
        and not options.force
        and folder.exists()
        and (not folder.is_dir() or any(folder.iterdir()))
    ):
        hint = "Choose another folder, or pass --force to replace files in it."
        raise _unsafe(
            f"--figures {folder} exists and is not an empty folder.", argument="figures", hint=hint
        )
    for option, path in outputs.items():
        for name, other in inputs.items():
            if _same_file(path, other):
                raise _unsafe(
                    f"--{option} {path} is {_READ[name]}.",
                    argument=option,
                    hint="Choose another file.",
                )
        kind, starts = _KINDS[option]
        if not options.force and Path(path).is_file() and not _begins_with(path, starts):
            hint = "Choose another file, or pass --force to replace it."
            raise _unsafe(
                f"--{option} {path} exists and is not {kind}.", argument=option, hint=hint
            )
    for path in outputs.values():
        require_writable(path)  # F02


def _same_file(one: str, two: str) -> bool:
    """Whether two paths lead to one file, by whatever links; neither need exist."""
    there = Path(one).exists() and Path(two).exists()
    return os.path.realpath(one) == os.path.realpath(two) or (there and Path(one).samefile(two))


def _begins_with(path: str, starts: tuple[bytes, ...]) -> bool:
    """Whether a file is empty or begins as one of ours; one that cannot be read is not ours."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(64).lstrip().lower()
    except OSError:
        return False
    return not head or head.startswith(starts)
