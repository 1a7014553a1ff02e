"""The matching order, and plans executed step by step, against the reference."""

from dataclasses import replace

import pytest
from graphs import make_graph
from hypothesis import assume, given

from gpugda.errors import CypherTypeError
from gpugda.plan.bind import bind
from gpugda.plan.join.matching_order import make_plan
from gpugda.plan.plan import LabelOp, StepKind
from gpugda.query.parser import parse
from gpugda.reference.graph import PlainGraph
from gpugda.reference.run import run_reference
from gpugda.reference.values import make_evaluator
from gpugda.values import Entity
from strategies import PARAMETERS, multigraphs, query_texts
from tests.one_pattern import query_of


@pytest.fixture(scope="module")
def star():
    """A hub with ten leaves, one of them marked."""
    nodes = [("Hub", {})] + [("Leaf", {"x": i}) for i in range(10)] + [("Other", {})] * 20
    return make_graph(nodes, [(0, "R", i, {}) for i in range(1, 11)] + [(1, "S", 11, {})])


def steps(text, data):
    plan = make_plan(bind(query_of(f"MATCH {text} RETURN 1"), data), data.statistics, "gpsm")
    return [(step.kind.value, step.position, step.bound_end) for step in plan.steps]


def warnings(text, data):
    query = query_of(f"MATCH {text} RETURN 1")
    return make_plan(bind(query, data), data.statistics, "gpsm").warnings


def test_the_order_starts_with_the_fewest_candidates_and_stays_connected(star):
    assert steps("(h)-[:R]->(a)-[:S]->(o), (h)-[:R]->(b)", star) == [
        ("relationships", 1, -1),
        ("combine", 0, 1),
        ("combine", 2, 0),
    ]


def test_a_cycle_is_closed_as_soon_as_both_ends_are_bound(star):
    found = steps("(a)-->(b)-->(c)-->(d), (a)-->(c)", star)
    assert [kind for kind, _, _ in found] == ["relationships", "combine", "close", "combine"]


def test_components_follow_one_another(star):
    found = steps("(x:Leaf), (a)-[:S]->(b), (y:Hub)", star)
    assert found == [("relationships", 0, -1), ("nodes", 3, -1), ("nodes", 0, -1)]


def test_a_cartesian_product_is_warned_of(star):
    assert "cartesian product between disconnected patterns" in warnings("(a), (b)-->()", star)[0]
    assert "[(a)] and [(b), ()]" in warnings("(a), (b)-->()", star)[0]
    assert warnings("(a)-->(b)", star) == ()
    assert warnings("(a), (b) WHERE a = b", star) == ()
    assert warnings("(a)-[r]->(b) MATCH (c)-[r]->(d)", star) == ()


def test_estimates_are_exact_if_statistics_are(star):
    plan = make_plan(
        bind(query_of("MATCH (:Hub)-[:R]->(:Leaf) RETURN 1"), star), star.statistics, ""
    )
    assert plan.steps[-1].cardinality == 10


# ------------------------------------------------------------------ executing plans
class Follower:
    """A minimal step-by-step executor of plans."""

    def __init__(self, plan, data):
        self.bound, self.plan, self.data = plan.bound, plan, data
        self.plain = PlainGraph(data)
        self.evaluator = make_evaluator(self.plain, PARAMETERS, plan.bound.query.text)
        self.candidates = [
            [v for v in range(data.node_count) if self.is_candidate(node, v)]
            for node in plan.bound.nodes
        ]

    def is_candidate(self, node, v):
        stack = []
        for operation, label in node.labels:
            if operation is LabelOp.LABEL:
                stack.append(self.data.labels.name(label) in self.plain.labels[v])
            elif operation is LabelOp.ANY:
                stack.append(bool(self.plain.labels[v]))
            elif operation is LabelOp.NONE:
                stack.append(False)
            elif operation is LabelOp.NOT:
                stack.append(not stack.pop())
            else:
                pair = [stack.pop(), stack.pop()]
                stack.append(all(pair) if operation is LabelOp.AND else any(pair))
        return (
            (stack == [] or stack == [True])
            and all(self.degree(need, v) >= need.at_least for need in node.degree_needs)
            and self.holds(node.predicates, {node.name: Entity(True, v)})
        )

    def degree(self, need, v):
        lists = [self.plain.outgoing[v]] * need.outgoing + [self.plain.incoming[v]] * need.incoming
        return sum(self.has_type(need.types, r) for each in lists for r in each)

    def has_type(self, types, r):
        return types is None or self.data.types.get(self.plain.types[r]) in types

    def holds(self, predicates, row):
        return all(self.evaluator.holds(predicate, row) for predicate in predicates)

    def rows(self):
        bound = self.bound
        if bound.no_rows is not None or not self.holds(bound.constants, {}):
            return
        rows = [({}, {})]
        for step in self.plan.steps:
            rows = [new for row in rows for new in self.extend(step, *row)]
        for nodes, relationships in rows:
            row = {bound.relationships[p].name: Entity(False, r) for p, r in relationships.items()}
            row |= {bound.nodes[p].name: Entity(True, v) for p, v in nodes.items()}
            tests = (((nodes if t.on_nodes else relationships), t) for t in bound.tests)
            passed = all((of[t.left] == of[t.right]) == t.equal for of, t in tests)
            if passed and self.holds(bound.residuals, row):
                yield row

    def extend(self, step, nodes, relationships):
        if step.kind is StepKind.NODES:
            for v in self.candidates[step.position]:
                yield nodes | {step.position: v}, relationships
            return
        asked = self.bound.relationships[step.position]
        ends = {asked.source, asked.target} & nodes.keys()
        expected = {StepKind.RELATIONSHIPS: 0, StepKind.COMBINE: 1}
        assert len(ends) == expected.get(step.kind, len({asked.source, asked.target}))
        assert step.kind is not StepKind.COMBINE or step.bound_end in ends
        for r in range(self.data.relationship_count):
            name = {asked.name: Entity(False, r)}
            if not self.has_type(asked.types, r) or not self.holds(asked.predicates, name):
                continue
            pair = (self.plain.sources[r], self.plain.targets[r])
            for source, target in {pair} if asked.directed else {pair, pair[::-1]}:
                fits = source in self.candidates[asked.source]
                fits = fits and target in self.candidates[asked.target]
                fits = fits and nodes.get(asked.source, source) == source
                fits = fits and nodes.get(asked.target, target) == target
                if fits and (asked.source != asked.target or source == target):
                    new = {asked.source: source, asked.target: target}
                    yield nodes | new, relationships | {step.position: r}


def reference_count(text, data):
    tree, count = parse(text), parse("MATCH (a) RETURN count(*)")
    clauses = (*tree.parts[0].clauses[:-1], count.parts[0].clauses[-1])
    tree = replace(tree, parts=(replace(tree.parts[0], clauses=clauses),))
    return run_reference(tree, data, PARAMETERS).rows[0][0]


@given(multigraphs(), query_texts())
def test_executing_a_plan_gives_the_references_rows(graph, case):
    data = make_graph(*graph)
    query = query_of(case.text)
    plan = make_plan(bind(query, data), data.statistics, "gpsm")
    bound_relationships = [s.position for s in plan.steps if s.kind is not StepKind.NODES]
    assert sorted(bound_relationships) == list(range(len(query.graph.relationships)))
    try:
        expected = reference_count(case.text, data)
        found = sum(1 for _ in Follower(plan, data).rows())
    except CypherTypeError:
        assume(False)
    assert found == expected
    assert reference_count(query.graph.to_cypher(), data) == expected
