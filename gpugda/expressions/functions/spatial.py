"""``point()``, ``point.distance()`` and ``point.withinBBox()``."""

from __future__ import annotations

from typing import Any

from gpugda.expressions import spatial
from gpugda.expressions.checks import type_error
from gpugda.expressions.functions.registry import Function, signature
from gpugda.expressions.kinds import kind_of_value

__all__ = ["FUNCTIONS"]


def _point(fields: Any) -> Any:
    if kind_of_value(fields) == "point":
        return fields
    if kind_of_value(fields) != "map":
        raise type_error("point()", "a map", fields)
    return spatial.make_point(fields)


def _are_points(*given: Any) -> bool:
    return all(kind_of_value(each) == "point" for each in given)


def _distance(a: Any, b: Any) -> float | None:
    return spatial.distance(a, b) if _are_points(a, b) else None


def _within_box(point: Any, lower_left: Any, upper_right: Any) -> bool | None:
    if not _are_points(point, lower_left, upper_right):
        return None
    return spatial.within_box(point, lower_left, upper_right)


FUNCTIONS: tuple[Function, ...] = (
    Function("point", signature("map point -> point"), _point),
    Function("point.distance", signature("any, any -> float"), _distance, exact=False),
    Function("point.withinBBox", signature("any, any, any -> boolean"), _within_box),
)
