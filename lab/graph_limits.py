"""Says before a graph is drawn whether it fits: indexes of 32 bits, and the host's memory."""

from __future__ import annotations

from math import floor, log10
from typing import TYPE_CHECKING, Final

from gpugda.data.build import MAX_COUNT
from gpugda.execute.memory import available_bytes

if TYPE_CHECKING:
    from lab.recipes import Recipe

__all__ = ["host_bytes", "why_too_large"]

_BYTES_PER_NODE: Final = 232
_BYTES_PER_RELATIONSHIP: Final = 27
_BYTES_OF_PAIR: Final = 10
_BYTES_PER_TYPE: Final = 3_000
_BYTES: Final = 4e8
"""Of any graph: the parts that are drawn at a time."""


def host_bytes(recipe: Recipe, scale: float) -> int:
    """Most bytes of host memory that drawing and sorting takes.

    From measured peaks: 46 GiB for the 97 million nodes and a billion relationships of ``wd``, 78
    for the 233 million and 1.1 billion of ``db``, and a tenth of ``watdiv`` and of ``road``. A
    simple graph also holds each pair until it is known to be the only one.
    """
    per_relationship = _BYTES_PER_RELATIONSHIP + (_BYTES_OF_PAIR if recipe.patterns else 0)
    growing = _BYTES_PER_NODE * recipe.nodes + per_relationship * recipe.relationships
    return int(_BYTES + _BYTES_PER_TYPE * recipe.types + scale * growing)


def why_too_large(name: str, recipe: Recipe, scale: float) -> str | None:
    """Why a graph cannot be drawn on this machine, and which scale fits; None if it can."""
    nodes, relationships = round(scale * recipe.nodes), round(scale * recipe.relationships)
    graph = f"{name} with {nodes:,} nodes and {relationships:,} relationships"
    most, free, needed = max(nodes, relationships), available_bytes(), host_bytes(recipe, scale)
    if most > MAX_COUNT:
        why = f"a graph has at most {MAX_COUNT:,} of each, because indexes have 32 bits"
    elif free is not None and needed > free:
        why = f"drawing it takes about {_gib(needed)} of memory, and {_gib(free)} are free"
    else:
        return None
    fixed = host_bytes(recipe, 0)
    in_memory = 1.0 if free is None else max(0, free - fixed) / (needed - fixed)
    fits = scale * min(in_memory, MAX_COUNT / most)
    at = f"; --scale {_rounded_down(fits)} fits" if fits > 0 else ""
    return f"{graph} does not fit: {why}{at}."


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"


def _rounded_down(value: float) -> str:
    """With two digits."""
    unit = 10.0 ** (floor(log10(value)) - 1)
    return f"{floor(value / unit) * unit:.2g}"
