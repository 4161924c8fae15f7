"""The models and tables that `compare` puts side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import IntArray

SEARCH_HALF = 0
MEASURED_HALF = 1


@dataclass(frozen=True, eq=False)
class CaseInput:
    """One model with the rows on which it is measured, as the user passed them.

    Parameters
    ----------
    name : str
        What the case is called in tables and sentences.
    model : model or Granite
    X : table
    y : array, optional
    clusters : array, optional
        Which rows belong together.
    weights : array, optional
        How much each row counts.
    """

    name: str
    model: Any
    X: Any
    y: Any = None
    clusters: Any = None
    weights: Any = None

    def half(self, number: int) -> CaseInput:
        """The same model on every other row, or on the rows of every other cluster.

        Parameters
        ----------
        number : SEARCH_HALF or MEASURED_HALF
        """
        rows: slice | IntArray
        if self.clusters is None:
            rows = slice(number, None, 2)
        else:
            _, cluster_numbers = np.unique(np.asarray(self.clusters), return_inverse=True)
            rows = np.flatnonzero(cluster_numbers.reshape(-1) % 2 == number)
        return replace(
            self,
            X=_take_rows(self.X, rows),
            y=_take_rows(self.y, rows),
            clusters=_take_rows(self.clusters, rows),
            weights=_take_rows(self.weights, rows),
        )


def read_cases(
    models: Any, X: Any, y: Any, clusters: Any = None, sample_weight: Any = None
) -> list[CaseInput]:
    """Read what `compare` is asked to compare: several models on one table, or the reverse.

    Parameters
    ----------
    models, X, y, clusters, sample_weight
        As in `compare`.

    Returns
    -------
    list of CaseInput
        At least two; the others are compared with the first.

    Raises
    ------
    InputError
        Of several models on several tables, of a single case, and of clusters or weights that do not
        say which of the tables they belong to.
    """
    named_models = _named_models(models)
    if isinstance(X, Mapping):
        if len(named_models) > 1:
            raise InputError(
                "several models on several tables.",
                code="P03",
                argument="X",
                hint="Pass one table with several models, or one model with several tables.",
            )
        cases = []
        for model in named_models.values():
            cases += _cases_of_tables(model, X, clusters, sample_weight)
    else:
        cases = [
            CaseInput(name=name, model=model, X=X, y=y, clusters=clusters, weights=sample_weight)
            for name, model in named_models.items()
        ]
    if len(cases) < 2:
        raise InputError(
            "there is one case; compare needs two.",
            code="P03",
            argument="models",
            hint="Pass another model, or another table.",
        )
    return cases


def _named_models(models: Any) -> dict[str, Any]:
    """The models by name; those of a sequence are numbered."""
    if isinstance(models, Mapping):
        return dict(models)
    if not isinstance(models, list | tuple):
        return {"first": models}
    names = ["first", "second"]
    names += [f"model {number}" for number in range(3, len(models) + 1)]
    return dict(zip(names, models, strict=False))


def _cases_of_tables(
    model: Any, tables: Mapping[str, Any], clusters: Any, sample_weight: Any
) -> list[CaseInput]:
    """One case a table; its entry is the table, or the table with its target."""
    clusters = _by_table(clusters, "clusters", "clusters")
    weights = _by_table(sample_weight, "sample_weight", "weights")
    cases = []
    for name, entry in tables.items():
        table = entry
        target = None
        if isinstance(entry, tuple):
            table, target = entry
        case = CaseInput(
            name=name,
            model=model,
            X=table,
            y=target,
            clusters=clusters.get(name),
            weights=weights.get(name),
        )
        cases.append(case)
    return cases


def _by_table(values: Any, argument: str, what: str) -> Mapping[str, Any]:
    """Clusters or weights by the name of their table; there may be none.

    Parameters
    ----------
    values : mapping, optional
    argument, what : str
        Their argument of `compare`, and what they are in words.
    """
    if values is None:
        return {}
    if isinstance(values, Mapping):
        return values
    raise InputError(
        f"{what} have no table.",
        code="P03",
        argument=argument,
        hint=f"Pass a mapping from the name of a table to its {what}.",
    )


def _take_rows(values: Any, rows: slice | IntArray) -> Any:
    """Some rows of a table, a target, clusters or weights; None stays None."""
    if values is None:
        return None
    if hasattr(values, "iloc"):  # pandas takes rows by position only there
        return values.iloc[rows]
    if isinstance(values, list | tuple):  # no array: that would turn numbers beside text into text
        if isinstance(rows, slice):
            return values[rows]
        return [values[row] for row in rows]
    if type(values).__module__.startswith("pyarrow") and not isinstance(rows, slice):
        return values.take(rows)  # brackets take slices there, but no positions
    return values[rows]
