"""Comparisons of two variables that the join tests, against the reference."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from neo4j.time import Date, DateTime, Duration

from gpugda.data.values.columns import column_from_values
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import MemoryLimitError
from gpugda.execute.pipeline import plan_of
from gpugda.match.candidates.keys import GROUP_BITS, make_keys
from gpugda.match.candidates.push_comparisons import push_comparisons
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.plan.bind import bind
from gpugda.plan.comparisons import ABOVE, BELOW, SAME, Comparison, never_same, with_implied
from gpugda.plan.join.join_order import node_order
from gpugda.plan.variables import Variable
from gpugda.query.ast import ComparisonOperator
from gpugda.query.parser import parse
from gpugda.query.prepare import prepare
from gpugda.reference.run import run_reference
from gpugda.values import equals, less, not_
from tests.one_pattern import query_of

needs_device = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

SIGNS = ("=", "<>", "<", "<=", ">", ">=")
LARGE = (2**53, 2**53 + 1, -(2**63), 2**63 - 1)
VALUES = {
    "integers": [0, 1, 2, -1],
    "large integers": [0, 1, *LARGE],
    "floats": [0.0, -0.0, 1.0, 1.5, math.nan, math.inf, -math.inf, float(2**53)],
    "numbers": [0, -0.0, 0.0, 1, 1.0, 2.5, math.nan, *LARGE, float(2**53)],
    "texts": ["", "a", "ab", "B", "Äb", "\ud7fb", "\U0001f600"],
    "truths": [True, False],
    "moments": [Date(2020, 1, 1), Date(2021, 1, 1), DateTime(2020, 1, 1), DateTime(2021, 5, 5)],
    "mixed": [0, 1, 1.0, math.nan, "1", "a", True, False, Date(2020, 1, 1)],
    "lists": [[], [1], [1, 2], [1.0], 1, "a"],
}


# ------------------------------------------------------------------ keys
def truth(sign, a, b):
    operands = (b, a) if sign in (">", ">=") else (a, b)
    if sign == "=":
        return equals(a, b)
    if sign == "<>":
        return not_(equals(a, b))
    return less(*operands, or_equal=sign.endswith("="))


def by_keys(sign, keys, row, other):
    """The result that kernels and masks compute from keys."""
    for fits, at in ((keys.left_fits, row), (keys.right_fits, other)):
        if fits is not None and not fits[at]:
            return False
    a, b = int(keys.left[row]), int(keys.right[other])
    if keys.grouped and a >> GROUP_BITS != b >> GROUP_BITS:
        return False
    return {"=": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[sign]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("other", VALUES)
@pytest.mark.parametrize("name", VALUES)
def test_keys_compare_as_their_values(name, other, sign):
    left, right = [None, *VALUES[name]], [*VALUES[other], None]
    keys = make_keys(column_from_values(left), column_from_values(right), ComparisonOperator(sign))
    if "lists" in (name, other):
        assert keys is None
        return
    assert keys is not None
    for (row, a), (at, b) in product(enumerate(left), enumerate(right)):
        assert by_keys(sign, keys, row, at) == (truth(sign, a, b) is True), (a, b)


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("name", [name for name in VALUES if name != "lists"])
def test_a_column_compared_with_itself_has_one_key_array(name, sign):
    values = [*VALUES[name], None]
    column = column_from_values(values)
    keys = make_keys(column, column, ComparisonOperator(sign))
    for (row, a), (at, b) in product(enumerate(values), repeat=2):
        assert by_keys(sign, keys, row, at) == (truth(sign, a, b) is True), (a, b)
    # NaN differs from itself, so the two sides need different keys then.
    assert (keys.left is keys.right) == (
        sign != "<>" or not any(isinstance(each, float) and math.isnan(each) for each in values)
    )


@pytest.mark.parametrize("sign", SIGNS)
def test_comparisons_with_columns_of_nulls_are_never_true(sign):
    nulls, numbers = column_from_values([None, None]), column_from_values([1, 2.5])
    for left, right in ((nulls, numbers), (numbers, nulls), (nulls, nulls)):
        keys = make_keys(left, right, ComparisonOperator(sign))
        assert not any(by_keys(sign, keys, *pair) for pair in product(range(2), repeat=2))


def test_points_and_durations_have_no_keys():
    durations = column_from_values([Duration(days=1), Duration(days=2)])
    assert make_keys(durations, durations, ComparisonOperator.LESS) is None


# ------------------------------------------------------------------ implied comparisons
A, B, C, D = (Variable(True, position) for position in range(4))


def order(left, right, outcomes=BELOW, keys=None):
    return Comparison(left, right, outcomes, keys, keys, 0.5, "asked")


def pairs_of(found):
    return {(each.left, each.right, each.outcomes) for each in found if not each.text}


def test_implied_comparisons_are_tested_if_the_middle_node_is_last():
    chain = [order(A, B), order(C, B, ABOVE | SAME)]
    assert pairs_of(with_implied(chain, {A: 0, C: 1, B: 2})) == {(A, C, BELOW)}
    (*_, redundant) = with_implied(chain, {A: 0, B: 1, C: 2})
    assert redundant.is_redundant
    assert pairs_of([redundant]) == {(A, C, BELOW)}
    of_keys = [order(A, B, keys=0), order(B, C, keys=0)]
    assert pairs_of(with_implied(of_keys, {A: 0, C: 1, B: 2})) == {(A, C, BELOW)}
    assert pairs_of(with_implied(of_keys, {A: 0, B: 1, C: 2})) == set()
    both = [order(A, B, BELOW | SAME), order(B, C, BELOW | SAME)]
    assert pairs_of(with_implied(both, {A: 0, C: 1, B: 2})) == {(A, C, BELOW | SAME)}


def test_comparisons_of_different_keys_imply_nothing():
    assert (
        pairs_of(with_implied([order(A, B, keys=0), order(B, C, keys=1)], {A: 0, C: 1, B: 2}))
        == set()
    )
    mixed = Comparison(A, B, BELOW, 0, 1, 0.5, "asked")
    assert pairs_of(with_implied([mixed, order(B, C, keys=1)], {A: 0, C: 1, B: 2})) == set()
    assert set(never_same([mixed])) == set()


def test_comparisons_prove_nodes_distinct():
    chain = [order(A, B), order(B, C, BELOW | SAME), order(C, D, SAME)]
    found = {frozenset(each) for each in never_same(chain)}
    assert found == {frozenset((0, 1)), frozenset((0, 2))}
    assert set(never_same([order(A, B, BELOW | ABOVE, keys=3)])) == {frozenset((0, 1))}


# ------------------------------------------------------------------ whole queries
def bound_of(text, graph):
    return bind(query_of(text), graph)


def rows_on(strategy, text, graph, parameters=None):
    plan = plan_of(prepare(text), graph, "extend")
    table = plan.pipeline.run(graph, strategy, parameters or {}, report := StrategyReport())
    rows = list(zip(*(column.values.tolist() for column in table.columns), strict=True))
    return sorted(rows), report


def rows_of_reference(text, graph, parameters=None):
    found = run_reference(parse(text), graph, parameters or {})
    return sorted(tuple(getattr(value, "index", value) for value in row) for row in found.rows)


def is_pushed(text, graph, parameters=None):
    masks, rest = push_comparisons(bound_of(text, graph), graph, parameters or {}, Masks({}, {}))
    return bool(masks.comparisons) and not rest.residuals


VALUE_SETS = [each for name, each in VALUES.items() if name != "moments"]
PATTERNS = {
    "(a)-[r]->(b)": ("ab", "r"),
    "(a)-[r]-(b)": ("ab", "r"),
    "(a)-[r:R]->(b)-[s:R]->(c)": ("abc", "rs"),
    "(a)-[r]-(b)-[s]-(c)": ("abc", "rs"),
    "(a)-[r]->(b)-[s]->(c), (a)-[t]->(c)": ("abc", "rst"),
    "(a)-[r:R]->(b)-[s:R]->(c), (a)-[t:R]->(c)": ("abc", "rst"),
    "(a)-[r]-(b)-[s]-(c)-[t]-(a)": ("abc", "rst"),
    "(a)-[r:R]->(b)<-[s:R]-(c), (b)-[t:R]->(d)": ("abcd", "rst"),
    "(a)-[r:R]->(b), (c)": ("abc", "r"),
    "(a)-[r:R]->(a), (b)-[s:R]->(c)": ("abc", "rs"),
    "(a), (b)": ("ab", ""),
    "(a:A)-[r]->(b:B), (a)-[s]->(c)": ("abc", "rs"),
}


@st.composite
def cases(draw):
    """A multigraph, and queries on it with up to three comparisons."""
    values = st.sampled_from(draw(st.sampled_from(VALUE_SETS)))
    others = st.sampled_from(draw(st.sampled_from(VALUE_SETS)))
    properties = st.fixed_dictionaries({}, optional={"x": values, "y": others})
    labels = st.sampled_from(["", "A", "B", "A:B"])
    nodes = draw(st.lists(st.tuples(labels, properties), min_size=1, max_size=6))
    node = st.integers(0, len(nodes) - 1)
    types = st.sampled_from(draw(st.sampled_from(["R", "RS"])))
    relationships = draw(st.lists(st.tuples(node, types, node, properties), max_size=12))
    texts = [draw(queries()) for _ in range(4)]
    return make_graph(nodes, relationships), texts


@st.composite
def queries(draw):
    pattern = draw(st.sampled_from(sorted(PATTERNS)))
    nodes, relationships = PATTERNS[pattern]
    conditions = draw(st.lists(conditions_on(nodes, relationships), min_size=1, max_size=3))
    wanted = "count(*)"
    if draw(st.booleans()):
        wanted = ", ".join([*nodes, *relationships])
    return f"MATCH {pattern} WHERE {' AND '.join(conditions)} RETURN {wanted}"


@st.composite
def conditions_on(draw, nodes, relationships):
    names = st.sampled_from([*nodes, *nodes, *relationships])
    sign = draw(st.sampled_from(SIGNS))
    how = draw(st.sampled_from(["id", "id", "x", "x", "other", "not", "sum"]))
    if how == "id":
        left, right = (draw(st.sampled_from(nodes)) for _ in range(2))
        return f"id({left}) {sign} id({right})"
    left, right = draw(names), draw(names)
    if how == "sum":
        return f"id({left}) {sign} {right}.x"
    if how == "not":
        return f"NOT {left}.x {sign} {right}.x"
    return f"{left}.x {sign} {right}.{'x' if how == 'x' else 'y'}"


class TestOnTheDevice:
    pytestmark = needs_device

    @given(case=cases())
    def test_random_comparisons_equal_the_reference(self, context, case):
        graph, texts = case
        strategy = ExtendStrategy(DeviceGraph(context, graph))
        for text in texts:
            assert rows_on(strategy, text, graph)[0] == rows_of_reference(text, graph), text

    @pytest.mark.slow
    @pytest.mark.parametrize("condition", ["id(a) < id(b) < id(c)", "a.x < b.x AND b.x < c.x"])
    @pytest.mark.parametrize("kind", ["-->", "--"])
    def test_triangles_are_found_once(self, context, kind, condition):
        random = np.random.default_rng(3)
        ends = random.integers(0, 40, (2, 400))
        graph = make_graph(
            [("", {"x": int(each)}) for each in random.permutation(40)],
            [(int(a), "R", int(b), {}) for a, b in zip(*ends, strict=True)],
        )
        pattern = f"(a){kind}(b){kind}(c), (a){kind}(c)"
        text = f"MATCH {pattern} WHERE {condition} RETURN count(*)"
        strategy = ExtendStrategy(DeviceGraph(context, graph))
        found, report = rows_on(strategy, text, graph)
        assert found == rows_of_reference(text, graph)
        assert is_pushed(text, graph)
        # No relationship is tested: the nodes differ.
        assert any("< " in step for step in report.steps)
        assert "fetch" not in report.timings

    def test_ascending_times_on_relationships_are_joined(self, context):
        random = np.random.default_rng(4)
        graph = make_graph(
            [("", {})] * 20,
            [
                (int(a), "R", int(b), {"time": int(time)})
                for a, b, time in random.integers(0, 20, (150, 3))
            ],
        )
        text = (
            "MATCH (a)-[r]->(b)-[s]->(c)-[t]->(a) WHERE r.time < s.time < t.time "
            "RETURN a, b, c, r, s, t"
        )
        strategy = ExtendStrategy(DeviceGraph(context, graph))
        assert rows_on(strategy, text, graph)[0] == rows_of_reference(text, graph) != []
        assert is_pushed(text, graph)

    def test_a_compared_leaf_is_joined(self, context):
        graph = make_graph(
            [("", {"x": each % 3}) for each in range(12)],
            [(each % 3, "R", each, {}) for each in range(12)],
        )
        strategy = ExtendStrategy(DeviceGraph(context, graph))
        pattern = "MATCH (a)-[:R]->(b), (a)-[:R]->(c), (a)-[:R]->(d)"
        for where in ("", " WHERE b.x < c.x", " WHERE id(b) < id(c) < id(d)", " WHERE a.x < d.x"):
            text = f"{pattern}{where} RETURN count(*)"
            found, report = rows_on(strategy, text, graph)
            assert found == rows_of_reference(text, graph), where
            leaves = [step for step in report.steps if step.startswith("leaves counted by degrees")]
            assert ("(b)" in "".join(leaves)) == (where in ("", " WHERE a.x < d.x"))

    def test_a_query_with_other_parameters_is_answered(self, context):
        graph = make_graph([("", {"x": each}) for each in range(6)], [(0, "R", 1, {})])
        strategy = ExtendStrategy(DeviceGraph(context, graph))
        text = "MATCH (a), (b) WHERE a.x = $p AND a.x < b.x RETURN a, b"
        for value in (1, 4, 1, 5):
            expected = rows_of_reference(text, graph, {"p": value})
            assert rows_on(strategy, text, graph, {"p": value})[0] == expected


# ------------------------------------------------------------------ comparisons that are taken
GRAPH = make_graph(
    [("", {"x": 1, "list": [1]}), ("", {"x": "a", "list": [2]})], [(0, "R", 1, {"x": 1})]
)


@pytest.mark.parametrize(
    ("where", "taken"),
    [
        ("a.x < b.x", True),
        ("NOT a.x = b.x", True),
        ("NOT a.x < b.x", False),
        ("a.x < r.x", True),
        ("id(a) = id(b)", True),
        ("elementId(a) <> elementId(b)", True),
        ("elementId(a) < elementId(b)", True),
        ("a.x = $p AND a.x < b.x", True),
        ("a.list < b.list", False),
        ("a.x < b.x OR a.x = 1", False),
        ("a.x < b.x AND (a.x OR b.x)", False),  # null AND an error is an error
        ("a.x < b.x AND a.list = b.list", False),
    ],
)
def test_only_suitable_comparisons_are_pushed_into_the_join(where, taken):
    text = f"MATCH (a)-[r]->(b) WHERE {where} RETURN a"
    assert is_pushed(text, GRAPH, {"p": 1}) == taken


def test_remaining_conditions_are_tested_afterwards():
    text = "MATCH (a)-[r]->(b) WHERE a.x < b.x AND a.list = b.list RETURN a"
    masks, rest = push_comparisons(bound_of(text, GRAPH), GRAPH, {}, Masks({}, {}))
    assert [each.text for each in masks.comparisons] == ["a.x < b.x"]
    assert len(rest.residuals) == 1


# ------------------------------------------------------------------ order
@dataclass
class GivenRates:
    """As `Rates`, with growth rates given by relationship and end."""

    counts: list[float]
    growths: dict[tuple[int, int], float]
    met: dict[tuple[int, int], float] = field(default_factory=dict)
    implied: frozenset[int] = frozenset()
    list_search: float = 1.0
    order_pairs: float = math.inf

    @property
    def end_rates(self):
        """Relationship 0 connects nodes 0 and 1, relationship 1 the nodes with the other rates."""
        ends = [sorted(end for number, end in self.growths if number == each) for each in (0, 1)]
        return [tuple(self._of(each, end) for end in ends[each]) for each in (0, 1)]

    def _of(self, position, end):
        growth = self.growths[position, end]
        return growth, self.met.get((position, end), growth)


def test_compared_nodes_are_joined_sooner():
    graph = make_graph([("", {})] * 4, [(0, "R", 1, {})])
    bound = bound_of("MATCH (a)-->(b), (a)-->(c) RETURN a", graph)
    growths = {(0, 0): 3.0, (0, 1): 4.0, (1, 0): 4.0, (1, 2): 4.0}
    rates = GivenRates([1.0, 100.0, 100.0], growths)
    a, b, c = (Variable(True, position) for position in range(3))
    assert node_order(bound, rates)[:2] == [0, 1]
    compared = [Comparison(c, a, BELOW, None, None, 0.5, "")]
    assert node_order(bound, rates, (), compared) == [0, 2, 1]
    after = [Comparison(c, b, BELOW, None, None, 0.5, "")]
    assert node_order(bound, rates, (), after) == [0, 1, 2]


# ------------------------------------------------------------------ memory
def test_keys_that_take_half_of_the_limit_stay_on_the_host(context):
    graph = make_graph(
        [("", {"x": each % 7, "y": each % 5}) for each in range(40_000)], [(0, "R", 1, {})]
    )
    text = "MATCH (a)-->(b) WHERE a.x < b.y RETURN count(*)"
    # A key takes 4 bytes a node, of two query nodes.
    strategy = ExtendStrategy(DeviceGraph(context, graph), memory_limit=200_000)
    assert rows_on(strategy, text, graph)[0] == [(1,)]
    with pytest.raises(MemoryLimitError, match="memory limit of 20,000 bytes"):
        rows_on(ExtendStrategy(DeviceGraph(context, graph), memory_limit=20_000), text, graph)


def test_the_join_order_uses_degrees_of_reached_nodes():
    graph = make_graph([("", {})] * 4, [(0, "R", 1, {})])
    bound = bound_of("MATCH (a)-->(b)-->(c) RETURN a", graph)
    counts, growths = [100.0, 110.0, 120.0], {(0, 0): 2.0, (0, 1): 2.0, (1, 1): 2.0, (1, 2): 2.0}
    assert node_order(bound, GivenRates(counts, growths)) == [0, 1, 2]
    uneven = {(1, 1): 500.0}
    assert node_order(bound, GivenRates(counts, growths, uneven)) == [2, 1, 0]
