"""``granite evaluate``, ``granite apply`` and ``granite show``: work with a saved file."""

from __future__ import annotations

import argparse
import csv
import io
from typing import Any

import granite_xai as gx
from granite_xai.base.files import require_writable
from granite_xai.cli.modelfiles import load
from granite_xai.cli.speaking import escaped, remark, remarks_instead_of_warnings, say, say_json
from granite_xai.cli.tables import features_and_target, read


def _loaded(path: str, model: Any = None) -> Any:
    try:
        return gx.load(path, model=model)
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror or error})."
        raise gx.FormatError(message, code="F04", argument="saved") from error


def _granite(path: str, model: Any) -> gx.Granite:
    found = _loaded(path, model)
    if not isinstance(found, gx.Granite):
        message = f"{path} holds a {type(found).__name__}, which has nothing to evaluate."
        raise gx.FormatError(message, code="F04", argument="saved", hint="Save with granite explain --save.")
    return found


def evaluate(options: argparse.Namespace) -> None:
    """Disagreement on other rows, with and without the saved regions."""
    X, y = features_and_target(read(options.data), options)
    granite = _granite(options.saved, load(options))
    with remarks_instead_of_warnings():
        found = granite.evaluate(_fitting_columns(granite, X), y)
    if options.json:
        lines = found.frame().to_dict(orient="records")
        facts = {name: getattr(found, name) for name in ("remaining", "disagreement", "global_disagreement")}
        say_json({**facts, "regions": [{k: v if v == v else None for k, v in line.items()} for line in lines]})
        return
    say(
        f"Disagreement on {sum(found.counts):,} rows: {found.global_disagreement:.4g} without regions, "
        f"{found.disagreement:.4g} with them; {found.remaining:.1%} is left.\n\n"
        + escaped(found.frame().to_string(index=False, float_format="{:.4g}".format, na_rep="–"))
    )


def _fitting_columns(granite: gx.Granite, X: Any) -> Any:
    """The columns of the fit, where the table has them all; others are no features."""
    names = list(getattr(granite, "feature_names_in_", []))
    return X[names] if names and set(names) <= set(X) else X


def apply(options: argparse.Namespace) -> None:
    """The region of each row."""
    X = read(options.data)
    saved = _loaded(options.saved)
    if not isinstance(saved, gx.Granite | gx.Partition):
        raise gx.FormatError(f"{options.saved} holds no regions.", code="F04", argument="saved")
    with remarks_instead_of_warnings():
        regions = saved.apply(_fitting_columns(saved, X) if isinstance(saved, gx.Granite) else X).tolist()
    if options.json:
        say_json({"regions": regions})
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "region"])
    writer.writerows(enumerate(regions))
    say(text.getvalue().rstrip("\n"))


def show(options: argparse.Namespace) -> None:
    """What a saved file holds."""
    if options.report:
        require_writable(options.report)
    saved = _loaded(options.saved)
    if isinstance(saved, gx.Granite):
        from granite_xai.report.report import retold

        report = retold(saved)
        if options.report:
            report.html(options.report)
            remark(f"Written: {options.report}")
        say(report.json().rstrip("\n") if options.json else str(report))
        return
    if options.report:
        raise gx.InputError(f"{options.saved} holds no fit to report on.", code="P03", argument="report")
    if isinstance(saved, gx.Partition):
        say_json(saved.to_dict()) if options.json else say(str(saved))
        return
    frame = saved.frame()
    say(frame.to_json(orient="records", force_ascii=False) if options.json else escaped(frame.to_string(index=False)))
