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

__all__ = ["Group", "Member", "make_groups"]


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
        members: The representative first.
        order: Query nodes behind the two of its prime relationship.
        cost: Expected, see `OrderSearch`.
    """

    members: tuple[Member, ...]
    order: tuple[int, ...]
    cost: float

    @property
    def prime(self) -> BoundRelationship:
        """Of the representative."""
        return self.members[0].relationship


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
    symmetry = Symmetry(bound, masks, part)
    classes: list[list[Member]] = []
    for each in bound.relationships:
        if each.source == each.target or each.source not in part:
            continue
        tests = _tie_tests(each, bound, graph, part)
        if tests is None:
            continue
        for found in classes if options.shares else ():
            moved = symmetry.find(each, found[0].relationship)
            if moved is not None:
                found.append(Member(each, moved, tests))
                break
        else:
            classes.append([Member(each, None, tests)])
    groups = []
    for members in classes:
        prime = members[0].relationship
        ends = prime.source, prime.target
        order, cost = search.order(ends, part, prime.cardinality)
        groups.append(Group(tuple(members), tuple(order), cost))
    return groups


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
