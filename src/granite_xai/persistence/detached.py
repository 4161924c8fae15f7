"""What stands for a model that a file does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from granite_xai.base.errors import InputError
from granite_xai.models import Usage
from granite_xai.persistence.fingerprint import Fingerprint


class Detached:
    """Stands where the model was: it knows what was explained, and any question to it is an F09 error.

    Parameters
    ----------
    fingerprint : Fingerprint
        What the file knows of the model.
    """

    native_float32 = False
    usage = Usage()
    outputs: Mapping[Any, Detached] = MappingProxyType({})  # one that stands for several has them

    def __init__(self, fingerprint: Fingerprint) -> None:
        self.label = fingerprint.label
        self.classes = fingerprint.classes
        self.is_probability = fingerprint.probability
        self.explained_class = fingerprint.explained

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # copy and pickle ask for names that need not be there
            raise AttributeError(name)
        self()

    def __call__(self, *_: Any) -> NoReturn:
        """Refused: there is no model."""
        message = "this object was loaded without its model, which has to be asked here."
        hint = "Load with gx.load(path, model=model)."
        raise InputError(message, code="F09", argument="model", hint=hint)
