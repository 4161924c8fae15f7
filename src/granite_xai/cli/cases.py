"""The model and the rows that a command works on."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np

from granite_xai.cli.models import load_model
from granite_xai.cli.tables import Columns, features_and_target, read_table
from granite_xai.cli.training import train, with_categories


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
        Of a command with a table and a model, and perhaps a table of other rows.

    Raises
    ------
    InputError, ModelError
        What `read_table`, `train` and `load_model` raise.
    """
    columns = features_and_target(read_table(options.data, options), options)
    test = None
    if options.test:
        others = features_and_target(read_table(options.test), options)
        test = (others.X, others.y)
    if options.train_on:
        return _train_case(columns, test, options.seed)
    return Case(
        model=load_model(options), X=columns.X, y=columns.y, test=test, weights=columns.weights
    )


def _train_case(columns: Columns, test: tuple[Any, Any] | None, seed: int) -> Case:
    """Fit a model; without other rows, those that it was not fitted to are the others."""
    trained = train(columns.X, columns.y, seed)
    if test is None:
        test = trained.test
    else:
        dtypes = trained.X.dtypes
        categories = {name: dtype for name, dtype in dtypes.items() if str(dtype) == "category"}
        test = (with_categories(test[0]).astype(categories), test[1])
    weights = columns.weights
    if weights is not None:
        weights = weights.loc[trained.X.index]
    return Case(model=trained.model, X=trained.X, y=trained.y, test=test, weights=weights)


def hold_out_every_fourth_row(case: Case) -> Case:
    """The case with every fourth of its rows as the other rows."""
    is_held_out = np.arange(len(case.X)) % 4 == 3
    y = None
    y_held_out = None
    if case.y is not None:
        y = case.y[~is_held_out]
        y_held_out = case.y[is_held_out]
    weights = None
    if case.weights is not None:
        weights = case.weights[~is_held_out]
    return case._replace(
        X=case.X[~is_held_out],
        y=y,
        test=(case.X[is_held_out], y_held_out),
        weights=weights,
    )
