"""The order of the right-deep join tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpugda_strategies.stwig.join_plan import Relation

__all__ = ["join_order"]


def join_order(relations: Sequence[Relation], count: Callable[[int], int]) -> list[int]:
    """The probe relation first, then the relation with the fewest expected matches each time.

    A record is expected to match the relation's row count divided by the number of values of a
    shared node, the one with most values; without a shared node it matches all.

    Args:
        relations: The matches of STwigs, in matching order.
        count: Number of remaining candidates of a query node.
    """
    order, left = [0], list(range(1, len(relations)))
    bound = set(relations[0].variables)

    def expected(at: int) -> float:
        shared = [each for each in relations[at].variables if each in bound and each.is_node]
        return relations[at].row_count / max([count(each.position) for each in shared], default=1)

    while left:
        chosen = min(left, key=lambda at: (expected(at), at))
        left.remove(chosen)
        order.append(chosen)
        bound |= set(relations[chosen].variables)
    return order
