"""Rewrites the logical tree of a query by an ordered list of rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from gpugda.plan.facts import Facts
from gpugda.plan.logical import Logical
from gpugda.plan.rules.count_as_exists import count_as_exists
from gpugda.plan.rules.count_rows import count_rows
from gpugda.plan.rules.keep_errors import keep_errors
from gpugda.plan.rules.project_late import project_late
from gpugda.plan.rules.project_nothing import project_nothing
from gpugda.plan.rules.reach_once import reach_once
from gpugda.plan.rules.read_nothing import read_nothing

__all__ = ["RULES", "Observer", "Rule", "optimise"]

Rule: TypeAlias = Callable[[Logical, Facts], Logical]
"""Returns a tree with the same answer; the tree itself if the rule does not apply."""
Observer: TypeAlias = Callable[[Rule, Logical], None]

RULES: Final[tuple[Rule, ...]] = (
    count_as_exists,
    count_rows,
    reach_once,
    project_nothing,
    read_nothing,
    project_late,
    keep_errors,
)
"""In the order in which they are applied; `keep_errors` reads what the others leave."""


def optimise(tree: Logical, facts: Facts, observer: Observer | None = None) -> Logical:
    """Applies each rule once.

    Args:
        tree: The tree as built from the clauses.
        facts: What the rules may know.
        observer: Called with each rule that changed the tree, and its result.
    """
    for rule in RULES:
        before, tree = tree, rule(tree, facts)
        if observer is not None and tree != before:
            observer(rule, tree)
    return tree
