"""Options in a query's prefix, and the kind of Neo4j's error for those that it refuses."""

import pytest

import gpugda
from gpugda.errors import CypherSyntaxError
from gpugda.query.parser import parse

ARGUMENT = "Neo.ClientError.Statement.ArgumentError"

REFUSED = {
    "runtime=nonsense": "interpreted, legacy, parallel, pipelined, slotted",
    "planner=rule": "rule is no value of the option planner: it can be cost, dp, idp",
    "PLANNER=rule": "cost, dp, idp",
    "debug=none": "no value of the option debug",
    "replan=often": "force, skip",
    "nonsense=x": "no such option: nonsense",
    "nonsense=x runtime=slotted other=y": "no such option: nonsense, other",
    "runtime=x nonsense=y": "x is no value of the option runtime",
    "runtime=slotted runtime=interpreted": "two values: slotted and interpreted",
    "runtime=slotted CYPHER runtime=interpreted": "two values",
    "runtime=slotted EXPLAIN CYPHER runtime=interpreted": "two values",
    "planner=cost planner=default": "two values",
    "runtime=slotted operatorEngine=compiled": "exclude each other",
    "expressionEngine=compiled runtime=legacy": "exclude each other",
    "runtime=interpreted interpretedPipesFallback=all": "exclude each other",
    "runtime=parallel parallelRuntimeSupport=disabled": "exclude each other",
    "4": "Cypher 4 is not known",
    "5 CYPHER 25": "two Cypher versions",
}
TAKEN = [
    "",
    "5",
    "runtime=default",
    "RUNTIME=Slotted",
    "planner=dp planner=dp",
    "debug=ast debug=queryGraph",
    "updateStrategy=eager replan=force",
    "runtime=slotted expressionEngine=compiled",
    "runtime=pipelined operatorEngine=compiled",
    "eagerAnalyzer=ir inferSchemaParts=off planVarExpandInto=single_row",
    "statefulShortestPlanningMode=into_only connectComponentsPlanner=greedy",
]


@pytest.mark.parametrize("prefix", REFUSED)
@pytest.mark.parametrize("rest", ["RETURN 1", "RETURN 1 +", "CREATE (n)"])
def test_options_that_neo4j_refuses(prefix, rest):
    with pytest.raises(CypherSyntaxError, match=REFUSED[prefix]) as raised:
        parse(f"CYPHER {prefix} {rest}")
    assert raised.value.code == ARGUMENT


@pytest.mark.parametrize("prefix", TAKEN)
def test_options_that_neo4j_takes(prefix):
    parse(f"CYPHER {prefix} RETURN 1")


@pytest.mark.parametrize("engine", ["gpu", "reference"])
def test_embedded_graphs_refuse_them(engine):
    source = gpugda.graph(relationships=[(0, 1)])
    with gpugda.connect(source) as graph, pytest.raises(CypherSyntaxError, match="runtime"):
        graph.run("CYPHER runtime=nonsense MATCH (n) RETURN count(*)", engine=engine)


@pytest.mark.parametrize(
    ("condition", "kind"),
    [("n.x = 1", "SemanticError"), ("n.x <> 'a'", "SyntaxError"), ("n.y = 'a'", "SyntaxError")],
)
def test_a_text_index_that_serves_no_condition_is_a_semantic_error(condition, kind):
    source = gpugda.graph(nodes={"id": [0], "labels": ["P"], "x": ["a"], "y": ["a"]})
    text = f"MATCH (n:P) USING TEXT INDEX n:P(x) WHERE {condition} RETURN n.x"
    with gpugda.connect(source) as graph, pytest.raises(CypherSyntaxError) as raised:
        graph.run(text, engine="reference")
    assert raised.value.code == f"Neo.ClientError.Statement.{kind}"
