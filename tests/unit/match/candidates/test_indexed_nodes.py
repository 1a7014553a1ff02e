"""Comparisons evaluated through an index select the same nodes as a full scan."""

import pytest
from asts import bound, comparison, param, prop, query, var
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data.increments.properties import with_own_stores
from gpugda.errors import ParameterMissingError
from gpugda.match.candidates import indexed_nodes
from gpugda.match.candidates import selections as masks
from gpugda.match.candidates.selections import make_masks, mask_query

ASKED = query([("n", var("n"))])
VALUES = {
    "integers": st.none() | st.integers(-3, 3) | st.sampled_from([2**53, 2**53 + 1, -(2**63)]),
    "floats": st.none() | st.floats() | st.sampled_from([1.0, 2.0]),
    "texts": st.none() | st.sampled_from(["", "a", "b", "ab"]),
    "mixed": st.none() | st.integers(0, 2) | st.sampled_from(["a", True]),
}
ANY = st.one_of(*VALUES.values(), st.booleans(), st.just([1]))
OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


@pytest.fixture(autouse=True)
def always(monkeypatch):
    monkeypatch.setattr("gpugda.match.candidates.indexed_nodes._SCANS", 0)
    monkeypatch.setattr("gpugda.match.candidates.indexed_nodes._MIN_ROWS", 0)
    monkeypatch.setattr(indexed_nodes, "_FEW", 1)


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_masks_with_an_index_equal_those_without(kind, data):
    values = data.draw(st.lists(VALUES[kind], max_size=40))
    graph = make_graph([("A", {"x": value}) for value in values])
    conjuncts, parameters = [], {}
    for number in range(data.draw(st.integers(1, 3))):
        parameters[f"p{number}"] = data.draw(ANY)
        sides = [prop("n", "x"), param(f"p{number}")]
        left, right = sides if data.draw(st.booleans()) else sides[::-1]
        conjuncts.append(comparison(left, data.draw(OPERATORS), right))
    asked = bound(ASKED, predicates={"n": conjuncts})
    with pytest.MonkeyPatch.context() as patch:
        few = data.draw(st.sampled_from([1, 256]))
        patch.setattr(masks, "_FEW_BITS", few)
        by_index = make_masks(asked, graph, parameters).nodes[0]
        patch.setattr(masks, "indexed_nodes", lambda *_: None)
        by_all = make_masks(asked, with_own_stores(graph), parameters).nodes[0]
    assert by_index.tolist() == by_all.tolist()


def test_an_index_is_used_if_there_is_one(monkeypatch):
    graph = make_graph([("", {"x": at}) for at in range(100)])
    seen = []
    really = masks.evaluate_truth

    def watched(conditions, environment):
        seen.append(environment.row_count)
        return really(conditions, environment)

    monkeypatch.setattr(masks, "evaluate_truth", watched)
    asked = bound(ASKED, predicates={"n": [comparison(3, "<", prop("n", "x"), "<=", param("p"))]})
    mask = make_masks(asked, graph, {"p": 5.5}).nodes[0]
    assert mask.tolist() == [0b110000, 0, 0, 0]
    assert seen[-1] < 10


def test_possible_errors_are_not_skipped(monkeypatch):
    """The first node has no x: no index holds it, and the other conjunct raises an error for it."""
    graph = make_graph([("", {"y": "text"}), ("", {"x": 2, "y": True})])
    conjuncts = [prop("n", "y"), comparison(prop("n", "x"), "=", 2)]
    asked = bound(ASKED, predicates={"n": conjuncts})
    found, rest = mask_query(asked, graph, {})
    monkeypatch.setattr(masks, "indexed_nodes", lambda *_: None)
    without, rest_without = mask_query(asked, with_own_stores(graph), {})
    assert found.nodes[0].tolist() == without.nodes[0].tolist()
    assert rest.residuals == rest_without.residuals == tuple(conjuncts)


def test_a_missing_parameter_is_refused():
    graph = make_graph([("", {"x": 1})])
    asked = bound(ASKED, predicates={"n": [comparison(prop("n", "x"), "=", param("p"))]})
    with pytest.raises(ParameterMissingError):
        make_masks(asked, graph, {})
