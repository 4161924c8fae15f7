"""The options of a fit, checked, without data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from granite_xai.compute import Resources
from granite_xai.core.search.problem import Tree


@dataclass(frozen=True)
class Settings:
    """What a user chooses; ``confidence_level=None`` is the paper's algorithm.

    Parameters
    ----------
    question : str
    order : int
        Of interactions that are compared.
    tree : Tree
    confidence_level : float, optional
    max_samples : "auto", int or None
        Rows that search. "auto": as many as the budget of model rows pays for; None: all.
    holdout : "auto", False or float
        Rows that judge: half as many as search, none, or a share of all.
    resources : Resources
    n_jobs : int, optional
    seed : int
    """

    question: str = "ice-pdp"
    order: int = 1
    tree: Tree = field(default_factory=Tree)
    confidence_level: float | None = 0.95
    max_samples: int | Literal["auto"] | None = "auto"
    holdout: float | Literal["auto", False] = "auto"
    resources: Resources = field(default_factory=Resources)
    n_jobs: int | None = None
    seed: int = 0
