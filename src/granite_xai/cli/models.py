"""Models that a command loads from files or modules (S11)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import granite_xai as gx
from granite_xai.cli.refusals import any_error, bad_model, needs

PICKLES = (".pkl", ".pickle", ".joblib")


class Format(NamedTuple):
    """A file format of models: the package that reads it, and how."""

    package: str
    read: Callable[[Any, str], Any]  # of the package and the path


def _read_onnx(onnxruntime: Any, path: str) -> Any:
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def _read_booster(library: Any, path: str) -> Any:
    return library.Booster(model_file=path)


def _read_catboost(catboost: Any, path: str) -> Any:
    return catboost.CatBoost().load_model(path)


FORMATS = {
    ".onnx": Format("onnxruntime", _read_onnx),
    ".json": Format("xgboost", _read_booster),
    ".ubj": Format("xgboost", _read_booster),
    ".txt": Format("lightgbm", _read_booster),
    ".cbm": Format("catboost", _read_catboost),
}


def load_model(options: argparse.Namespace) -> Any:
    """Load the model that the options name: a file, or something in a module.

    Raises
    ------
    ModelError
        S11; also for a pickle without ``--allow-pickle``.
    """
    if options.predictor:
        return _from_module(options.predictor)
    path = options.model
    if "://" in path:
        hint = "Download the file first."
        raise bad_model(f"{path} is an address; only files are read.", hint)
    if not Path(path).is_file():
        raise bad_model(f"there is no file {path}.", "Check its name.")
    ending = Path(path).suffix.lower()
    if ending in PICKLES:
        return _from_pickle(path, options.allow_pickle)
    if ending == ".skops":
        return _from_skops(path, options.trust)
    if ending not in FORMATS:
        endings = ", ".join([*FORMATS, ".skops", *PICKLES])
        hint = f"Known are {endings}; or use --predictor."
        raise bad_model(f"{path} is in no format that is read here.", hint)
    file_format = FORMATS[ending]
    with needs(file_format.package, path):
        library = import_module(file_format.package)
    with any_error(f"{file_format.package} cannot read {path}"):
        return file_format.read(library, path)


def _from_pickle(path: str, allowed: bool) -> Any:
    if not allowed:
        hint = "Pass --allow-pickle if you trust the file, or save the model in another format."
        raise bad_model(f"{path} is a pickle: loading it runs whatever code it holds.", hint)
    with any_error(f"{path} cannot be loaded"):
        import joblib

        return joblib.load(path)  # reads plain pickles as well


def _from_skops(path: str, trusted: list[str]) -> Any:
    with needs("skops", path):
        import skops.io as library
    with any_error(f"skops cannot read {path}", hint="Save it again with skops."):
        unknown = [name for name in library.get_untrusted_types(file=path) if name not in trusted]
        if not unknown:
            return library.load(path, trusted=trusted)
    message = f"{path} holds types that are not known to be harmless: {', '.join(unknown)}."
    raise bad_model(message, f"If you trust them: --trust {' '.join(unknown)}")


def _from_module(text: str) -> Any:
    """``package.module:name``, also from the current folder."""
    module, _, name = text.partition(":")
    if not module or not name:
        message = f"--predictor {text} is not MODULE:NAME."
        raise gx.InputError(message, code="P02", argument="predictor")
    folder = os.getcwd()  # noqa: PTH109 - sys.path holds text
    if folder not in sys.path:
        sys.path.insert(0, folder)
    with any_error(f"{text} cannot be loaded"):
        return attrgetter(name)(import_module(module))
