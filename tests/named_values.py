"""Values of results in the form of case files: entities by their names in the case."""

from __future__ import annotations

from typing import Any

from function_cases import rendered

_PLAIN = (bool, int, float, str, type(None))


def named(value: Any) -> Any:
    """``(node)``, ``[relationship]``, ``(a)[r](b)`` for a path, also within lists and maps.

    Temporal and spatial values become text.
    """
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, list):
        return [named(item) for item in value]
    if isinstance(value, dict):
        return {key: named(item) for key, item in value.items()}
    if hasattr(value, "relationships"):
        steps = zip(value.relationships, value.nodes[1:], strict=True)
        return named(value.nodes[0]) + "".join(named(part) for step in steps for part in step)
    if hasattr(value, "labels"):
        return f"({value['id']})"
    if hasattr(value, "start_node"):
        return f"[{value['case_name']}]"
    return rendered(value)
