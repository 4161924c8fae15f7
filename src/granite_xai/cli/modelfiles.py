"""Models on disk: formats that hold numbers, and pickles only when the user says so (S11)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import granite_xai as gx

_PICKLES = (".pkl", ".pickle", ".joblib")


def load(options: argparse.Namespace) -> Any:
    """The model that the options name: a file, or something in a module."""
    if options.predictor:
        return _from_module(options.predictor)
    path = options.model
    ending = Path(path).suffix.lower()
    if "://" in path:
        raise _refused(f"{path} is an address; only files are read.", "Download the file first.")
    if not Path(path).is_file():
        raise _refused(f"there is no file {path}.", "Check its name.")
    if ending in _PICKLES:
        return _pickle(path, options.allow_pickle)
    if ending == ".skops":
        return _skops(path, options.trust)
    if ending not in _READERS:
        known = ", ".join([*_READERS, ".skops", *_PICKLES])
        raise _refused(f"{path} is in no format that is read here.", f"Known are {known}; or use --predictor.")
    package, reader = _READERS[ending]
    library = _package(package, path)
    try:
        return reader(library, path)
    except Exception as error:  # each library has its own errors for files it cannot read
        raise _refused(f"{package} cannot read {path} ({type(error).__name__}: {error}).", "") from error


def _onnx(library: Any, path: str) -> Any:
    return library.InferenceSession(path, providers=["CPUExecutionProvider"])


def _catboost(library: Any, path: str) -> Any:
    return library.CatBoost().load_model(path)


_READERS: dict[str, tuple[str, Callable[[Any, str], Any]]] = {
    ".onnx": ("onnxruntime", _onnx),
    ".json": ("xgboost", lambda library, path: library.Booster(model_file=path)),
    ".ubj": ("xgboost", lambda library, path: library.Booster(model_file=path)),
    ".txt": ("lightgbm", lambda library, path: library.Booster(model_file=path)),
    ".cbm": ("catboost", _catboost),
}


def _pickle(path: str, allowed: bool) -> Any:
    if not allowed:
        message = f"{path} is a pickle: loading it runs whatever code it holds."
        hint = "Pass --allow-pickle if you trust the file, or save the model in another format."
        raise _refused(message, hint)
    import joblib

    try:
        return joblib.load(path)  # reads plain pickles as well
    except Exception as error:  # a pickle may raise anything
        raise _refused(f"{path} cannot be loaded ({type(error).__name__}: {error}).", "") from error


def _skops(path: str, trusted: list[str]) -> Any:
    library = _package("skops.io", path)
    unknown = [name for name in library.get_untrusted_types(file=path) if name not in trusted]
    if unknown:
        message = f"{path} holds types that are not known to be harmless: {', '.join(unknown)}."
        raise _refused(message, f"If you trust them: --trust {' '.join(unknown)}")
    return library.load(path, trusted=trusted)


def _from_module(text: str) -> Any:
    """``package.module:name``, also from the current folder."""
    module, _, name = text.partition(":")
    if not module or not name:
        raise gx.InputError(f"--predictor {text} is not MODULE:NAME.", code="P02", argument="predictor")
    here = os.getcwd()  # noqa: PTH109 - sys.path holds text
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # the user's module may raise anything
        raise _refused(f"{text} cannot be loaded ({type(error).__name__}: {error}).", "") from error
    return found


def _package(name: str, path: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise _refused(f"{path} needs the package {package}.", f"pip install {package} installs it.") from error


def _refused(message: str, hint: str) -> gx.ModelError:
    return gx.ModelError(message, code="S11", argument="model", hint=hint or None)
