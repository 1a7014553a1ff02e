"""Counts in ranked lists of which each share can be counted by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.match.share import WHOLE, Share
from gpugda.match.special.cliques import count_cliques, find_clique
from gpugda.match.special.ranked_triangles import count_triangles, find_triangle
from gpugda.match.special.ring_squares import count_ring, find_ring
from gpugda.match.special.unrestricted import ranked_lists_apply
from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.engine import Engine
    from gpugda.plan.plan import BoundQuery

__all__ = ["RankedCount", "ranked_count"]

_KINDS: Final = (
    (find_triangle, count_triangles),
    (find_ring, count_ring),
    (find_clique, count_cliques),
)


@value(frozen=True, slots=True, eq=False)
class RankedCount:
    """A count of triangles, rings of four nodes, or cliques.

    Args:
        bound: The pattern.
        kind: Its place among the kinds.
    """

    bound: BoundQuery
    kind: int

    @property
    def wraps(self) -> int | None:
        """Counts of shares add up modulo 2**64."""
        return 1 << 64

    def count_share(
        self,
        engine: Engine,
        report: StrategyReport,
        deadline: float | None,
        share: Share = WHOLE,
    ) -> int | None:
        """The count of a share; None if there is no room."""
        count = _KINDS[self.kind][1]
        return count(self.bound, engine.graph.graph, engine, report, deadline, share)


def ranked_count(bound: BoundQuery, engine: Engine) -> RankedCount | None:
    """How a pattern is counted in ranked lists; None if that does not apply."""
    graph = engine.graph.graph
    if not ranked_lists_apply(graph, engine):
        return None
    kinds = (place for place, (find, _) in enumerate(_KINDS) if find(bound, graph) is not None)
    kind = next(kinds, None)
    return None if kind is None else RankedCount(bound, kind)
