"""All strategies, and their variants without some of the papers' techniques."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.bench.recipes import RECIPES
from gpugda.match.gsi.options import ablation_steps
from gpugda.match.gsi.strategy import GsiStrategy
from gpugda.match.pbe.options import pbe_variants
from gpugda.match.pbe.strategy import PbeStrategy
from gpugda.match.registry import STRATEGIES
from gpugda.match.sgsi.options import sgsi_variants
from gpugda.match.sgsi.strategy import SgsiStrategy

if TYPE_CHECKING:
    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.match.matcher import Matcher

__all__ = ["all_matchers"]

_PARTITIONS = 4
"""Number of partitions in the paper's ablation of PBE."""


def all_matchers(recipe: str, graph: DeviceGraph, limit: int | None) -> dict[str, Matcher]:
    """Matchers by name, with variants of GSI and SGSI, or of PBE if the graph is from its paper."""
    found: dict[str, Matcher] = {
        name: matcher(graph, memory_limit=limit) for name, matcher in STRATEGIES.items()
    }
    if RECIPES[recipe].patterns is not None:
        for name, options in pbe_variants(_PARTITIONS).items():
            found[f"pbe {name}"] = PbeStrategy(graph, memory_limit=limit, options=options)
        return found
    for name, techniques in ablation_steps().items():
        if name != "+DR":
            found[f"gsi {name}"] = GsiStrategy(graph, memory_limit=limit, options=techniques)
    for name, balance in sgsi_variants().items():
        found[f"sgsi {name}"] = SgsiStrategy(graph, memory_limit=limit, options=balance)
    return found
