"""Masks that are kept and updated to later snapshots equal a full evaluation."""

import numpy as np
import pytest
from asts import binary, bound, call, comparison, lit, param, prop, query, unary, var
from graphs import make_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from random_database import KINDS, RandomDatabase

from gpugda.data.increments.apply import applied
from gpugda.data.increments.properties import with_own_stores
from gpugda.data.values.columns import column_from_values
from gpugda.data.values.property_store import MaskCache
from gpugda.expressions.parameters import Parameters
from gpugda.match.candidates import selections
from gpugda.match.candidates.mask_keys import mask_key
from gpugda.match.candidates.selections import mask_query

ASKED = query([("n", var("n"))])
NONE = np.empty(0, dtype=np.int64)
PREDICATES = {
    "less": [comparison(prop("n", "number"), "<", 2.5)],
    "text": [comparison(prop("n", "text"), ">=", "text 2")],
    "part": [binary(prop("n", "text"), "CONTAINS", "1")],
    "two": [comparison(prop("n", "number"), ">", 1), comparison(prop("n", "mixed"), "=", "a")],
    "beside": [comparison(prop("n", "number"), "=", prop("n", "mixed"))],
    "null": [unary("IS NULL", prop("n", "list"))],
    "either": [
        binary(
            comparison(prop("n", "mixed"), "=", 1), "OR", unary("IS NOT NULL", prop("n", "text"))
        )
    ],
    "among": [binary(prop("n", "mixed"), "IN", param("some"))],
    # Errors in some snapshots or in all.
    "sum": [comparison(binary(prop("n", "mixed"), "+", 1), ">", 2)],
    "flag": [prop("n", "mixed")],
    "in": [binary(1, "IN", prop("n", "list"))],
}


def masked(predicates, graph, parameters=None):
    asked = bound(ASKED, predicates={"n": predicates})
    masks, rest = mask_query(asked, graph, {"some": [1, "a", None]} | (parameters or {}))
    return masks.nodes[0].tolist(), rest.residuals


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["all", "properties", "nodes"]),
            st.lists(st.sampled_from(sorted(PREDICATES)), max_size=4),
        ),
        min_size=2,
        max_size=8,
    )
)
def test_updated_masks_equal_those_of_evaluating_all(seed, steps):
    database = RandomDatabase(seed, 70)
    server, draw = database.server, database.draw
    graph, version = database.graph(), server.version_of()
    for what, names in steps:
        nodes = server.state.nodes
        if what == "all":
            database.transact(3)
        elif what == "properties":
            some = draw.sample(sorted(nodes), 5)
            server.commit(nodes={n: (nodes[n][0], database.properties()) for n in some})
        else:
            server.commit(nodes={max(nodes) + 1 + n: database.node() for n in range(40)})
        for name in names:  # of the previous snapshot, so that the next one can reuse it
            masked(PREDICATES[name], graph)
        changes = database.changes.changes_since(version)
        graph, version = applied(graph, changes), changes.version
        for name in [*names, *names[:1]]:
            assert masked(PREDICATES[name], graph) == masked(
                PREDICATES[name], with_own_stores(graph)
            ), name


def test_only_changed_nodes_are_evaluated(monkeypatch):
    database = RandomDatabase(1, 100)
    graph, version = database.graph(), database.server.version_of()
    nodes = database.server.state.nodes
    before = masked(PREDICATES["less"], graph)
    one, other = sorted(nodes)[3:5]
    database.server.commit(
        nodes={
            one: (nodes[one][0], {"number": 2}),
            other: (nodes[other][0], {**nodes[other][1], "text": "new"}),
            max(nodes) + 1: ([], {"number": 1}),
        }
    )
    changes = database.changes.changes_since(version)
    graph = applied(graph, changes)
    seen, really = [], selections.evaluate_truth

    def watched(conditions, environment):
        seen.append(environment.row_count)
        return really(conditions, environment)

    monkeypatch.setattr(selections, "evaluate_truth", watched)
    after = masked(PREDICATES["less"], graph)
    assert masked(PREDICATES["less"], graph) == after != before
    assert seen == [2]  # the changed and the new one, once
    assert after == masked(PREDICATES["less"], with_own_stores(graph))


