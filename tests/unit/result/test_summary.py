from __future__ import annotations

from types import SimpleNamespace

import neo4j
import pytest

from gpugda.plan.operator_tree import OperatorNode
from gpugda.result.summary import STAGES, Summary, format_seconds


def test_parameters_are_kept_but_not_shown():
    summary = Summary("gpu", parameters={"password": "hunter2"})
    assert summary.parameters == {"password": "hunter2"}
    assert "hunter2" not in repr(summary)
    assert "hunter2" not in str(summary)
    assert "password" in str(summary)


def test_the_text_shows_all_figures():
    summary = Summary(
        "gpu",
        "the device was asked for",
        strategy="gpsm",
        timings={"total": 1.5, "join": 0.002, "parse": 0.0001},
        device="A device",
        snapshot="sample:wordnet",
        rows=1234,
        warnings=("a cross product",),
        steps=("extend to 10 rows",),
    )
    text = str(summary)
    assert text.splitlines()[0] == "1,234 rows in 1.5 s, engine gpu on A device"
    assert "parse 100 µs, join 2 ms, total 1.5 s" in text
    for part in ("the device was asked for", "gpsm", "sample:wordnet", "cross product", "10 rows"):
        assert part in text
    assert summary.notifications is None  # these are Neo4j's, which sends none here


def test_times_sum_to_the_total():
    summary = Summary("gpu", timings={"total": 1.0})
    summary.add_time("materialise", 0.25)
    summary.add_time("materialise", 0.25)
    assert summary.timings == {"total": 1.5, "materialise": 0.5}
    assert {"total", "materialise"} <= set(STAGES)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 µs"), (2e-5, "20 µs"), (0.0123, "12.3 ms"), (1.234, "1.23 s"), (2000, "2,000 s")],
)
def test_seconds_are_formatted_with_a_unit(seconds, text):
    assert format_seconds(seconds) == text


@pytest.mark.filterwarnings("ignore:GQLSTATUS support is a preview feature")  # of driver 5
def test_a_summary_of_the_device_has_the_drivers_attributes():
    times = {"total": 0.5, "materialise": 0.1}
    summary = Summary("gpu", query="MATCH", timings=times, rows=1, database="neo4j")
    assert not summary.counters.contains_updates
    assert summary.counters.nodes_created == 0
    assert (summary.query_type, summary.plan, summary.profile) == ("r", None, None)
    assert (summary.result_available_after, summary.result_consumed_after) == (400, 100)
    assert (summary.database, summary.server, summary.native) == ("neo4j", None, None)
    assert summary.notifications is None
    assert [each.gql_status for each in summary.gql_status_objects] == ["00000"]


def native_summary():
    remark = {
        "code": "Neo.X",
        "title": "A title",
        "description": "A cross product",
        "severity": "W",
    }
    return neo4j.ResultSummary(
        None,
        True,
        True,
        {
            "server": SimpleNamespace(protocol_version=(5, 0)),
            "type": "rw",
            "stats": {"nodes-created": 1200, "contains-updates": True},
            "notifications": [remark],
            "profile": {"rows": 1},
            "t_first": 3,
            "parameters": {"password": "hunter2"},
        },
    )


def test_a_summary_of_the_database_contains_the_drivers():
    summary = Summary("native", "it writes", declined="it writes", native=native_summary())
    assert summary.counters.nodes_created == 1200
    assert summary.query_type == "rw"
    assert summary.profile == {"rows": 1}
    assert summary.result_available_after == 3
    assert summary.notifications[0]["code"] == "Neo.X"
    text = str(summary)
    assert "changes:    Added 1,200 nodes" in text
    assert "warning:    A cross product" in text
    assert "declined" not in text, "the reason says it already"
    assert "hunter2" not in text + repr(summary)


def test_the_text_shows_the_routing_decision():
    text = str(
        Summary(
            "native",
            "engine='native' was asked for",
            declined="the snapshot is stale",
            freshness="strict: transaction 7 is the newest",
            estimates={"native": 0.04, "gpu": 0.001},
        )
    )
    assert "declined:   the snapshot is stale" in text
    assert "freshness:  strict: transaction 7 is the newest" in text
    assert "expected:   gpu 1 ms, native 40 ms" in text


SERVER = SimpleNamespace(protocol_version=(5, 0))


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({"nodes-created": 1, "properties-set": 1}, "Added 1 node, Set 1 property"),
        (
            {"labels-added": 2, "relationships-deleted": 3},
            "Deleted 3 relationships, Added 2 labels",
        ),
        ({}, ""),
    ],
)
def test_changes_are_said_as_cypher_shell_says_them(counts, text):
    stats = {**counts, "contains-updates": bool(counts)}
    native = neo4j.ResultSummary(None, True, True, {"server": SERVER, "stats": stats})
    assert Summary("native", native=native).changes() == text
    assert Summary("gpu").changes() == ""


def test_neo4js_plan_is_shown_as_an_operator_tree():
    args = {"Details": "a:Person", "EstimatedRows": 10.0, "Rows": 8, "Time": 2_500_000}
    scan = {"operatorType": "NodeByLabelScan@neo4j", "args": args, "children": []}
    root = {"operatorType": "ProduceResults@neo4j", "args": {"Details": "a"}, "children": [scan]}
    for name, expected in (
        ("plan", "ProduceResults a\n  NodeByLabelScan a:Person  expected 10"),
        ("profile", "  NodeByLabelScan a:Person  expected 10  8 rows  2.5 ms"),
    ):
        native = neo4j.ResultSummary(None, True, True, {"server": SERVER, name: root})
        assert expected in str(Summary("native", native=native).asked_plan)
    assert Summary("native", native=native_summary()).asked_plan is not None
    assert Summary("gpu").asked_plan is None


def test_a_notebook_shows_a_small_table_with_the_operators():
    tree = OperatorNode("project a", 2.0, 3, 0.001)
    html = Summary("gpu", "a < b", parameters={"p": 1}, tree=lambda: tree)._repr_html_()
    assert "a &lt; b" in html
    assert "project a" in html
    assert "strategy" not in html
