"""The paper's experiments, one module each, on the public interface alone.

``python -m experiments`` runs all of them in the order of `NAMES`, ``python -m experiments NAME …`` some of them; each
writes JSON, figures and a section in Markdown, and together they are RESULTS.md. ``--quick`` is the small variant.
"""

from __future__ import annotations

NAMES = (
    "illustration",
    "order_two",
    "bike_local",
    "bike_interactions",
    "bike_sensitivity",
    "bike_risk",
    "bike_dependence",
    "depth_table",
    "kin8nm",
    "diabetes",
    "scalability",
    "frameworks",
    "originals",
    "beyond",
    "chance",
    "trees",
    "rows",
    "conditional",
    "peers",
    "curves",
    "scale",
)
