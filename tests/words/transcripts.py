"""What a fit says in every place: as print, in a notebook, as a report in three forms, and on the command line.

What differs from machine to machine is left out: when a report was made, seconds, and versions.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import granite_xai as gx
from granite_xai.cli import main
from words.fits import FITS, SHOWN, Fit

RECORDED = Path(__file__).parent / "recorded"
MADE_HERE = {"made": "DATE", "versions": "VERSIONS", "seconds": "SECONDS"}
ADDRESS = re.compile(" at 0x[0-9a-f]+")
LONG = 6
"""So many entries are written one by one; of more, how many and between which."""
N_RESAMPLES = 10


@cache
def transcripts(name: str) -> dict[str, str]:
    """The texts of a fit by the name of the file that records each."""
    fit = FITS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        g = fit.fit()
    warned = "".join(f"\n{warning.category.__name__}: {warning.message}\n" for warning in caught)
    texts = {"print.txt": f"{g}\n{warned}"}
    if name in SHOWN:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gx.GraniteWarning)
            texts |= shown(fit, g)
    return texts


def shown(fit: Fit, g: gx.Granite) -> dict[str, str]:
    """The other ways in which a fit is shown."""
    report = g.report(fit.X, fit.y)
    texts = {
        "other.txt": "\n\n".join(other_objects(fit, g)) + "\n",
        "notebook.html": without_style(g._repr_mimebundle_()["text/html"]),
        "report.txt": without_version(str(report)) + "\n",
        "report.md": without_table_of_making(report.markdown()),
        "report.json": json_lines(brief(json.loads(report.json()))) + "\n",
        "command.txt": command(fit),
    }
    return {file: ADDRESS.sub("", text) for file, text in texts.items()}


def other_objects(fit: Fit, g: gx.Granite) -> Iterator[str]:
    """What is printed of other rows, repeated searches and one row."""
    yield str(g.evaluate(fit.X[:50], None if fit.y is None else fit.y[:50]))
    yield str(g.stability(n_resamples=N_RESAMPLES))
    output = g.outputs_[0] if g.outputs_ else None
    yield str(g.explain_row(fit.X[:1], output=output))


def without_version(text: str) -> str:
    return text.replace(f"granite-xai {gx.__version__}", "granite-xai VERSION")


def without_style(html: str) -> str:
    """A line for each element, without the style sheet and scikit-learn's diagram of the options."""
    bare = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    bare = re.sub(r"(<summary>Options of this fit</summary>).*", r"\1", bare, flags=re.DOTALL)
    return bare.replace("><", ">\n<") + "\n"


def without_table_of_making(markdown: str) -> str:
    for name, word in MADE_HERE.items():
        markdown = re.sub(
            rf"^\| {name} \|.*$", f"| {name} | {word} |", markdown, flags=re.MULTILINE
        )
    return markdown


def json_lines(value: Any, indent: str = "") -> str:
    """An entry a line, and what holds no further lists on one line."""
    inner = indent + " "
    entries = list(
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    if not any(isinstance(entry, dict | list) and entry for entry in entries):
        return json.dumps(value, ensure_ascii=False)
    texts = [json_lines(entry, inner) for entry in entries]
    if isinstance(value, dict):
        texts = [f"{json.dumps(name)}: {text}" for name, text in zip(value, texts, strict=True)]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(texts) + f"\n{indent}{closing}"


def brief(value: Any, name: str = "") -> Any:
    """Figures with four digits; of a long list the ends; nothing that is made on this machine."""
    if name in MADE_HERE:
        return MADE_HERE[name]
    if isinstance(value, dict):
        return {key: brief(entry, key) for key, entry in value.items()}
    if isinstance(value, float):
        return four_digits(value)
    if not isinstance(value, list):
        return value
    if len(value) <= LONG or isinstance(value[0], dict):
        return [brief(entry) for entry in value]
    if all(isinstance(entry, int | float) for entry in value):
        return f"{len(value)} numbers from {four_digits(min(value))} to {four_digits(max(value))}"
    return f"{len(value)} entries from {brief(value[0])} to {brief(value[-1])}"


def four_digits(value: float) -> float:
    """What is rounding only counts as nothing."""
    return 0.0 if abs(value) < 1e-9 else float(f"{value:.4g}")


def command(fit: Fit) -> str:
    """The command that asks for this fit, and what it prints."""
    predictor = f"words.fits:{fit.name_of_model}"
    target = {} if fit.y is None else {"y": fit.y}
    asked = ["explain", "table.csv", "--predictor", predictor, *fit.flags]
    asked += ["--target", "y"] if target else []
    said, complained = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        fit.X.assign(**target).to_csv("table.csv", index=False)
        with redirect_stdout(said), redirect_stderr(complained):
            code = main(asked)
    return (
        f"$ granite {' '.join(asked)}\n{said.getvalue()}{complained.getvalue()}exit code {code}\n"
    )


def recorded(name: str) -> dict[str, str]:
    """The texts that are in the files of a fit."""
    files = sorted((RECORDED / name).glob("*"))
    return {file.name: file.read_text(encoding="utf-8") for file in files}


def write(name: str) -> None:
    """Put the texts of a fit into its files, and nothing else."""
    folder = RECORDED / name
    folder.mkdir(parents=True, exist_ok=True)
    texts = transcripts(name)
    for file in folder.iterdir():
        if file.name not in texts:
            file.unlink()
    for file_name, text in texts.items():
        (folder / file_name).write_text(text, encoding="utf-8", newline="\n")
