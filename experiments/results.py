"""What an experiment returns, and how it is written down."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image


@dataclass(frozen=True)
class Result:
    """One experiment: what is shown, in words, numbers and pictures.

    Parameters
    ----------
    title : str
        The headline of its section.
    text : str
        Markdown: what is shown, the paper's numbers beside ours, "What a practitioner learns". ``![caption](key)``
        places the figure of that key; figures that are not placed come last.
    data : dict
        Every number, ready for JSON (NumPy's numbers and arrays are converted).
    figures : dict of Figure
        Pictures by key.
    differences : tuple of str
        One Markdown sentence per difference from the paper: its value, ours, the cause that was found.
    """

    title: str
    text: str
    data: dict[str, Any]
    figures: dict[str, Figure] = field(default_factory=dict)
    differences: tuple[str, ...] = ()


def table(rows: Sequence[Mapping[str, Any]], digits: int = 3) -> str:
    """Rows of equal keys as a Markdown table; numbers with a fraction get ``digits`` significant digits."""
    keys = list(rows[0])
    lines = [
        keys,
        ["---"] * len(keys),
        *([_cell(row[key], digits) for key in keys] for row in rows),
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def regions(g: Any) -> list[dict[str, Any]]:
    """The regions of a fitted estimator, a line each: rule, rows, share of all disagreement."""
    return [
        {
            "region": r.index,
            "rule": str(r.rule),
            "rows": r.n_samples,
            "disagreement": f"{r.disagreement:.1%}",
        }
        for r in g.partition_
    ]


def number(value: float, digits: int = 3) -> str:
    """A number with some significant digits, never in powers of ten for everyday sizes; rounding errors are 0."""
    if abs(value) < 1e-9 or not np.isfinite(value):
        return "0" if np.isfinite(value) else f"{value:g}"
    places = max(0, digits - 1 - int(np.floor(np.log10(abs(value)))))
    return f"{value:,.{places}f}" if places < 7 else f"{value:.{digits - 1}e}"


def _cell(value: Any, digits: int) -> str:
    if isinstance(value, Real) and not isinstance(value, Integral | bool | np.bool_):
        return number(float(value), digits)
    return str(value).replace("|", "\\|")


def write(result: Result, name: str, folder: Path, seconds: float, *, quick: bool = False) -> None:
    """Write ``name.json``, ``name.md`` and ``name-figure.png`` into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for key, figure in result.figures.items():
        (folder / f"{name}-{key}.png").write_bytes(_png(figure))
    record = {
        "title": result.title,
        "quick": quick,
        "seconds": round(seconds, 1),
        "differences": [" ".join(line.split()) for line in result.differences],
        "data": plain(result.data),
    }
    (folder / f"{name}.json").write_text(
        json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (folder / f"{name}.md").write_text(_section(result, name), encoding="utf-8")


def plain(value: Any) -> Any:
    """The same with Python's own numbers and lists; numbers rounded to seven significant digits."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(f"{float(value):.7g}") if np.isfinite(float(value)) else None
    return value


def _section(result: Result, name: str) -> str:
    text = result.text.strip()
    unplaced = [key for key in result.figures if f"]({key})" not in text]
    text += "".join(f"\n\n![{key.replace('_', ' ')}]({key})" for key in unplaced)
    for key in result.figures:
        text = text.replace(f"]({key})", f"]({name}-{key}.png)")
    if result.differences:
        text += "\n\n**Different from the paper:**\n"
        text += "".join(f"\n- {' '.join(line.split())}" for line in result.differences)
    return f"# {result.title}\n\n{text}\n"


def _png(figure: Figure, most: int = 120_000) -> bytes:
    """The picture; a large one (many thin lines) with fewer colors, which color maps would not survive."""
    raw, small = io.BytesIO(), io.BytesIO()
    figure.savefig(
        raw,
        format="png",
        dpi=110,
        bbox_inches="tight",
        facecolor="white",
        pil_kwargs={"optimize": True},
    )
    if len(raw.getvalue()) <= most:
        return raw.getvalue()
    Image.open(raw).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(
        small, format="png", optimize=True
    )
    return small.getvalue()
