"""The operator tree as text, as plain values, and drawn."""

import json

import gpugda
from gpugda.plan.operator_tree import OperatorNode

TREE = OperatorNode(
    "project <b>",
    None,
    2,
    0.001,
    (),
    (OperatorNode("MATCH (a)", 12.4, 1, 0.0032, ("nodes (a): 1 row",), device_bytes=2048),),
)


def test_the_tree_is_written_as_text():
    assert str(TREE) == "\n".join(
        [
            "project <b>               2 rows  1.0 ms",
            "  MATCH (a)  expected 12   1 row  3.2 ms  2.0 KiB",
            "      nodes (a): 1 row",
        ]
    )


def test_the_tree_is_written_as_plain_values():
    plain = json.loads(json.dumps(TREE.as_dict()))
    assert plain["children"][0]["rows"] == 1
    assert plain["children"][0]["device_bytes"] == 2048
    assert plain["device_bytes"] is None
    assert plain["children"][0]["steps"] == ["nodes (a): 1 row"]


def test_markup_in_a_query_is_escaped():
    drawn = TREE._repr_html_()
    assert "&lt;b&gt;" in drawn
    assert "<b>" not in drawn
    assert "<th>device</th>" in drawn
    assert "<td>2.0 KiB</td>" in drawn
    assert drawn.count("<tr>") == 3


def test_operators_that_did_not_run_have_no_figures():
    assert str(OperatorNode("one row")) == "one row"


def test_explain_shows_the_tree_that_runs():
    nodes = {"id": [1, 2, 3]}
    relationships = {"source": [1, 2], "target": [2, 3], "type": ["R", "R"]}
    query = "MATCH (a) WITH a LIMIT 2 MATCH (a)-->(b)-->(c) RETURN count(*) AS c"
    with gpugda.connect(gpugda.graph(nodes=nodes, relationships=relationships)) as graph:
        ran = [node for _, node in graph.profile(query).lines()]
        assert [node.what for node in ran] == [
            "project count(*) AS c",
            "aggregate count(*)",
            "MATCH (a)-->(b)-->(c) given a",
            "project a",
            "limit 2",
            "MATCH (a)",
        ]
        assert [node.rows for node in ran[1:5]] == [1, 1, 2, 2]
        assert all(node.seconds is not None for node in ran)
        explained = str(graph.explain(query)).splitlines()[1:]
        for node, line in zip(ran, explained, strict=False):
            assert line.strip().startswith(node.what)
        plain = graph.profile("MATCH (a)-->(b) RETURN a.id")
        (match,) = plain.children
        assert (plain.what, plain.rows, plain.expected) == ("project a.id", 2, 2)
        assert (match.what, match.rows, match.expected) == ("MATCH (a)-->(b)", 2, 2)
        assert match.steps
        summary = graph.run("MATCH (a)-->(b) RETURN a.id").summary
        again = graph.profile("MATCH (a)-->(b) RETURN a.id").children[0]
        assert summary.device_bytes == again.device_bytes > 0
