"""Sweeps of ``python -m lab strategies``: the recipe again and again, with one number changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Final

from gpugda.errors import ConfigurationError
from lab.recipes import RECIPES, recipe_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lab.recipes import Recipe

__all__ = ["SWEEPS", "Point", "number_text", "points_of"]

_OF_STWIG = {
    "nodes": (16_000, 32_000, 64_000, 128_000),
    "query-nodes": (5, 6, 7, 8, 9, 10),
}
_VALUES: Final = {
    **{("stwig", name): values for name, values in _OF_STWIG.items()},
    ("watdiv", "relationships"): (10e6, 60e6, 109e6, 160e6, 210e6),
    ("wd", "relationships"): tuple(number * 1e9 for number in range(1, 10)),
    ("gowalla", "labels"): (10, 50, 100, 200, 400),
    ("gowalla", "types"): (10, 50, 100, 200, 400),
}
"""Values of the papers by graph and sweep, where their text gives them or their ends."""

_QUERY_NODES: Final = (4, 6, 8, 10, 12, 15)
"""The paper on SGSI goes from 4 to 15."""
_FACTORS: Final = (0.25, 0.5, 1, 2, 4)
"""Values of other sweeps, as multiples of the recipe's own."""
_MOST: Final = 1e12
_MESH_DEGREE: Final = 4


@dataclass(frozen=True, slots=True)
class Point:
    """One graph of a sweep, or the only graph where there is none.

    Args:
        value: The value of what varies; None without a sweep.
        recipe: The recipe with that value.
        scale: Factor of its nodes and relationships.
        as_published: True if the paper's own figures are of this recipe and scale.
    """

    value: float | None
    recipe: Recipe
    scale: float
    as_published: bool


def _scaled(nodes: Callable[[Recipe], int]) -> Callable[[Recipe, float], tuple[Recipe, float]]:
    return lambda recipe, value: (recipe, value / nodes(recipe))


def _with_labels(recipe: Recipe, value: float) -> tuple[Recipe, float]:
    return replace(recipe, labels=round(value)), 0.0


def _with_types(recipe: Recipe, value: float) -> tuple[Recipe, float]:
    return replace(recipe, types=round(value)), 0.0


def _with_degree(recipe: Recipe, value: float) -> tuple[Recipe, float]:
    return replace(recipe, relationships=round(value * recipe.nodes / 2)), 0.0


def _with_query_nodes(recipe: Recipe, value: float) -> tuple[Recipe, float]:
    return replace(recipe, query_nodes=(round(value),)), 0.0


@dataclass(frozen=True, slots=True)
class _Sweep:
    """What varies.

    Args:
        own: The recipe's own value.
        change: The recipe with another value and its scale, or 0 for the scale that is asked for.
        least: The smallest value.
        whole: True if the values are whole numbers.
        shapes: True if it also applies to graphs without labels, with the patterns of PBE.
    """

    own: Callable[[Recipe], float]
    change: Callable[[Recipe, float], tuple[Recipe, float]]
    least: float
    whole: bool = True
    shapes: bool = True


SWEEPS: Final = {
    "nodes": _Sweep(lambda recipe: recipe.nodes, _scaled(lambda recipe: recipe.nodes), 16),
    "relationships": _Sweep(
        lambda recipe: recipe.relationships, _scaled(lambda recipe: recipe.relationships), 16
    ),
    "labels": _Sweep(lambda recipe: recipe.labels, _with_labels, 1, shapes=False),
    "types": _Sweep(lambda recipe: recipe.types, _with_types, 1, shapes=False),
    "degree": _Sweep(
        lambda recipe: 2 * recipe.relationships / recipe.nodes, _with_degree, 0.1, whole=False
    ),
    "query-nodes": _Sweep(
        lambda recipe: max(recipe.query_nodes), _with_query_nodes, 2, shapes=False
    ),
}
"""By name: nodes and relationships grow together, so that the average degree stays; ``degree`` is
twice the number of relationships per node."""


def points_of(graph: str, scale: float, sweep: str | None) -> list[Point]:
    """The graphs to measure, in the order of the values.

    Args:
        graph: Name of the recipe.
        scale: Factor of its nodes and relationships.
        sweep: What varies, such as ``labels``, or with its values: ``labels=4,8``. None: nothing.

    Raises:
        ConfigurationError: The sweep does not exist, does not apply to the graph, or a value is out
            of range.
    """
    recipe = recipe_of(graph, scale)
    if sweep is None:
        return [Point(None, recipe, scale, scale == 1)]
    name, _, text = sweep.partition("=")
    found = SWEEPS.get(name)
    applicable = [each for each, it in SWEEPS.items() if it.shapes or recipe.patterns is None]
    if found is None or name not in applicable:
        whose = f" on {graph}" if found else ""
        raise ConfigurationError(f"--sweep is {name!r}; there are{whose}: {', '.join(applicable)}.")
    values = _parsed(text, found) if "=" in sweep else _default(graph, scale, name, found)
    return [_point(graph, scale, found, value) for value in values]


def _point(graph: str, scale: float, sweep: _Sweep, value: float) -> Point:
    recipe = RECIPES[graph]
    changed, own_scale = sweep.change(recipe, value)
    _check_shape(graph, changed)
    scale = own_scale or scale
    return Point(value, changed, scale, scale == 1 and changed == recipe)


def _default(graph: str, scale: float, name: str, sweep: _Sweep) -> Sequence[float]:
    """The paper's values; numbers of nodes and relationships are scaled like the recipe's."""
    recipe = RECIPES[graph]
    values = _VALUES.get((graph, name))
    if values is None and name == "query-nodes":
        values = _QUERY_NODES
    if values is None:
        values = tuple(min(sweep.own(recipe) * each, _most(recipe, name)) for each in _FACTORS)
    factor = scale if name in ("nodes", "relationships") else 1
    scaled = (value * factor for value in values)
    return sorted({max(sweep.least, round(each) if sweep.whole else each) for each in scaled})


def _most(recipe: Recipe, name: str) -> float:
    """The largest value that the shape of the graph allows."""
    if name == "types" and recipe.like_watdiv:
        return recipe.types
    return _MESH_DEGREE if name == "degree" and recipe.is_mesh else _MOST


def _parsed(text: str, sweep: _Sweep) -> list[float]:
    found = []
    for each in text.split(","):
        try:
            value = float(each)
        except ValueError:
            value = float("nan")
        fits = isfinite(value) and sweep.least <= value <= _MOST
        if not fits or (sweep.whole and value != round(value)):
            what = "whole numbers" if sweep.whole else "numbers"
            raise ConfigurationError(
                f"--sweep has the value {each.strip()!r}; values are {what} from {sweep.least:g} "
                "on, with commas between them, such as labels=4,8,16."
            )
        found.append(value)
    return sorted(set(found))


def _check_shape(name: str, recipe: Recipe) -> None:
    """Raises ConfigurationError if no such graph can be drawn."""
    if recipe.like_watdiv and recipe.types > RECIPES[name].types:
        raise ConfigurationError(
            f"--sweep has the value {recipe.types}; {name} has {RECIPES[name].types} predicates."
        )
    if recipe.is_mesh and 2 * recipe.relationships > _MESH_DEGREE * recipe.nodes:
        raise ConfigurationError(
            f"--sweep: {name} is a grid, whose degrees are at most {_MESH_DEGREE}."
        )


def number_text(value: float) -> str:
    """A value of a sweep for tables: ``1,000,000`` or ``2.3``."""
    return f"{round(value):,}" if value == round(value) else f"{value:,.3g}"
