"""The right-deep join tree: the columns of each STwig's relation, and the work of each level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda_strategies.launch.gsi_join import test_words

from gpugda.match.need import Rows
from gpugda.plan.variables import Variable, node_variable, relationship_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda_strategies.stwig.decompose import Stwig

    from gpugda.plan.row_tests import VariableTest

__all__ = ["JoinPlan", "Relation", "Share", "plan_join", "shares_of"]

_LOW = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Share:
    """The task of one STwig.

    Args:
        stwig: The STwig.
        tests: Tests that its own variables decide.
        columns: Columns of its rows: those that other STwigs share, tests need, or the caller
            reads.
    """

    stwig: Stwig
    tests: tuple[VariableTest, ...]
    columns: Rows


@dataclass(frozen=True, slots=True)
class Relation:
    """The size of one STwig's matches.

    Args:
        variables: The variables that its columns hold.
        row_count: Number of matches.
    """

    variables: tuple[Variable, ...]
    row_count: int

    @property
    def hash_bits(self) -> int:
        """Bits of a hash, chosen so that there are at most as many heads as records."""
        return max(self.row_count, 1).bit_length() - 1

    @property
    def pool_words(self) -> int:
        """Words of its records."""
        return self.row_count * (len(self.variables) + 1)


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """The join for the kernel.

    Args:
        words: Encoded for ``stwig_join.cl``.
        levels: Start of each level's words; the relations without the first, in order.
        slot_count: Number of values that a work item holds.
        pool_words: Words of all records.
        head_count: Heads of all tables.
        output: Variables of the output.
    """

    words: tuple[int, ...]
    levels: tuple[int, ...]
    slot_count: int
    pool_words: int
    head_count: int
    output: tuple[Variable, ...]


def shares_of(
    stwigs: Sequence[Stwig], tests: Sequence[VariableTest], need: Rows
) -> tuple[list[Share], list[VariableTest]]:
    """The task of each STwig, and the tests that remain for the join."""
    variables = [_variables(each) for each in stwigs]
    own: list[list[VariableTest]] = [[] for _ in stwigs]
    crossing: list[VariableTest] = []
    for test in tests:
        home = [at for at, found in enumerate(variables) if found.issuperset(test.variables())]
        (own[home[0]] if home else crossing).append(test)
    wanted = {node_variable(each) for each in need.nodes}
    wanted |= {relationship_variable(each) for each in need.relationships}
    wanted |= {variable for test in crossing for variable in test.variables()}
    shares = []
    for at, stwig in enumerate(stwigs):
        others = set().union(*(found for k, found in enumerate(variables) if k != at))
        columns = variables[at] & (wanted | others)
        rows = Rows(
            frozenset(each.position for each in columns if each.is_node),
            frozenset(each.position for each in columns if not each.is_node),
        )
        shares.append(Share(stwig, tuple(own[at]), rows))
    return shares, crossing


def _variables(stwig: Stwig) -> set[Variable]:
    nodes = {node_variable(each) for each in stwig.nodes}
    return nodes | {relationship_variable(each.position) for each in stwig.relationships}


def plan_join(relations: Sequence[Relation], tests: Sequence[VariableTest], need: Rows) -> JoinPlan:
    """Encodes the join; the first relation is the probe side, the others follow in order."""
    slots: dict[Variable, int] = {}
    for relation in relations:
        for variable in relation.variables:
            slots.setdefault(variable, len(slots))
    output = tuple(
        variable
        for variable in slots
        if variable.position in (need.nodes if variable.is_node else need.relationships)
    )
    words = [len(relations[0].variables), len(output)]
    words += [slots[each] for each in (*relations[0].variables, *output)]
    levels: list[int] = []
    pool_words = head_count = 0
    bound = set(relations[0].variables)
    waiting = list(tests)
    for relation in relations[1:]:
        levels.append(len(words))
        bound_after = bound | set(relation.variables)
        due = [test for test in waiting if bound_after.issuperset(test.variables())]
        waiting = [test for test in waiting if test not in due]
        words += _level(relation, slots, bound, due, (pool_words, head_count))
        pool_words += relation.pool_words
        head_count += 1 << relation.hash_bits
        bound = bound_after
    return JoinPlan(tuple(words), tuple(levels), max(len(slots), 1), pool_words, head_count, output)


def _level(
    relation: Relation,
    slots: dict[Variable, int],
    bound: set[Variable],
    tests: Sequence[VariableTest],
    places: tuple[int, int],
) -> list[int]:
    columns = list(enumerate(relation.variables))
    keys = [(at, slots[each]) for at, each in columns if each in bound]
    added = [(at, slots[each]) for at, each in columns if each not in bound]
    pool, heads = places
    words = [pool & _LOW, pool >> 32, heads & _LOW, heads >> 32, (1 << relation.hash_bits) - 1]
    words += [len(columns) + 1, len(keys), len(added), len(tests)]
    words += [word for pair in (*keys, *added) for word in pair]
    for test in tests:
        left, right = (None, None) if test.second is None else (slots[each] for each in test.second)
        words += test_words((slots[test.left], slots[test.right], test.equal, left, right))
    return words
