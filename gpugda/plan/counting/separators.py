"""Separators of one node and of two nodes, at which a pattern falls into parts.

If all paths from some query nodes to the others pass a separator, and no relationship behind it
could be the same as one of the others, the number of matches behind it depends on the separator's
data nodes alone. Parts at two nodes are those of a decomposition at pairs of nodes (J. Hopcroft, R.
Tarjan, Dividing a graph into triconnected components, 1973).

Sets of query nodes and of query relationships are bitmaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.deadline import check_time
from gpugda.plan.counting.clashes import is_distinctness_test
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gpugda.plan.comparisons import Comparison
    from gpugda.plan.counting.degree_messages import Eliminable
    from gpugda.plan.plan import BoundRelationship, RowTest

    Nodes = int
    """A bitmap of query nodes."""

__all__ = ["PossibleElimination", "Separators", "bits_of", "each_bit"]


@value(frozen=True, slots=True)
class PossibleElimination:
    """A possible elimination: the nodes beyond a separator."""

    separator: Nodes
    beyond: Nodes


class Separators:
    """Finds the separators of a pattern whose leaves are eliminated.

    Args:
        found: The pattern.
        comparisons: Its comparisons between variables.
    """

    def __init__(self, found: Eliminable, comparisons: Iterable[Comparison]) -> None:
        self._clash = found.clash
        self._clashing: dict[int, int] = {}
        plan = found.plan
        core = self._core = plan.core
        ends = [1 << each.source | 1 << each.target for each in core.relationships]
        self._ends = ends
        # Per query relationship, the core nodes that determine its count.
        self._reads = list(ends)
        for message in plan.degrees:
            nodes = bits_of(message.separator)
            for group in message.groups:
                for position in group.relationships:
                    self._reads[position] = nodes
        # Per node: adjacent nodes; nodes read together with it; relationships that read it.
        self._linked = [0] * len(core.nodes)
        self._near = [0] * len(core.nodes)
        self._at = [0] * len(core.nodes)
        for position, read in enumerate(self._reads):
            for node in each_bit(ends[position]):
                self._linked[node] |= ends[position]
            for node in each_bit(read):
                self._near[node] |= read
                self._at[node] |= 1 << position
        self._looped = bits_of(
            each.source for each in core.relationships if each.source == each.target
        )
        self._together = [
            self.tested(test)
            for test in core.tests
            if test.on_nodes or not is_distinctness_test(test)
        ]
        for each in comparisons:
            nodes = 0
            for one in each.variables():
                nodes |= 1 << one.position if one.is_node else self._reads[one.position]
            self._together.append(nodes)

    def tested(self, test: RowTest) -> Nodes:
        """The nodes that a test depends on."""
        if test.on_nodes:
            return 1 << test.left | 1 << test.right
        return self._reads[test.left] | self._reads[test.right]

    def at_one_node(self, nodes: Nodes, kept: Nodes) -> Iterator[PossibleElimination]:
        """Possible eliminations at one node."""
        for node in each_bit(nodes & ~self._looped):
            beyonds = [
                each for each in self._components(nodes & ~(1 << node)) if each & self._near[node]
            ]
            if len(beyonds) > 1:
                for beyond in beyonds:
                    if not beyond & kept and self.is_apart(1 << node, beyond):
                        yield PossibleElimination(1 << node, beyond)

    def at_two_nodes(
        self,
        a: int,
        b: int,
        nodes: Nodes,
        kept: Nodes,
        is_single: Callable[[BoundRelationship], bool],
    ) -> Iterator[PossibleElimination]:
        """Possible eliminations at these two nodes."""
        separator = 1 << a | 1 << b
        if separator & self._looped:
            return
        components = self._components(nodes & ~separator)
        if len(components) < 2:
            return
        shared = [
            each for each in self._core.relationships if self._ends[each.position] == separator
        ]
        if not all(map(is_single, shared)):
            return
        both = bits_of(each.position for each in shared)
        for beyond in components:
            reaches_both = beyond & self._near[a] and beyond & self._near[b]
            if not reaches_both or beyond & kept or not self.is_apart(separator, beyond, both):
                continue
            rest = nodes & ~beyond
            if self._joins(separator, beyond | separator) and (
                self._joins(separator, rest) or _is_last_step(separator, rest, kept)
            ):
                yield PossibleElimination(separator, beyond)

    def is_apart(self, separator: Nodes, beyond: Nodes, shared: int = 0) -> bool:
        """True if the nodes beyond a separator depend on no other node.

        ``shared``: bitmap of the query relationships that are joined in the part and in the rest.
        """
        whole = beyond | separator
        if any(each & beyond and each & ~whole for each in self._together):
            return False
        inside = clashing = 0
        for node in each_bit(beyond):
            if self._near[node] & ~whole:
                return False
            inside |= self._at[node]
            clashing |= self._clashing_at(node)
        return not clashing & ~(inside | shared)

    def _clashing_at(self, node: int) -> int:
        """The query relationships that clash with one that reads this node."""
        if node not in self._clashing:
            found = 0
            for each in each_bit(self._at[node]):
                found |= self._clash.of(each)
            self._clashing[node] = found
        return self._clashing[node]

    def _components(self, nodes: Nodes) -> list[Nodes]:
        found = []
        check_time()
        while nodes:
            component = _reached(nodes & -nodes, nodes, self._near)
            nodes &= ~component
            found.append(component)
        return found

    def _joins(self, separator: Nodes, nodes: Nodes) -> bool:
        """True if relationships among these nodes connect the two nodes of the separator."""
        return not separator & ~_reached(separator & -separator, nodes, self._linked)


def _is_last_step(separator: Nodes, rest: Nodes, kept: Nodes) -> bool:
    """True if a disconnected rest is one node beside the separator, and none of it is eliminated.

    Otherwise one of the two nodes is a separator by itself. Such a rest adds the last step of the
    paths between two nodes that are kept: pairs are counted step by step instead of path by path.
    """
    return (rest & ~separator).bit_count() == 1 and not rest & ~(kept | separator)


def _reached(start: Nodes, nodes: Nodes, near: Sequence[Nodes]) -> Nodes:
    """The nodes connected with the start, including the start."""
    reached = waiting = start
    while waiting:
        node = waiting & -waiting
        new = near[node.bit_length() - 1] & nodes & ~reached
        reached |= new
        waiting = waiting & ~node | new
    return reached


def bits_of(numbers: Iterable[int]) -> int:
    """A bitmap of the numbers."""
    found = 0
    for each in numbers:
        found |= 1 << each
    return found


def each_bit(bits: int) -> Iterator[int]:
    """The numbers of the set bits, ascending."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
