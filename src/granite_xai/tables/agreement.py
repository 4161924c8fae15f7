"""Whether a new table agrees with the table of the fit, in scikit-learn's words."""

from __future__ import annotations

from collections.abc import Sequence

from granite_xai.base.errors import InputError
from granite_xai.base.text import column_text, listing
from granite_xai.tables.columns import sorted_labels
from granite_xai.tables.containers import Container
from granite_xai.tables.table import Table

SHOWN = 5  # names that a message lists


def check_agreement(container: Container, like: Table, argument: str) -> list[str]:
    """Refuse other columns than those of the fit (D37).

    Parameters
    ----------
    container : Container
        The new table.
    like : Table
        The table of the fit.
    argument : str
        Name of the new table in messages.

    Returns
    -------
    list of str
        What is only worth a warning (D38).

    Raises
    ------
    InputError
        D37: other names, another order, or another number of columns.
    """
    fitted = like.container
    are_frames = "numpy" not in (container.library, fitted.library)
    if are_frames and container.named == fitted.named:
        if container.names != like.names:
            raise _other_names(container.names, like.names, argument)
        return []
    n_features = len(container.labels)
    if n_features != like.n_columns:
        message = (
            f"{argument} has {n_features} features, "
            f"but Granite is expecting {like.n_columns} features as input."
        )
        raise InputError(message, code="D37", argument=argument)
    if container.named and not fitted.named:
        return [f"{argument} has feature names, but Granite was fitted without feature names"]
    if fitted.named and not container.named:
        without_names = f"{argument} does not have valid feature names"
        return [f"{without_names}, but Granite was fitted with feature names"]
    return []


def _other_names(names: Sequence[str], fitted: Sequence[str], argument: str) -> InputError:
    """The error for names that are not those of the fit, or not in their order."""
    unexpected = sorted(set(names) - set(fitted))
    absent = sorted(set(fitted) - set(names))
    message = "The feature names should match those that were passed during fit.\n"
    message += _name_list("unseen at fit time", unexpected)
    message += _name_list("seen at fit time, yet now missing", absent)
    columns = [*unexpected, *absent]
    if not columns:
        message += "Feature names must be in the same order as they were in fit.\n"
        columns = [new for new, old in zip(names, fitted, strict=True) if new != old]
    return InputError(message, code="D37", argument=argument, columns=columns)


def _name_list(what: str, names: Sequence[str]) -> str:
    """A heading and the first names, one a line; nothing where there are none."""
    if not names:
        return ""
    text = f"Feature names {what}:\n"
    for name in names[:SHOWN]:
        printable = name if name.isprintable() else repr(name)
        text += f"- {printable}\n"
    if len(names) > SHOWN:
        text += "- ...\n"
    return text


def new_level_notices(table: Table, like: Table, argument: str) -> list[str]:
    """Say which labels the fit has not seen; labels are compared, never codes (D15)."""
    notices = []
    for column, fitted in zip(table.columns, like.columns, strict=True):
        if fitted.passes or column.kind not in ("nominal", "ordinal"):
            continue
        # A declared label has its place in the order even if no row of the fit carried it; a label of rows that the fit
        # was given and did not draw is not new either.
        labels_of_fit = {*fitted.levels, *(fitted.order or ()), *(fitted.seen or ())}
        unseen = sorted_labels(set(column.levels) - labels_of_fit)
        if unseen:
            n_levels = "1 level that was"
            if len(unseen) > 1:
                n_levels = f"{len(unseen)} levels that were"
            place = column_text(column.name, column.position)
            levels = listing(unseen, SHOWN)
            notices.append(f"D15: {argument} {place} has {n_levels} not seen at fit: {levels}")
    return notices


def new_missing_notices(table: Table, like: Table, argument: str) -> list[str]:
    """Say which features have missing values where no fitting row had one (D02)."""
    names = []
    n_missing = 0
    for column, fitted in zip(table.columns, like.columns, strict=True):
        if not fitted.passes and column.missing.any() and not fitted.missing.any():
            names.append(column.name)
            n_missing += int(column.missing.sum())
    if not names:
        return []
    features = "feature" if len(names) == 1 else "features"
    values = "1 missing value" if n_missing == 1 else f"{n_missing:,} missing values"
    place = f"{features} {listing(names, SHOWN)}"
    unseen = f"D02: {argument} has {values} in {place}, where no fitting row had any."
    return [f"{unseen} A split sends them with its larger side; a curve adds nothing for them."]