@pytest.mark.parametrize("values", [[1, 1.0, True, "1", None, 0.0, -0.0, float("nan")]])
def test_equal_values_of_other_types_have_other_keys(values):
    known = {}
    for value in values:
        for inside in (value, [value]):
            forms = (
                [comparison(prop("n", "x"), "=", lit(value))],
                [binary(prop("n", "x"), "IN", param("p"))],
            )
            for number, form in enumerate(forms):
                key = mask_key(form, "n", Parameters({"p": inside}, ""))
                known.setdefault((number, repr(inside) if number else repr(value)), set()).add(key)
    keys = [each for some in known.values() for each in some]
    assert all(len(some) == 1 for some in known.values())
    assert len(set(keys)) == len(keys) == 3 * len(values)
    graph = make_graph([("", {"x": value}) for value in (1, 2.0, True, "1", None)])
    for value in values:
        for given_value in (value, [value]):
            asked = [binary(prop("n", "x"), "IN", param("p"))]
            found = masked(asked, graph, {"p": given_value})
            assert found == masked(asked, with_own_stores(graph), {"p": given_value})


@pytest.mark.parametrize(
    "predicate",
    [
        comparison(call("rand"), "<", 0.5),
        comparison(call("id", var("n")), "<", 3),
        comparison(prop("m", "x"), "=", 1),
        comparison(prop(prop("n", "day"), "year"), "=", 2000),
        comparison(prop("n", "x"), "=", param("map")),
        binary(lit(True), "OR", comparison(call("rand"), "<", 0.5)),
    ],
)
def test_predicates_with_other_inputs_have_no_key(predicate):
    assert mask_key([predicate], "n", Parameters({"map": {"a": 1}}, "")) is None


def test_a_literal_and_a_parameter_have_different_masks():
    """Neo4j orders some texts in two ways, depending on their source."""
    literal, parameter = (
        mask_key([comparison(prop("n", "s"), "<", value)], "n", Parameters({"p": "x"}, ""))
        for value in (lit("x"), param("p"))
    )
    assert literal is not None
    assert literal != parameter


def test_a_mask_of_unreported_properties_is_dropped():
    masks, bits = MaskCache(), np.array([5], dtype=np.uint32)
    masks.put("x", bits, frozenset("x"))
    masks.put("xy", bits, frozenset("xy"))
    found = masks.followed({"x": np.array([2])}, NONE, {"x"})
    assert found.get("x").stale.tolist() == [2]
    assert found.get("xy") is None
    both = masks.followed({"x": np.array([2])}, np.array([32]), None)
    assert both.get("xy").stale.tolist() == [2, 32]
    assert not len(masks.get("x").stale)


def test_the_most_recently_used_masks_are_kept():
    masks, bits = MaskCache(), np.array([5], dtype=np.uint32)
    for number in range(8):
        masks.put(number, bits, frozenset("x"))
    assert masks.get(0) is not None
    masks.put(8, bits, frozenset("x"))
    assert [masks.get(number) is not None for number in range(9)] == [True, False, *[True] * 7]


def test_masks_consider_columns_read_later():
    database = RandomDatabase(2, 60)
    graph, version = database.graph(), database.server.version_of()
    masked(PREDICATES["less"], graph)
    node = min(database.server.state.nodes)
    database.server.commit(nodes={node: ([], {"number": 3})})
    changes = database.changes.changes_since(version)
    untold = changes.node_properties["number"]
    changes.node_properties["number"] = type(untold)(untold.ids, None)
    graph = applied(graph, changes)
    count = graph.node_count
    graph.add_properties({"number": column_from_values([2] * count)}, list(KINDS), of_nodes=True)
    assert masked(PREDICATES["less"], graph) == masked(PREDICATES["less"], with_own_stores(graph))
