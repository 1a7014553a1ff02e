"""Which query relationships are searched together, from relationships that cross partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.match.pbe.symmetry import Automorphism, Symmetry
from gpugda.plan.row_tests import VariableTest, most_either_way, not_both
from gpugda.plan.variables import Variable

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.match.pbe.options import PbeOptions
    from gpugda.match.pbe.order import OrderSearch
    from gpugda.plan.masks import Masks
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["Group", "Member", "equal_relationships", "make_groups"]


@dataclass(frozen=True, slots=True)
class Member:
    """A query relationship as the prime one.

    Args:
        relationship: It.
        source_of: The variable of the representative's rows that holds each of this one's
            variables: the inverse of an automorphism; None where they are the same.
        tests: On this one's variables: of query relationships between the same two data nodes the
            one that was written first is the prime one.
    """

    relationship: BoundRelationship
    source_of: Automorphism | None
    tests: tuple[VariableTest, ...]

    def source(self, variable: Variable) -> Variable:
        """Where in the representative's rows a variable of this one stands."""
        if self.source_of is None:
            return variable
        places = self.source_of.nodes if variable.is_node else self.source_of.relationships
        return Variable(variable.is_node, places[variable.position])


@dataclass(frozen=True, slots=True)
class Group:
    """A strict-equivalence group: its search sequence, and for whom its rows are.

    Args:
        prime: Query relationship of the representative.
        members: For whom they are; the representative is not among them where it never is the prime
            one of an embedding.
        order: Query nodes behind the two of its prime relationship.
        cost: Expected, see `OrderSearch`.
    """

    prime: BoundRelationship
    members: tuple[Member, ...]
    order: tuple[int, ...]
    cost: float

    @property
    def is_alone(self) -> bool:
        """Are rows those of the representative alone, so that its tests are made on the way?"""
        return len(self.members) == 1 and self.members[0].source_of is None


def make_groups(
    bound: BoundQuery,
    graph: DataGraph,
    masks: Masks,
    part: frozenset[int],
    search: OrderSearch,
    options: PbeOptions,
) -> list[Group]:
    """A group per class of query relationships that automorphisms exchange; loops never cross.

    Args:
        bound: The query.
        graph: The data graph.
        masks: What predicates leave.
        part: The component whose relationships are looked at.
        search: Orders nodes.
        options: Without sharing each one is a group.
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
    """Classes of query relationships, each with what maps it to the first of its class."""
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
    """Tests that none of the component before this one is between the same two data nodes.

    None where one always is, and nothing where none can be.
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
            if set(ends) not in (set(first), set(second)):  # they are in different partitions
                tests.append(not_both(first, second))
    return tuple(tests)


def _may_meet(one: BoundRelationship, other: BoundRelationship, graph: DataGraph) -> bool:
    """Can there be two relationships for these between the same two nodes, or one for both?"""
    if one.clause != other.clause:
        return True
    return most_either_way((one, other), graph) > 1
