"""Kin8nm: a robot arm's high-order interactions, with single columns and with pairs (paper, Appendix, Kin8nm).

The paper: univariate regions (8 at α = 0.01), then regions for pairs (4), whose pure and full networks are drawn, and
the surface of theta5 and theta8, which flips its sign between two of them.
"""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor

import granite_xai as gx
from experiments import kin8nm_words as words
from experiments.datasets import load_kin8nm
from experiments.kin8nm_words import ALPHA, ALPHAS, FEWER
from experiments.models import tuned
from experiments.published import AS_PUBLISHED
from experiments.results import Result

ROWS = 1000
PAIR = ("theta5", "theta8")
MIDDLE = ("theta4", "theta5", "theta6", "theta7")


def run(quick: bool) -> Result:
    """Regions for single columns, for all pairs and for six of them, and what is in them."""
    X, y = load_kin8nm()
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    model = tuned("mlp", X_train, y_train, seed=0, name="kin8nm", quick=quick)
    rows = X_test.head(60 if quick else ROWS)
    scores = {"ours": float(model.score(X_test, y_test))}
    fits = {
        name: _fitted(model, rows.head(FEWER if "six" in name else ROWS), **asked)
        for name, asked in _asked().items()
    }
    prices = [_by_price(name, granite) for name, granite in fits.items()]
    if not quick:
        deeper = _fitted(model, rows.head(FEWER), influence="interaction", alpha=ALPHA)
        prices.append(_by_price(f"all 28 pairs, depth 3, {FEWER} rows", deeper))
    for width in () if quick else ((30, 15), (10, 5)):
        other = _small_network(width, X_train, y_train)
        scores[f"network {width}"] = float(other.score(X_test, y_test))
        prices.append(
            _by_price(f"single columns, network {width}", _fitted(other, rows, alpha=ALPHA))
        )
    some = rows.head(40 if quick else 400)
    aligned, networks = _networks(model, some, fits["all 28 pairs"])
    halved, _ = _networks(model, some.head(len(some) // 2), fits["all 28 pairs"])
    for line, half in zip(aligned, halved, strict=True):
        line["gap on half the rows"] = half["gap of full and pure"]
    surface = gx.InteractionDisplay.from_estimator(fits["all 28 pairs"], rows, pair=PAIR)
    twists = twist(surface.frame())
    lines = [_line(name, granite) for name, granite in fits.items()]
    return Result(
        "Kin8nm: interactions of a robot arm",
        words.text(scores, len(rows), len(some), lines, prices, aligned, twists),
        {
            "r2": scores,
            "fits": lines,
            "regions_by_price": prices,
            "networks": aligned,
            "twist": twists,
        },
        _figures(fits, rows, networks, surface),
        words.differences(scores, lines, prices, aligned, twists),
    )


def _asked() -> dict[str, dict[str, Any]]:
    pairs = {"influence": "interaction", "alpha": ALPHA, "max_depth": 2}
    return {
        "single columns": {"alpha": ALPHA},
        "all 28 pairs": pairs,
        "six pairs of theta4–theta7": {**pairs, "features": list(combinations(MIDDLE, 2))},
    }


def _fitted(model: Any, rows: pd.DataFrame, **asked: Any) -> gx.Granite:
    return gx.Granite(model, "ice-pdp", **asked, **AS_PUBLISHED).fit(rows)


def _small_network(width: tuple[int, int], X: pd.DataFrame, y: pd.Series) -> MLPRegressor:
    """A network of the size that the paper's search could choose from."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network = MLPRegressor(
            hidden_layer_sizes=width,
            alpha=0.01,
            learning_rate_init=0.005,
            max_iter=300,
            random_state=42,
        )
        return network.fit(X, y)


def _line(name: str, granite: gx.Granite) -> dict[str, Any]:
    return {
        "compared": name,
        "rows": granite.partition_.root.n_samples,
        "paper": {"single columns": "8 regions", "all 28 pairs": "4 regions"}.get(name, "–"),
        "regions": len(granite.partition_),
        "left": granite.remaining_,
        "variance explained before": granite.global_fidelity_,
        "variance explained": granite.fidelity_,
        "model rows, million": granite.diagnostics_["model"]["rows"] / 1e6,
        "seconds": granite.diagnostics_["seconds"]["total"],
        "rules": "; ".join(str(region.rule) for region in granite.partition_),
    }


def pruned(node: Any, alpha: float) -> tuple[float, int]:
    """What is left and how many regions there are at a higher price: trees at higher prices are nested."""
    children = getattr(node, "children", None)
    if children is None or node.disagreement < alpha:
        return node.disagreement, 1
    left, regions = (
        sum(part) for part in zip(*(pruned(child, alpha) for child in children), strict=True)
    )
    undone = node.disagreement + alpha <= left + alpha * regions + 1e-10
    return (node.disagreement, 1) if undone else (left, regions)


def _by_price(name: str, granite: gx.Granite) -> dict[str, Any]:
    regions = {f"α = {alpha}": pruned(granite.partition_.root, alpha)[1] for alpha in ALPHAS}
    return {"compared": name, "at most": 2**granite.max_depth, **regions}


def _networks(
    model: Any, rows: pd.DataFrame, pairs: gx.Granite
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Variances of columns and pairs in the regions, pure and full, and how far the two are apart."""
    given = gx.partitioners.GivenRules([str(region.rule) for region in pairs.partition_])
    ruler = gx.Granite(model, "variance", partitioner=given, **AS_PUBLISHED).fit(rows)
    shown = {
        kind: gx.InteractionDisplay.from_estimator(
            ruler, rows, interaction=kind, features=list(rows)
        ).plot()
        for kind in ("pure", "full")
    }
    values = {kind: display.frame().query("first != second") for kind, display in shown.items()}
    both = values["pure"].assign(
        full=values["full"]["value"], gap=lambda f: (f["full"] - f["value"]).abs()
    )
    lines = [
        {
            "region": rule,
            "gap of full and pure": float(part["gap"].sum()),
            "full": float(part["full"].abs().sum()),
            "strongest pair, pure": _strongest(part, "value"),
            "strongest pair, full": _strongest(part, "full"),
        }
        for rule, part in both.groupby("rule", sort=False)
    ]
    return lines, {kind: display.figure_ for kind, display in shown.items()}


def _strongest(part: pd.DataFrame, kind: str) -> str:
    line = part.loc[part[kind].abs().idxmax()]
    return f"{line['first']}:{line['second']}"


def twist(cells: pd.DataFrame) -> list[dict[str, Any]]:
    """Direction of the surface in each region: its correlation with the product of both angles."""
    lines = []
    for rule, part in cells.groupby("rule", sort=False):
        product = (part["x"] - part["x"].mean()) * (part["y"] - part["y"].mean())
        size = float(part["value"].abs().mean())
        lines.append(
            {
                "region": rule,
                "correlation with theta5 · theta8": float(product.corr(part["value"])),
                "mean size": size,
            }
        )
    return lines


def _figures(
    fits: dict[str, gx.Granite], rows: pd.DataFrame, networks: dict[str, Any], surface: Any
) -> dict[str, Any]:
    effects = gx.EffectDisplay.from_estimator(
        fits["single columns"], rows, features=["theta4", "theta7"]
    )
    tree = gx.PartitionDisplay.from_estimator(fits["all 28 pairs"])
    return {
        "effects": effects.plot().figure_,
        "pair_regions": tree.plot().figure_,
        "pure": networks["pure"],
        "full": networks["full"],
        "surface": surface.plot().figure_,
    }
