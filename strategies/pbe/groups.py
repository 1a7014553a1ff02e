"""Groups query relationships that are searched together, starting from crossing relationships."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda_strategies.pbe.symmetry import Automorphism, Symmetry

from gpugda.plan.row_tests import VariableTest, max_in_both_directions, not_both_equal
from gpugda.plan.variables import Variable

if TYPE_CHECKING:
    from gpugda_strategies.level_order import OrderSearch
    from gpugda_strategies.pbe.options import PbeOptions

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.masks import Masks
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["Group", "Member", "equal_relationships", "make_groups"]


@dataclass(frozen=True, slots=True)
class Member:
    """A query relationship that is prime: the smallest crossing one of an embedding.

    Args:
        relationship: The query relationship.
        source_of: Maps its variables to those of the representative's rows: the inverse of an
            automorphism; None for the identity.
        tests: Tests on its variables: of query relationships between the same two data nodes, the
            one written first is prime.
    """

    relationship: BoundRelationship
    source_of: Automorphism | None
    tests: tuple[VariableTest, ...]

    def source(self, variable: Variable) -> Variable:
        """The variable of the representative's rows that holds a variable of this member."""
        if self.source_of is None:
            return variable
        places = self.source_of.nodes if variable.is_node else self.source_of.relationships
        return Variable(variable.is_node, places[variable.position])


@dataclass(frozen=True, slots=True)
class Group:
    """A strict-equivalence group: its search sequence, and the members that its rows serve.

    Args:
        prime: Query relationship of the representative.
        members: Members that the rows serve; without the representative if that is never the prime
            relationship of an embedding.
        order: Query nodes after the two of the prime relationship.
        cost: Estimated cost, see `OrderSearch`.
    """

    prime: BoundRelationship
    members: tuple[Member, ...]
    order: tuple[int, ...]
    cost: float

    @property
    def is_alone(self) -> bool:
        """True if only the representative is served, so that its tests are part of the steps."""
        return len(self.members) == 1 and self.members[0].source_of is None


def make_groups(
    bound: BoundQuery,
    graph: DataGraph,
    masks: Masks,
    part: frozenset[int],
    search: OrderSearch,
    options: PbeOptions,
) -> list[Group]:
    """One group per class of query relationships that automorphisms map to each other.

    Self-loops never cross.

    Args:
        bound: The query.
        graph: The data graph.
        masks: The nodes and relationships that pass the predicates.
        part: The component whose relationships are considered.
        search: Orders nodes.
        options: Without sharing, each relationship is a group.
    """
    groups = []
    for found in equal_relationships(bound, masks, part, shares=options.shares):
        members = [
            Member(each, moved, tests)
            for each, moved in found
            if (tests := _tie_tests(each, bound, graph, part)) is not None
        ]
        if members:
            groups.append(_group(found[0][0], members, part, search))
    return groups


def equal_relationships(
    bound: BoundQuery, masks: Masks, part: frozenset[int], *, shares: bool
) -> list[list[tuple[BoundRelationship, Automorphism | None]]]:
    """Classes of query relationships, each with the automorphism to the first of its class."""
    symmetry = Symmetry(bound, masks, part)
    classes: list[list[tuple[BoundRelationship, Automorphism | None]]] = []
    for each in bound.relationships:
        if each.source == each.target or each.source not in part:
            continue
        for found in classes if shares else ():
            moved = symmetry.find(each, found[0][0])
            if moved is not None:
                found.append((each, moved))
                break
        else:
            classes.append([(each, None)])
    return classes


def _group(
    prime: BoundRelationship, members: list[Member], part: frozenset[int], search: OrderSearch
) -> Group:
    order, cost = search.order((prime.source, prime.target), part, prime.cardinality)
    return Group(prime, tuple(members), tuple(order), cost)


def _tie_tests(
    prime: BoundRelationship, bound: BoundQuery, graph: DataGraph, part: frozenset[int]
) -> tuple[VariableTest, ...] | None:
    """Tests that no earlier relationship of the component connects the same two data nodes.

    Returns None if one always does, and no tests if none can.
    """
    tests: list[VariableTest] = []
    ends = prime.source, prime.target
    for each in bound.relationships[: prime.position]:
        if each.source == each.target or each.source not in part:
            continue
        if not _may_meet(each, prime, graph):
            continue
        if {each.source, each.target} == set(ends):
            return None
        for one, other in (ends, ends[::-1]):
            first, second = (one, each.source), (other, each.target)
            if set(ends) not in (set(first), set(second)):  # prime's two ends always differ
                tests.append(not_both_equal(first, second))
    return tuple(tests)


def _may_meet(one: BoundRelationship, other: BoundRelationship, graph: DataGraph) -> bool:
    """True if two relationships, or one for both, can match these between the same nodes."""
    if one.clause != other.clause:
        return True
    return max_in_both_directions((one, other), graph) > 1
