"""Updated candidates of earlier snapshots: none of a row is missing, and each matches by itself."""

import numpy as np
import pytest
from forced_plans import thresholds
from random_database import RandomDatabase

from gpugda.data.increments.apply import applied
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.graph.node_bitmaps import degrees_of
from gpugda.execute.pipeline import plan_of
from gpugda.match.candidates.encode import needed_degrees
from gpugda.match.candidates.selections import mask_query
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend import earlier_candidates
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.query.parser import tree_of
from gpugda.query.prepare import prepare
from gpugda.reference.run import run_reference

pytestmark = pytest.mark.device

PATTERNS = (
    "(a:A)-[:R]->(b) WHERE a.number < 2",
    "(a:!A)-[:R]->(b:!B)-[:S]->(c) WHERE a.number < 3",
    "(a)-[:R|S]->(b:!A)<--(c) WHERE a.text STARTS WITH 'text 1' AND c.number > 0",
    "(a:A)--(b:B)-[:S]-(c) WHERE c.number = 2",
    "(a)-[:R]->(b)-[:R]->(c), (a)-[:S]->(c) WHERE b.number = 1",
    "(a:A)-[:R]->(b), (c:B|C)-[:S]->(d) WHERE a.number < 3",
    "(a:A&B) WHERE a.number > 1",
    "(a)-[:R]->(b), (a)-[:R]->(c), (a)-[:R]->(d) WHERE a.number < 3",
)


def states(database, count, size):
    """Snapshots that follow each other, each derived from the previous one."""
    server, version = database.server, database.server.version_of()
    graph = database.graph()
    yield graph
    for number in range(count):
        for _ in range(size):
            transact(database, number)
        changes = database.changes.changes_since(version)
        graph, version = applied(graph, changes), server.version_of()
        yield graph


def transact(database, number):
    """A small transaction after which all old nodes keep their numbers."""
    draw, server = database.draw, database.server
    state, free = server.state, max(server.state.relationships) + 1
    nodes, some = list(state.nodes), draw.sample(list(state.relationships), 2)
    what = draw.randrange(4)
    if what == 0:
        made = max(nodes) + 3
        row = database.relationship([*nodes, made])
        server.commit(nodes={made: database.node()}, relationships={free: (made, *row[1:])})
    elif what == 1:
        server.commit(nodes={draw.choice(nodes): database.node()})
    elif what == 2:
        server.commit(without=some)
    else:
        server.commit(relationships={free + n: database.relationship(nodes) for n in range(2)})


_IN_ROWS = {}


def in_rows(pattern, graph, names, state):
    """The data nodes of each query node in any row; cached, because both devices need them."""
    if (pattern, state) not in _IN_ROWS:
        found = run_reference(tree_of(f"MATCH {pattern} RETURN {', '.join(names)}"), graph, {})
        _IN_ROWS[pattern, state] = [
            {row[place].index for row in found.rows} for place in range(len(names))
        ]
    return _IN_ROWS[pattern, state]


def nodes_of(bits):
    flags = np.unpackbits(bits.view(np.uint8), bitorder="little")
    return set(np.flatnonzero(flags).tolist())


def check(known, bound, masks, copy, expected):
    graph = copy.graph
    allowed = earlier_candidates.allowed_nodes(bound, masks, copy)
    for node in bound.nodes:
        found = nodes_of(known.bits[node.position])
        assert found <= nodes_of(allowed[node.position])
        assert found <= set(range(graph.node_count))
        assert found >= expected[node.position]
        some = np.array(sorted(found), dtype=np.int64)
        for degree in needed_degrees(node):
            assert (degrees_of(graph, degree, some) >= degree.at_least).all()


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("explores", "size"), [(False, 2), (True, 1), (True, 4)])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_updated_candidates_are_complete_and_fit(context, pattern, explores, size):
    decides = thresholds(context, candidates={"explores": explores})
    query = prepare(f"MATCH {pattern} RETURN count(*)")
    copy = known = None
    changed = 0
    for number, graph in enumerate(states(RandomDatabase(size, 80), 8, size)):
        following = DeviceGraph(context, graph, like=copy)
        if copy is not None:
            copy.close()
        copy, bound = following, plan_of(query, graph, "extend").pattern.bound
        masks, _ = mask_query(bound, graph, {})
        if known is not None:
            allowed = earlier_candidates.allowed_nodes(bound, masks, copy)
            known = earlier_candidates.update_candidates(known, bound, graph, allowed)
            changed += known is not None
        if known is None:
            known = looked_for(query, graph, copy, decides)
        names = [node.name for node in bound.nodes]
        expected = in_rows(pattern, graph, names, (size, number))
        if known is not None:
            assert known.explored == (explores and bool(bound.relationships))
            check(known, bound, masks, copy, expected)
        else:
            assert not all(expected)  # a query node has no candidate
    copy.close()
    assert changed > 2  # otherwise nothing was tested


def looked_for(query, graph, copy, decides):
    """The candidates that a full search finds for the next snapshot."""
    strategy = ExtendStrategy(copy, thresholds=decides)
    other = ExtendStrategy(copy, thresholds=decides)
    strategy.reuse_decisions(other.decisions_for(graph))
    plan_of(query, graph, "extend").pipeline.run(graph, strategy, {}, StrategyReport(), None)
    found = [each.on_host for each in strategy._kept.all()]
    strategy.drop_second_graph()
    return found[0] if found else None


def test_candidates_are_filtered_again_after_many_changes(context, monkeypatch):
    database = RandomDatabase(3, 60)
    graphs = list(states(database, 1, 4))
    query = prepare(f"MATCH {PATTERNS[1]} RETURN count(*)")
    decides = thresholds(context, candidates={"explores": True})
    with_first = DeviceGraph(context, graphs[0])
    known = looked_for(query, graphs[0], with_first, decides)
    copy = DeviceGraph(context, graphs[1], like=with_first)
    bound = plan_of(query, graphs[1], "extend").pattern.bound
    masks, _ = mask_query(bound, graphs[1], {})
    allowed = earlier_candidates.allowed_nodes(bound, masks, copy)
    arguments = known, bound, graphs[1], allowed
    assert earlier_candidates.update_candidates(*arguments) is not None
    for limit in ("_MAX_TOUCHED", "_MAX_ENTRIES"):
        with monkeypatch.context() as patch:
            patch.setattr(earlier_candidates, limit, 0)
            assert earlier_candidates.update_candidates(*arguments) is None
    for each in (with_first, copy):
        each.close()


@pytest.mark.parametrize(
    ("pattern", "may"),
    [
        ("(a)-[:R]->(b)", True),
        ("(a)-[:R]->(a)", False),
        ("(a)-[r:R]->(b) WHERE r.number = 1", False),
    ],
)
def test_only_suitable_queries_update_their_candidates(pattern, may):
    graph = RandomDatabase(1, 20).graph()
    bound = plan_of(prepare(f"MATCH {pattern} RETURN count(*)"), graph, "extend").pattern.bound
    masks, _ = mask_query(bound, graph, {})
    assert earlier_candidates.can_update(bound, masks) == may
