"""Write docs/walk.rst: one fit, step by step, as it was watched while it ran.

python docs/make_walk.py

The steps are functions of the package. The program runs a small fit, sees that they are called in this order, and takes
the sentence of each from its docstring.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import granite_xai as gx

PAGE = Path(__file__).resolve().parent / "walk.rst"
PACKAGE = Path(gx.__file__).parent

STEPS = [
    "fitting.inputs.open_inputs",
    "fitting.rows.draw_rows",
    "fitting.cost.cost_of_fit",
    "fitting.pipeline.run",
    "evaluations.probe.probe",
    "evaluations.pilot.learn_values",
    "explanation.evaluating.evaluate",
    "fitting.measuring.measure",
    "fitting.searching.search_regions",
    "surrogate.additive.fit_surrogate",
    "fitting.judgement.judge_by_held_out_rows",
    "inference.estimation.estimate",
]
"""Module and function, in the order in which a fit comes to them."""


@dataclass(frozen=True)
class Walk:
    """What a fit went through: modules, functions, changes from room to room, and first calls in order."""

    modules: int
    functions: int
    changes_of_room: int
    first_calls: tuple[str, ...]


def watch_fit() -> Walk:
    """Run a small fit with the default options and watch the calls of the package."""
    toy = gx.datasets.make_toy(n=700)
    gx.Granite(toy.model, "ice-pdp").fit(toy.X)  # everything that is loaded once is loaded
    first_calls: dict[str, None] = {}
    modules = set()
    changes = 0
    last_room = ""

    def note_call(frame: FrameType, event: str, _: Any) -> None:
        nonlocal changes, last_room
        path = Path(frame.f_code.co_filename)
        if event != "call" or not path.is_relative_to(PACKAGE):
            return
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        room = module.partition(".")[0]
        modules.add(module)
        first_calls[f"{module}.{frame.f_code.co_qualname}"] = None
        changes += room != last_room
        last_room = room

    sys.setprofile(note_call)
    try:
        gx.Granite(toy.model, "ice-pdp").fit(toy.X)
    finally:
        sys.setprofile(None)
    return Walk(len(modules), len(first_calls), changes, tuple(first_calls))


def page() -> str:
    """The steps with their sentences."""
    lines = [".. Written by docs/make_walk.py; change it there.", ""]
    for number, step in enumerate(STEPS, start=1):
        module, _, name = step.rpartition(".")
        function = getattr(import_module(f"granite_xai.{module}"), name)
        sentence = (function.__doc__ or "").strip().split("\n\n")[0].replace("\n    ", " ")
        lines.append(f"{number}. ``{step}``: {sentence}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    walk = watch_fit()
    print(
        f"{walk.modules} modules, {walk.functions} functions, {walk.changes_of_room} changes of room"
    )
