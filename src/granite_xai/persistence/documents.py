"""save and load: one JSON document an object, with its schema and version in front."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from granite_xai.base.errors import FormatError, InputError
from granite_xai.base.files import broken, check_size, entry, read_json, write_text
from granite_xai.estimator import Granite
from granite_xai.explanation import Explanation
from granite_xai.new_rows import Evaluation
from granite_xai.persistence.estimators import granite_from_dict, granite_to_dict
from granite_xai.persistence.results import (
    evaluation_from_dict,
    evaluation_to_dict,
    explanation_from_dict,
    explanation_to_dict,
)
from granite_xai.regions.partition import Partition

VERSION = 1
"""Version of the schemas; every earlier one is read as well."""

_PREFIX = "granite-xai/"
_KINDS: dict[type[Any], str] = {
    Partition: "partition",
    Explanation: "explanation",
    Evaluation: "evaluation",
    Granite: "granite",
}

Saved = Partition | Explanation | Evaluation | Granite


def save(obj: Saved, path: str | os.PathLike[str], include_data: bool = False) -> Path:
    """Save a partition, an explanation, an evaluation or a fitted Granite as JSON; a model is never saved.

    The file is written completely or not at all. Without its rows a saved Granite still holds the distinct values of
    each column, sorted and each column for itself, because its curves stand on them.

    Parameters
    ----------
    obj : Partition, Explanation, Evaluation or fitted Granite
        What to save.
    path : str or path
        Where; an existing file is replaced.
    include_data : bool
        Keep the rows as well. Exact predictions, effects of several columns and baselines chosen in each region need
        the fitting rows. A partition has none.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        F08: a function or another object that JSON cannot hold, by name; F09: rows that are not there.
    ResourceError
        F01: no room on the disk.

    Examples
    --------
    >>> import tempfile
    >>> from granite_xai import Partition
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(Partition.from_rules(["x0 ≤ 1", "x0 > 1"]), Path(folder) / "regions.json")
    ...     load(path)
    <Partition of 2 regions: x0 ≤ 1; x0 > 1>
    """
    from granite_xai import __version__

    kind = _KINDS.get(type(obj))
    if kind is None:
        message = f"a {type(obj).__name__} cannot be saved; a {', '.join(k.__name__ for k in _KINDS)} can."
        raise InputError(message, code="P01", argument="obj")
    head = {"schema": _PREFIX + kind, "version": VERSION, "package": __version__}
    text = json.dumps({**head, kind: _content(obj, include_data)}, allow_nan=False) + "\n"
    try:
        check_size(text.encode("ascii"), "what would be saved")
    except FormatError as error:
        raise InputError(error.message, code="F05", argument="obj", hint="Save fewer rows or values.") from None
    return write_text(path, text)


def load(path: str | os.PathLike[str], model: Any = None) -> Saved:
    """Load what `save` wrote. Nothing in a file is ever run, and what it holds is checked first.

    Parameters
    ----------
    path : str or path
        The file.
    model : object, optional
        The model of a saved Granite; its predictions must be those it had. Without it the object applies, prints and
        predicts from its curves, and everything that has to ask the model is an error.

    Returns
    -------
    Partition, Explanation, Evaluation or Granite

    Raises
    ------
    FormatError
        F04 broken file, F05 hostile file, F06 pickle, F07 file of a newer version.
    ModelError
        F09: not the model that was saved with.

    Examples
    --------
    >>> import tempfile
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy()
    >>> g = gx.Granite(toy.model, "ice-pdp").fit(toy.X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(save(g, Path(folder) / "g.json"), model=toy.model)
    >>> [str(region.rule) for region in again.partition_]
    ['x2 ≤ 0', 'x2 > 0']
    """
    data = read_json(path)
    kind = _kind(data)
    content = entry(data, kind, dict, "the file")
    if model is not None and kind != "granite":
        message = f"the file holds a saved {kind}, which has no model."
        raise InputError(message, code="P03", argument="model", hint="Leave model out.")
    if kind == "granite":
        return granite_from_dict(content, model, kind)
    if kind == "partition":
        return Partition.from_dict(content)
    return explanation_from_dict(content, kind) if kind == "explanation" else evaluation_from_dict(content, kind)


def _content(obj: Any, include_data: bool) -> dict[str, Any]:
    if isinstance(obj, Granite):
        return granite_to_dict(obj, include_data)
    if isinstance(obj, Partition):
        return obj.to_dict()
    if isinstance(obj, Explanation):
        return explanation_to_dict(obj, include_data)
    return evaluation_to_dict(obj, include_data)


def _kind(data: object) -> str:
    """Which object the file holds, once its version is one that is known (F07)."""
    from granite_xai import __version__

    schema, version = entry(data, "schema", str, "the file"), entry(data, "version", int, "the file")
    package = entry(data, "package", str, "the file")
    kind = schema.removeprefix(_PREFIX)
    if version > VERSION:
        message = (
            f"the file has version {version} of {schema[:60]!r}, written by granite-xai {package[:30]}; "
            f"this is granite-xai {__version__}, which reads versions up to {VERSION}."
        )
        raise FormatError(message, code="F07", argument="path", hint="Install a newer granite-xai.")
    if not schema.startswith(_PREFIX) or kind not in _KINDS.values() or version < 1:
        raise broken("the file", f"has the schema {schema[:60]!r}, version {version}, which is not known")
    return kind
