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

LARGEST_ROUNDING = 1e-9  # below it a number is 0
MOST_DECIMALS = 6  # with more of them a number is written in powers of ten
MOST_BYTES = 120_000  # of a picture in full color
COLORS = 128  # of a larger one


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
    headings = list(rows[0])
    lines = [_line(headings), _line(["---"] * len(headings))]
    for row in rows:
        cells = [_cell(row[heading], digits) for heading in headings]
        lines.append(_line(cells))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def regions(g: Any) -> list[dict[str, Any]]:
    """The regions of a fitted estimator, a line each: rule, rows, share of all disagreement."""
    return [_region_line(region) for region in g.partition_]


def _region_line(region: Any) -> dict[str, Any]:
    return {
        "region": region.index,
        "rule": str(region.rule),
        "rows": region.n_samples,
        "disagreement": f"{region.disagreement:.1%}",
    }


def number(value: float, digits: int = 3) -> str:
    """A number with some significant digits, never in powers of ten for everyday sizes; rounding errors are 0."""
    if not np.isfinite(value):
        return f"{value:g}"
    if abs(value) < LARGEST_ROUNDING:
        return "0"
    decimals = max(0, digits - 1 - int(np.floor(np.log10(abs(value)))))
    if decimals > MOST_DECIMALS:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{decimals}f}"


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
        if not np.isfinite(float(value)):
            return None
        return float(f"{float(value):.7g}")
    return value


def _section(result: Result, name: str) -> str:
    text = result.text.strip()
    for key in result.figures:
        if f"]({key})" not in text:
            text += f"\n\n![{key.replace('_', ' ')}]({key})"
    for key in result.figures:
        text = text.replace(f"]({key})", f"]({name}-{key}.png)")
    if result.differences:
        text += "\n\n**Different from the paper:**\n"
        for difference in result.differences:
            text += f"\n- {' '.join(difference.split())}"
    return f"# {result.title}\n\n{text}\n"


def _png(figure: Figure) -> bytes:
    """The picture; a large one (many thin lines) with fewer colors, which color maps would not survive."""
    in_full_color = io.BytesIO()
    figure.savefig(
        in_full_color,
        format="png",
        dpi=110,
        bbox_inches="tight",
        facecolor="white",
        pil_kwargs={"optimize": True},
    )
    if len(in_full_color.getvalue()) <= MOST_BYTES:
        return in_full_color.getvalue()
    picture = Image.open(in_full_color).convert("RGB")
    with_fewer_colors = io.BytesIO()
    picture.quantize(COLORS, dither=Image.Dither.NONE).save(
        with_fewer_colors, format="png", optimize=True
    )
    return with_fewer_colors.getvalue()
