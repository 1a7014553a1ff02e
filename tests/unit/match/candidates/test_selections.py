"""Masks: predicates over one variable as bitmaps."""

from __future__ import annotations

import numpy as np
import pytest
from asts import binary, bound, comparison, label, lit, name, param, prop, query, unary, var
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from projected import GivenEmbeddings, projected

from gpugda.errors import CypherTypeError, ParameterMissingError
from gpugda.execute.patterns.matching import Verdict, evaluate_constants, with_constants
from gpugda.execute.patterns.needs import need_of
from gpugda.match.candidates.selections import make_masks, mask_query
from gpugda.match.need import Count
from gpugda.plan.plan import LabelOp
from gpugda.query import ast

ASKED = query([("n", var("n"))], relationships=("r",))


def bits(mask, count):
    """The mask as booleans; checks the number of words and the bits past the count."""
    assert mask.dtype == np.uint32
    assert len(mask) == (count + 31) // 32
    flags = np.unpackbits(mask.view(np.uint8), bitorder="little").astype(bool)
    assert not flags[count:].any()
    return flags[:count].tolist()


@given(st.lists(st.sampled_from([None, 1, 2, 3]), max_size=100), st.sampled_from([1, 2]))
def test_bitmaps_are_right_at_every_length(numbers, wanted):
    graph = make_graph([("", {"x": number}) for number in numbers])
    asked = bound(ASKED, predicates={"n": [comparison(prop("n", "x"), ">=", wanted)]})
    mask = make_masks(asked, graph, {}).nodes[0]
    expected = [number is not None and number >= wanted for number in numbers]
    assert bits(mask, len(numbers)) == expected


def test_conjuncts_on_nodes_and_relationships_are_combined():
    graph = make_graph(
        [("", {"x": i, "name": f"name {i}"}) for i in range(40)],
        [(i, "R", i + 1, {"w": i}) for i in range(39)],
    )
    asked = bound(
        ASKED,
        predicates={
            "n": [
                comparison(prop("n", "x"), "<", 35),
                binary(prop("n", "name"), "STARTS WITH", "name 3"),
            ],
            "r": [binary(prop("r", "w"), "IN", param("list"))],
        },
    )
    masks = make_masks(asked, graph, {"list": [0, 5.0, None, "x"]})
    assert np.flatnonzero(bits(masks.nodes[0], 40)).tolist() == [3, 30, 31, 32, 33, 34]
    assert np.flatnonzero(bits(masks.relationships[0], 39)).tolist() == [0, 5]


def test_no_predicates_give_no_masks():
    masks = make_masks(bound(ASKED), make_graph([("", {})]), {})
    assert not masks.nodes
    assert not masks.relationships


def test_only_nodes_of_a_rare_label_are_evaluated():
    graph = make_graph([("Rare" if i in (3, 70) else "Common", {"x": i}) for i in range(100)])
    rare = graph.labels.get("Rare")
    asked = bound(
        ASKED,
        predicates={"n": [comparison(prop("n", "x"), ">", 10)]},
        labels={"n": ((LabelOp.LABEL, rare),)},
    )
    mask = make_masks(asked, graph, {}).nodes[0]
    assert np.flatnonzero(bits(mask, 100)).tolist() == [70]
    other = make_masks(asked, graph, {}, {0: np.array([11, 12], dtype=np.uint32)}).nodes[0]
    assert np.flatnonzero(bits(other, 100)).tolist() == [11, 12]


def test_all_nodes_with_any_of_the_labels_are_evaluated():
    graph = make_graph([("Rare" if i == 3 else "Common", {"x": i}) for i in range(100)])
    rare, common = graph.labels.get("Rare"), graph.labels.get("Common")
    program = ((LabelOp.LABEL, rare), (LabelOp.LABEL, common), (LabelOp.OR, 0))
    predicate = comparison(prop("n", "x"), "<", 5)
    asked = bound(ASKED, predicates={"n": [predicate]}, labels={"n": program})
    mask = make_masks(asked, graph, {}).nodes[0]
    assert np.flatnonzero(bits(mask, 100)).tolist() == [0, 1, 2, 3, 4]


