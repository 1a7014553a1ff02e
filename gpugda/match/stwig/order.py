"""The order of the right-deep join tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpugda.match.stwig.join_plan import Relation

__all__ = ["join_order"]


def join_order(relations: Sequence[Relation], count: Callable[[int], int]) -> list[int]:
    """The first relation is the probe relation; then those of which the fewest are expected.

    A record meets as many of a relation as this has by the values of a node they share, the node
    with the most values; all of them where they share none.

    Args:
        relations: The matches of STwigs, in the order in which they were matched.
        count: Number of values of a query node that are left.
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
