"""Whether a new table agrees with the table of the fit, in scikit-learn's words (D15, D37, D38)."""

from __future__ import annotations

from collections.abc import Iterable

from granite_xai.base.errors import InputError, column_text, listing
from granite_xai.tables.columns import Column, sorted_labels
from granite_xai.tables.containers import Container
from granite_xai.tables.table import Table

_SHOWN = 5


def check_agreement(container: Container, names: tuple[str, ...], like: Table, argument: str) -> list[str]:
    """Refuse other columns than those of the fit; return what is only worth a warning."""
    if _comparable(container, like.container):
        if names != like.names:
            raise _other_names(names, like.names, argument)
        return []
    if len(names) != like.n_columns:
        message = f"{argument} has {len(names)} features, but Granite is expecting {like.n_columns} features as input."
        raise InputError(message, code="D37", argument=argument)
    if like.named and not container.named:
        return [f"{argument} does not have valid feature names, but Granite was fitted with feature names"]
    if container.named and not like.named:
        return [f"{argument} has feature names, but Granite was fitted without feature names"]
    return []


def new_levels(table: Table, like: Table, argument: str) -> list[str]:
    """Tell which labels the fit has not seen; labels are compared, never codes (D15)."""
    notices = []
    for column, fitted in zip(table.columns, like.columns, strict=True):
        unseen = _unseen(column, fitted)
        if unseen:
            place = column_text(column.name, column.position)
            text = f"D15: {argument} {place} has {len(unseen)} levels that were not seen at fit: "
            notices.append(text.replace(" 1 levels that were", " 1 level that was") + listing(unseen, _SHOWN))
    return notices


def _unseen(column: Column, fitted: Column) -> list[object]:
    if column.kind not in ("nominal", "ordinal"):
        return []
    # an ordered label that was declared has its place in the order even if no row carried it
    known = set(fitted.levels) | set(fitted.order or ())
    return sorted_labels(set(column.levels) - known)


def _comparable(one: Container, other: Container) -> bool:
    """Names count when both tables are frames and both have text names, or both have not."""
    return "numpy" not in (one.library, other.library) and one.named == other.named


def _other_names(names: tuple[str, ...], fitted: tuple[str, ...], argument: str) -> InputError:
    unexpected, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    message = "The feature names should match those that were passed during fit.\n"
    if unexpected:
        message += "Feature names unseen at fit time:\n" + _lines(unexpected)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _lines(missing)
    if not unexpected and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    columns = [*unexpected, *missing] or [new for new, old in zip(names, fitted, strict=True) if new != old]
    return InputError(message, code="D37", argument=argument, columns=columns)


def _lines(names: Iterable[str]) -> str:
    names = list(names)
    shown = [name if name.isprintable() else repr(name) for name in names[:_SHOWN]]
    return "".join(f"- {name}\n" for name in [*shown, *(["..."] if len(names) > _SHOWN else [])])