def test_labels_may_be_predicates():
    graph = make_graph([("A", {}), ("A:B", {}), ("", {})], [(0, "R", 1, {}), (0, "S", 1, {})])
    negated = ast.LabelNot(var("n").span, name("B"))
    asked = bound(ASKED, predicates={"n": [label("n", negated)], "r": [label("r", name("S"))]})
    masks = make_masks(asked, graph, {})
    assert bits(masks.nodes[0], 3) == [True, False, True]
    assert bits(masks.relationships[0], 2) == [False, True]


# ------------------------------------------------------------------ type errors
MIXED = [("", {"x": True}), ("", {"x": "text"}), ("", {"x": False}), ("", {"x": "text", "y": 1})]


def test_nodes_with_a_type_error_are_kept_and_tested_again():
    graph = make_graph(MIXED)
    conditions = [prop("n", "x"), comparison(prop("n", "y"), "=", 1)]
    for predicates, kept in ((conditions[:1], [0, 1, 3]), (conditions, [1, 3])):
        asked = bound(ASKED, predicates={"n": predicates})
        masks, rest = mask_query(asked, graph, {})
        # The second node's y is null, so the error wins there; a node without error needs no y.
        expected = [0, 1, 3] if len(predicates) == 1 else [1, 3]
        assert np.flatnonzero(bits(masks.nodes[0], 4)).tolist() == expected == kept
        assert rest.residuals == tuple(predicates)
        with pytest.raises(CypherTypeError, match="as a predicate"):
            make_masks(asked, graph, {})


def test_an_error_counts_only_if_a_row_has_it():
    graph = make_graph(MIXED)
    asked = query([("n", var("n"))])
    _, rest = mask_query(bound(asked, predicates={"n": [prop("n", "x")]}), graph, {})
    table = projected(asked, graph, GivenEmbeddings([[(0,)]]), {}, rest)
    assert table.columns[0].values.tolist() == [0]
    with pytest.raises(CypherTypeError, match="text"):
        projected(asked, graph, GivenEmbeddings([[(1,)]]), {}, rest)


def test_possible_errors_prevent_a_plain_count():
    counting = query([], aggregating=True, aggregates=(ast.CountStar(var("n").span),))
    asked = bound(counting, predicates={"n": [unary("NOT", prop("n", "x"))]})
    assert need_of(counting, asked) == Count()
    assert need_of(counting, mask_query(asked, make_graph(MIXED), {})[1]) != Count()


# ------------------------------------------------------------------ constants
@pytest.mark.parametrize(
    ("constants", "expected"),
    [
        ([], Verdict.TRUE),
        ([lit(True)], Verdict.TRUE),
        ([lit(True), lit(None)], Verdict.NULL),
        ([lit(None), lit(False)], Verdict.FALSE),
        ([param("p")], Verdict.TRUE),
        ([comparison(param("p"), "=", False)], Verdict.FALSE),
        ([param("list")], Verdict.TRUE),
        ([param("float")], Verdict.ERROR),
        ([param("float"), lit(None)], Verdict.ERROR),
        ([param("float"), lit(False)], Verdict.FALSE),
    ],
)
def test_constant_conditions_are_evaluated_once(constants, expected):
    parameters = {"p": True, "list": [1], "float": 1.5}
    assert evaluate_constants(bound(ASKED, constants=constants), parameters) is expected


def test_a_missing_parameter_of_a_constant_condition_is_refused():
    with pytest.raises(ParameterMissingError):
        evaluate_constants(bound(ASKED, constants=[param("p")]), {})


def test_errors_of_constants_are_raised_only_for_rows():
    graph = make_graph([("", {"x": number}) for number in (1, 2, None)])
    predicates = {"n": [comparison(prop("n", "x"), "=", 2)]}
    asked = bound(ASKED, predicates=predicates, constants=[param("p")])
    masks, rest = mask_query(with_constants(asked, Verdict.ERROR), graph, {"p": 1.5})
    assert bits(masks.nodes[0], 3) == [False, True, True]  # an error wins over null
    with pytest.raises(CypherTypeError, match="as a predicate: Double"):
        projected(ASKED, graph, GivenEmbeddings([[(2,)]]), {"p": 1.5}, rest)
