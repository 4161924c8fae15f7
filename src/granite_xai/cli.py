"""The command ``granite``.

It knows the package only by its public face, and loads it only when there is work to do.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import granite_xai as gx

_USAGE, _DATA, _MODEL, _RESOURCES, _INTERRUPT, _CLOSED_PIPE = 2, 3, 4, 5, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 ok, 2 usage, 3 data, 4 model, 5 resources, 130 interrupted.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows ``granite`` on the command line.

    Returns
    -------
    int

    Examples
    --------
    >>> main(["demo", "--data", "diabetes"])  # doctest: +ELLIPSIS
    HistGradientBoostingRegressor on the diabetes data, 442 rows and 10 columns...
    0
    """
    options = _parser().parse_args(arguments)
    _survive_narrow_encodings()
    try:
        options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPT
    except BrokenPipeError:
        # The reader has gone (`granite demo | head`): nobody is left to tell, and Python must not try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _CLOSED_PIPE
    except gx.GraniteError as error:
        _tell(error, as_json=options.json)
        return _exit_code(error)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="granite", description="Regions of the data where explanations of a model agree."
    )
    parser.add_argument("--version", action="version", version=f"granite-xai {gx.__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    demo = commands.add_parser("demo", help="fit a model on known data, find its regions and print them")
    demo.add_argument("--data", choices=("diabetes", "bike"), default="diabetes", help="diabetes needs no network")
    demo.add_argument("--json", action="store_true", help="print the result, or the error, as JSON")
    demo.set_defaults(run=_demo)
    return parser


def _demo(options: argparse.Namespace) -> None:
    from sklearn.ensemble import HistGradientBoostingRegressor

    load: dict[str, Callable[[], tuple[Any, Any]]] = {
        "diabetes": gx.datasets.load_diabetes,
        "bike": gx.datasets.load_bike_sharing,
    }
    X, y = load[options.data]()
    model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
    rows = min(len(X), 1000)  # enough for a first look, in seconds
    granite = gx.Granite(model, "ice-pdp", max_samples=None if rows == len(X) else rows).fit(X, y)
    facts = {"data": options.data, "n_rows": rows, "n_columns": X.shape[1], "question": "ice-pdp"} | _figures(granite)
    print(json.dumps(facts | {"partition": granite.partition_.to_dict()}) if options.json else _story(granite, facts))


def _figures(granite: gx.Granite) -> dict[str, float]:
    names = ("disagreement", "remaining", "fidelity", "global_fidelity")
    return {name: float(getattr(granite, f"{name}_")) for name in names}


def _story(granite: gx.Granite, facts: dict[str, Any]) -> str:
    return f"""\
HistGradientBoostingRegressor on the {facts["data"]} data, {facts["n_rows"]} rows and {facts["n_columns"]} columns.
Where do a row's own curves (ICE) and the average curves (PDP) tell the same story?

{granite.partition_}

disagreement_     {facts["disagreement"]:<10.4g} mean squared gap between ICE and PDP over all rows
remaining_        {facts["remaining"]:<10.1%} of it is left inside the regions
global_fidelity_  {facts["global_fidelity"]:<10.1%} of the model's variance is explained by one curve per column
fidelity_         {facts["fidelity"]:<10.1%} by one curve per column and region"""


def _tell(error: gx.GraniteError, *, as_json: bool) -> None:
    if not as_json:
        print(f"granite: {error}", file=sys.stderr)
        return
    parts = ("code", "argument", "columns", "rows", "hint")
    facts = {"message": str(error)} | {part: getattr(error, part) for part in parts}
    print(json.dumps({"error": facts}, default=str))


def _exit_code(error: gx.GraniteError) -> int:
    by_kind: dict[type[gx.GraniteError], int] = {gx.ModelError: _MODEL, gx.ResourceError: _RESOURCES}
    if (error.code or "").startswith("P"):
        return _USAGE
    return next((code for kind, code in by_kind.items() if isinstance(error, kind)), _DATA)


def _survive_narrow_encodings() -> None:
    """Print rules such as ``x ≤ 1`` also where the terminal's encoding has no such sign."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
