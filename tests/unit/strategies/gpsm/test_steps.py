"""What the thesis' pipeline decides on the host: levels, order, columns."""

from types import SimpleNamespace

import pytest
from bound_queries import Node, Relationship, make_plan
from gpugda_strategies.gpsm.counted import with_counted
from gpugda_strategies.gpsm.steps import compile_steps

from gpugda.match.candidates.encode import levels_of
from gpugda.match.need import Rows
from gpugda.plan.join.matching_order import matching_order
from gpugda.plan.plan import RowTest, StepKind
from gpugda.plan.variables import Variable


def n(position):
    return Variable(True, position)


def r(position):
    return Variable(False, position)


def order(bound, nodes, relationships):
    steps = matching_order(with_counted(bound, nodes.__getitem__, dict(enumerate(relationships))))
    return [(step.kind.value, step.position, step.bound_end) for step in steps]


def path(length, **settings):
    relationships = [Relationship(at, at + 1) for at in range(length)]
    return make_plan([Node()] * (length + 1), relationships, **settings).bound


def test_levels_start_at_the_most_selective_node_of_each_component():
    nodes = [Node(cardinality=size) for size in (9, 5, 1, 4, 7, 2)]
    relationships = [Relationship(0, 1), Relationship(1, 2), Relationship(3, 4), Relationship(2, 2)]
    levels = levels_of(make_plan(nodes, relationships).bound)
    assert levels == [[2, 5, 3], [1, 4], [0]]


def test_the_join_starts_with_the_fewest_rows_and_grows_least():
    found = order(path(3), [10, 10, 10, 10], [50, 5, 20])
    assert found == [("relationships", 1, -1), ("combine", 2, 2), ("combine", 0, 1)]


def test_closing_steps_precede_combining_steps():
    relationships = [Relationship(0, 1), Relationship(1, 2), Relationship(2, 0), Relationship(2, 3)]
    bound = make_plan([Node()] * 4, relationships).bound
    found = order(bound, [10] * 4, [1, 20, 90, 10])
    assert [kind for kind, *_ in found] == ["relationships", "combine", "close", "combine"]


def test_components_follow_each_other_and_single_nodes_are_last():
    relationships = [Relationship(1, 2), Relationship(3, 4), Relationship(4, 4)]
    bound = make_plan([Node()] * 6, relationships).bound
    found = order(bound, [3, 9, 9, 9, 9, 1], [7, 4, 8])
    assert found == [
        ("relationships", 1, -1),
        ("close", 2, -1),
        ("relationships", 0, -1),
        ("nodes", 5, -1),
        ("nodes", 0, -1),
    ]


def test_cardinality_is_multiplied():
    steps = matching_order(with_counted(path(2), [10, 4, 10].__getitem__, {0: 20, 1: 40}))
    assert [step.cardinality for step in steps] == [20, 200]
    assert "20" in steps[0].reason


# ------------------------------------------------------------------ columns
def compiled(bound, wanted, nodes=10, relationships=10):
    counts = {each.position: relationships + each.position for each in bound.relationships}
    steps = matching_order(with_counted(bound, lambda position: nodes, counts))
    ends = {each.position: each.source for each in bound.relationships}
    ends |= {step.position: step.bound_end for step in steps if step.kind is StepKind.COMBINE}
    return compile_steps(bound, steps, ends, wanted)


def test_unneeded_columns_are_dropped():
    wanted = Rows(frozenset([2]), frozenset())
    first, second = compiled(
        path(
            2,
        ),
        wanted,
    )
    assert first.variables == (n(1), r(0))  # the relationship is compared with the next one
    assert first.added == (None, 0, 1)
    assert (second.bound_column, second.kept, second.variables) == (0, (), (n(2),))
    assert second.tests == ((1, 3, False),)
    assert second.added == (0, None)


def test_all_needed_columns_are_present():
    wanted = Rows(frozenset(range(3)), frozenset(range(2)))
    last = compiled(path(2), wanted)[-1]
    assert set(last.variables) == {n(0), n(1), n(2), r(0), r(1)}


def test_tests_of_a_product_become_a_step():
    bound = make_plan([Node(), Node()], tests=[RowTest(True, 0, 1, False)]).bound
    steps = compiled(bound, Rows(frozenset([0]), frozenset()))
    assert [step.kind for step in steps] == [StepKind.NODES, StepKind.NODES, None]
    assert steps[2].variables == (n(0),)


def test_a_loop_that_closes_needs_one_end():
    bound = make_plan([Node()] * 2, [Relationship(0, 1), Relationship(1, 1)]).bound
    _, close = compiled(bound, Rows(frozenset([0]), frozenset()))
    assert close.kind is StepKind.CLOSE
    assert close.other_column is None


@pytest.mark.parametrize("count", [1, 3])
def test_a_loop_that_starts_has_one_node(count):
    bound = make_plan([Node()], [Relationship(0, 0)] * count).bound
    steps = compiled(bound, Rows(frozenset([0]), frozenset(range(count))))
    assert steps[0].variables == (n(0), r(0))
    assert steps[0].added == (0, None, 1)
    assert len(steps) == count


def test_reports_name_nodes_and_relationships():
    from gpugda_strategies.gpsm.report import describe_steps

    bound = make_plan([Node()] * 2, [Relationship(0, 1, (1, 0), directed=False)]).bound
    steps = compiled(bound, Rows(frozenset(), frozenset()))
    graph = SimpleNamespace(types=SimpleNamespace(names=("R", "S")))
    report = SimpleNamespace(steps=[])
    windows = SimpleNamespace(rows=[1234], windows=[2])
    describe_steps(report, graph, bound, steps, windows)
    assert report.steps == ["relationships (n0)-[r0:S|R]-(n1): 1,234 rows in 2 chunks"]
