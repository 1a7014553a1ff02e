"""Operator trees in the form of Neo4j's plans, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.plan.operator_tree import OperatorNode

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["operators_of", "plan_of"]


def plan_of(tree: OperatorNode, *, profiled: bool) -> dict[str, Any]:
    """An operator tree in the form of Neo4j's plans, which Browser and cypher-shell draw."""
    found = _operator(tree, profiled=profiled)
    found["args"].update(
        {"planner": "COST", "planner-impl": "GPUGDA", "runtime": "GPUGDA", "version": "5"}
    )
    return found


def _operator(node: OperatorNode, *, profiled: bool) -> dict[str, Any]:
    name, _, details = node.what.partition(" ")
    args: dict[str, Any] = {"Details": details}
    if node.expected is not None:
        args["EstimatedRows"] = float(node.expected)
    found: dict[str, Any] = {
        "operatorType": f"{name.capitalize()}@gpugda",
        "identifiers": [],
        "args": args,
        "children": [_operator(child, profiled=profiled) for child in node.children],
    }
    if not profiled:
        return found
    figures = {"Rows": node.rows or 0, "DbHits": 0, "Time": round((node.seconds or 0.0) * 1e9)}
    args.update(figures)
    if node.device_bytes is not None:
        args["Memory"] = node.device_bytes
    if node.steps:
        args["Steps"] = "\n".join(node.steps)
    return {
        **found,
        "rows": figures["Rows"],
        "dbHits": 0,
        "time": figures["Time"],
        "pageCacheHits": 0,
        "pageCacheMisses": 0,
        "pageCacheHitRatio": 0.0,
    }


def operators_of(plan: Mapping[str, Any], *, profiled: bool) -> OperatorNode:
    """Neo4j's plan as an operator tree, which is printed and drawn."""
    args: Mapping[str, Any] = plan.get("args") or {}
    name = str(plan.get("operatorType", "")).partition("@")[0]
    seconds = args.get("Time") if profiled else None
    return OperatorNode(
        f"{name} {args.get('Details', '')}".strip(),
        args.get("EstimatedRows"),
        args.get("Rows", plan.get("rows")) if profiled else None,
        None if seconds is None else seconds / 1e9,
        children=tuple(
            operators_of(child, profiled=profiled) for child in plan.get("children") or ()
        ),
    )
