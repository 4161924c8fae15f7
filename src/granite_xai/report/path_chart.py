"""Chart of the path: what is left with ever fewer regions, on search rows and on left-out ones."""

from __future__ import annotations

from typing import Any

from granite_xai.base.formats import share
from granite_xai.report.svg import Frame, Margins, line, svg, tag

SIZE = (460.0, 252.0)


def elbow(path: dict[str, Any]) -> str:
    """Draw the steps of a path, as the story has them; the chosen one has a ring."""
    steps = path["steps"]
    most = max(steps[0]["regions"], 2)
    frame = Frame(SIZE, Margins(left=52, right=28, top=20, bottom=52), (1.0, most), (0.0, 1.0))
    shapes = []
    for percentage in (0, 25, 50, 75, 100):
        y = frame.y(percentage / 100)
        shapes.append(line("grid", (frame.left, y), (frame.right, y)))
        text = {"x": frame.left - 6, "y": y + 4, "text_anchor": "end"}
        shapes.append(tag("text", "", f"{percentage}%", **text))
    limit = frame.y(path["line"])
    shapes.append(line("base", (frame.left, limit), (frame.right, limit)))
    for key, curve, dot in (("left", "gl rall", "in rall"), ("left_out", "ln rink", "in rink")):
        points = [(frame.x(step["regions"]), frame.y(step[key])) for step in steps]
        shapes.append(line(curve, *points))
        shapes += [tag("circle", dot, cx=x, cy=y, r=3.5) for x, y in points]
    for step in steps:
        x = frame.x(step["regions"])
        below = {"x": x, "y": frame.bottom + 18, "text_anchor": "middle"}
        shapes.append(tag("text", "", str(step["regions"]), **below))
        if step["chosen"]:
            shapes.append(tag("circle", "arr", cx=x, cy=frame.y(step["left_out"]), r=8.0))
    middle = {"x": (frame.left + frame.right) / 2, "y": frame.bottom + 38, "text_anchor": "middle"}
    shapes.append(tag("text", "t", "regions", **middle))
    corner = {"x": frame.right, "y": 14.0, "text_anchor": "end"}
    shapes.append(tag("text", "", "left-out rows (dark), search rows (grey)", **corner))
    told = ", ".join(f"{step['regions']}: {share(step['left_out'])}" for step in steps)
    return svg(SIZE, f"Heterogeneity left by the number of regions: {told}", shapes)
