"""Expressions on columns, against the rules for single values, row by row."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pytest
from asts import SPAN, TEXT, binary, call, comparison, label, lit, name, param, prop, unary, var
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from neo4j.time import Date, Duration

from gpugda import values
from gpugda.data.values.columns import Column, ColumnKind, column_from_values
from gpugda.errors import CypherTypeError, ParameterMissingError, UnsupportedQueryError
from gpugda.expressions.compare_columns import numbers_equal, numbers_less
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate, evaluate_operand, evaluate_truth
from gpugda.expressions.evaluation.evaluator import sole_operand
from gpugda.expressions.operands import Constant, value_at
from gpugda.expressions.parameters import Parameters
from gpugda.query import ast
from gpugda.query.query_graph import AggregateReference, ColumnReference, KeyReference
from gpugda.values import Entity

NAN = math.nan
INTEGERS = [0, 1, -1, 2, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**62]
FLOATS = [
    0.0,
    -0.0,
    1.0,
    1.5,
    -2.5,
    NAN,
    math.inf,
    -math.inf,
    2.0**53,
    2.0**62,
    2.0**63,
    -(2.0**63),
]
TEXTS = ["", "a", "ab", "b", "aé", "\ud7fb", "\U0001f600", "A"]
LISTS = [[], [1], [1.0], [1, 2], ["a"], [True], [0.5, NAN]]
OTHERS = [Date(2020, 1, 1), Date(2021, 1, 1), Duration(days=1), Duration(hours=24)]
KEYS = {
    "integer": INTEGERS,
    "float": FLOATS,
    "text": TEXTS,
    "truth": [True, False],
    "list": LISTS,
    "mixed": [1, 1.0, "a", True, [1], -0.0, NAN, *OTHERS],
}
SCALARS = [None, True, False, *INTEGERS, *FLOATS, *TEXTS]
PARAMETERS = {
    "integer": 1,
    "float": 1.5,
    "text": "a",
    "list": [1, "a", None],
    "truths": [True],
    "map": {"a": 1, "b": None, "c": {"d": "a"}},
    "null": None,
    "date": Date(2020, 1, 1),
}


# ------------------------------------------------------------------ random expressions
def _values(depth):
    leaves = [
        st.sampled_from(SCALARS).map(lit),
        st.sampled_from(sorted(PARAMETERS)).map(param),
        st.builds(prop, st.sampled_from("nmr"), st.sampled_from([*KEYS, "nothing"])),
        st.sampled_from("nmr").map(var),
        st.sampled_from("nmr").map(lambda each: call("id", var(each))),
        st.sampled_from("nmr").map(lambda each: call("elementId", var(each))),
        st.sampled_from("nm").map(lambda each: call("labels", var(each))),
        st.just(call("type", var("r"))),
        st.sampled_from("abcz").map(lambda key: prop(param("map"), key)),
    ]
    if depth == 0:
        return st.one_of(leaves)
    items = st.lists(_values(0), max_size=3).map(lambda found: ast.ListLiteral(SPAN, tuple(found)))
    return st.one_of(*leaves, items, _conditions(depth - 1))


def _conditions(depth):
    value = _values(max(depth - 1, 0))
    comparisons = st.sampled_from([each.value for each in ast.ComparisonOperator])
    texts = st.sampled_from(["STARTS WITH", "ENDS WITH", "CONTAINS"])
    tests = [
        st.builds(comparison, value, comparisons, value),
        st.builds(comparison, value, comparisons, value, comparisons, value),
        st.builds(binary, value, texts, value),
        st.builds(binary, value, st.just("IN"), value),
        st.builds(unary, st.sampled_from(["IS NULL", "IS NOT NULL"]), value),
        st.builds(label, st.sampled_from("nmr"), _labels()),
        value,
    ]
    if depth == 0:
        return st.one_of(tests[:1])
    condition = _conditions(depth - 1)
    connected = st.builds(binary, condition, st.sampled_from(["AND", "OR", "XOR"]), condition)
    return st.one_of(*tests, connected, condition.map(lambda each: unary("NOT", each)))


def _labels():
    wildcard = st.just(ast.LabelWildcard(SPAN))
    leaf = st.one_of(st.sampled_from(["A", "B", "R", "Z"]).map(name), wildcard)
    two = st.tuples(leaf, leaf)
    return st.one_of(
        leaf,
        leaf.map(lambda each: ast.LabelNot(SPAN, each)),
        two.map(lambda both: ast.LabelAnd(SPAN, both)),
        two.map(lambda both: ast.LabelOr(SPAN, both)),
    )


@st.composite
def _environments(draw):
    def properties():
        one = {key: st.sampled_from([None, *known]) for key, known in KEYS.items()}
        return draw(st.fixed_dictionaries(one))

    nodes = [
        (draw(st.sampled_from(["", "A", "B", "A:B"])), properties())
        for _ in range(draw(st.integers(1, 4)))
    ]
    node = st.integers(0, len(nodes) - 1)
    kinds = st.sampled_from("RS")
    relationships = [
        (draw(node), draw(kinds), draw(node), properties()) for _ in range(draw(st.integers(1, 3)))
    ]
    graph = make_graph(nodes, relationships, "p:")
    count = draw(st.integers(0, 6))
    relationship = st.integers(0, len(relationships) - 1)
    rows = {
        each: draw(st.lists(node if each != "r" else relationship, min_size=count, max_size=count))
        for each in "nmr"
    }
    return environment_of(graph, rows)


def environment_of(graph, rows, parameters=PARAMETERS):
    columns = {
        each: Column(
            ColumnKind.RELATIONSHIP if each == "r" else ColumnKind.NODE,
            np.array(indexes, dtype=np.uint32),
        )
        for each, indexes in rows.items()
    }
    count = len(next(iter(rows.values())))
    return Environment(count, Parameters(parameters, TEXT), TEXT, graph, columns)


# ------------------------------------------------------------------ row-by-row evaluator
class RefusedError(Exception):
    """A type error in one row."""


def scalar(node, environment, row):
    """The value of an expression in one row."""
    only = sole_operand(node)
    if only is not None:
        return scalar(only, environment, row)
    if isinstance(node, ast.Binary) and node.operator.value in ("AND", "OR", "XOR"):
        return scalar_connected(node, environment, row)
    if isinstance(node, ast.Unary) and node.operator is ast.UnaryOperator.NOT:
        return values.not_(scalar_truth(node.operand, environment, row))

    def value(each):
        return scalar(each, environment, row)

    leaves = {
        ast.Literal: lambda: node.value,
        ast.Parameter: lambda: PARAMETERS[node.name],
        ast.Variable: lambda: value_at(environment.variables[node.name], row),
        ast.ListLiteral: lambda: [value(item) for item in node.items],
        ast.Property: lambda: scalar_property(value(node.subject), node.key, environment.graph),
        ast.FunctionCall: lambda: scalar_function(
            node.name, value(node.arguments[0]), environment.graph
        ),
        ast.Unary: lambda: (
            (value(node.operand) is None) == (node.operator is ast.UnaryOperator.IS_NULL)
        ),
        ast.LabelPredicate: lambda: scalar_label(
            value(node.subject), node.labels, environment.graph
        ),
        ast.Comparison: lambda: scalar_comparison(node, [value(each) for each in node.operands]),
        ast.Binary: lambda: scalar_binary(node.operator.value, value(node.left), value(node.right)),
    }
    return leaves[type(node)]()


def scalar_truth(node, environment, row):
    if isinstance(node, ast.Binary) and node.operator.value in ("AND", "OR", "XOR"):
        return scalar_connected(node, environment, row)
    try:
        return values.truth_of(scalar(node, environment, row))
    except TypeError as error:
        raise RefusedError from error


def scalar_connected(node, environment, row):
    found = []
    for operand in (node.left, node.right):
        try:
            found.append(scalar_truth(operand, environment, row))
        except RefusedError:
            found.append("error")
    operator = node.operator.value
    decides = {"AND": False, "OR": True, "XOR": "never"}[operator]
    if decides in found:
        return decides
    if "error" in found:
        raise RefusedError
    return {"AND": values.and_, "OR": values.or_, "XOR": values.xor_}[operator](*found)


def scalar_property(subject, key, graph):
    if subject is None:
        return None
    if isinstance(subject, dict):
        return subject.get(key)
    if not isinstance(subject, Entity):
        raise RefusedError
    known = graph.node_properties if subject.is_node else graph.relationship_properties
    return value_at(known[key], subject.index) if key in known else None


def scalar_function(function, entity, graph):
    if function == "id":
        return entity.index
    if function == "elementId":
        return f"p:{'n' if entity.is_node else 'r'}{entity.index}"
    return scalar_names(entity, graph) if function == "labels" else scalar_names(entity, graph)[0]


def scalar_names(entity, graph):
    if entity.is_node:
        return list(graph.node_labels(entity.index))
    return [graph.types.names[graph.relationship_types()[entity.index]]]


def scalar_label(entity, labels, graph):
    names = scalar_names(entity, graph)

    def holds(each):
        if isinstance(each, ast.LabelName):
            return each.name in names
        if isinstance(each, ast.LabelWildcard):
            return bool(names)
        if isinstance(each, ast.LabelNot):
            return not holds(each.operand)
        return (all if isinstance(each, ast.LabelAnd) else any)(map(holds, each.operands))

    return holds(labels)


def scalar_comparison(node, operands):
    result = True
    for a, operator, b in zip(operands, node.operators, operands[1:], strict=False):
        found = {
            "=": lambda a, b: values.equals(a, b),
            "<>": lambda a, b: values.not_(values.equals(a, b)),
            "<": values.less,
            "<=": lambda a, b: values.less(a, b, or_equal=True),
            ">": values.greater,
            ">=": lambda a, b: values.greater(a, b, or_equal=True),
        }[operator.value](a, b)
        result = values.and_(result, found)
    return result


def scalar_binary(operator, a, b):
    if operator == "IN":
        if isinstance(b, dict):
            raise RefusedError
        return values.is_in(a, b)
    if not isinstance(a, str) or not isinstance(b, str):
        return None
    tests = {"STARTS WITH": a.startswith, "ENDS WITH": a.endswith, "CONTAINS": a.__contains__}
    return tests[operator](b)


def identical(a, b):
    """Equal to the last bit: 1 differs from 1.0, 0.0 from -0.0, and NaN equals itself."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(identical, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a.hex() == b.hex()
    return type(a) is type(b) and a == b


@given(_environments(), _values(2))
def test_values_equal_those_row_by_row(environment, expression):
    try:
        expected = [scalar(expression, environment, row) for row in range(environment.row_count)]
    except RefusedError:
        with pytest.raises(CypherTypeError):
            evaluate(expression, environment)
        return
    found = evaluate(expression, environment)
    assert len(found) == environment.row_count
    assert all(identical(value_at(found, row), value) for row, value in enumerate(expected))


@given(_environments(), st.lists(_conditions(3), min_size=1, max_size=3))
def test_conditions_equal_those_row_by_row(environment, conditions):
    count = environment.row_count
    truth = evaluate_truth(conditions, environment)
    holds, fails = (np.broadcast_to(flags, count) for flags in (truth.holds, truth.fails))
    faulty = np.zeros(count, dtype=bool)
    for fault in truth.faults:
        faulty |= fault.rows
    for row in range(count):
        states = []
        for condition in conditions:
            try:
                states.append(scalar_truth(condition, environment, row))
            except RefusedError:
                states.append("error")
        if False in states:
            expected = (False, True, False)
        elif "error" in states:
            expected = (False, False, True)
        else:
            expected = (None not in states, False, False)
        assert (holds[row], fails[row], faulty[row]) == expected


# ------------------------------------------------------------------ all pairs of values
def _all_values():
    graph = make_graph([("", {key: each}) for key, known in KEYS.items() for each in known])
    return environment_of(graph, {"n": list(range(graph.node_count))})


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("operator", [each.value for each in ast.ComparisonOperator])
def test_columns_are_compared_with_constants(key, operator):
    environment = _all_values()
    for constant in [*SCALARS, *LISTS, *OTHERS]:
        known = {"c": constant}
        environment = environment_of(environment.graph, _rows(environment), known)
        for parts in (
            (prop("n", key), operator, param("c")),
            (param("c"), operator, prop("n", key)),
        ):
            found = evaluate(comparison(*parts), environment)
            for row in range(environment.row_count):
                operands = [
                    scalar(each, environment, row) if isinstance(each, ast.Property) else constant
                    for each in parts[::2]
                ]
                expected = scalar_comparison(comparison(*parts), operands)
                assert value_at(found, row) is expected, (parts, operands)


@pytest.mark.parametrize("key", KEYS)
def test_columns_are_tested_against_lists(key):
    environment = _all_values()
    pool = [*SCALARS, *LISTS, *OTHERS]
    lists = [[], *([each] for each in pool), [None, *KEYS[key][:2]], KEYS[key][1:], pool, [1, "a"]]
    for items in lists:
        environment = environment_of(environment.graph, _rows(environment), {"l": items})
        found = evaluate(binary(prop("n", key), "IN", param("l")), environment)
        for row in range(environment.row_count):
            value = scalar(prop("n", key), environment, row)
            assert value_at(found, row) is values.is_in(value, items), (value, items)


def _rows(environment):
    return {"n": list(range(environment.graph.node_count))}


# ------------------------------------------------------------------ numbers
numbers = st.one_of(
    st.sampled_from(INTEGERS),
    st.sampled_from(FLOATS),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.integers(-3, 3).map(lambda i: 2**53 + i),
    st.integers(-3, 3).map(lambda i: float(2**53 + 2 * i)),
)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8))
def test_numbers_compare_exactly(pairs):
    for kinds in ((int, int), (int, float), (float, int), (float, float)):
        chosen = [(a, b) for a, b in pairs if type(a) is kinds[0] and type(b) is kinds[1]]
        dtypes = [np.int64 if kind is int else np.float64 for kind in kinds]
        a, b = (np.array([p[i] for p in chosen], dtype=dtypes[i]) for i in range(2))
        equal = [values.equals(x, y) for x, y in chosen]
        less = [values.less(x, y) for x, y in chosen]
        assert numbers_equal(a, b).tolist() == equal
        assert numbers_less(a, b).tolist() == less
        for row, (x, y) in enumerate(chosen):
            assert np.all(numbers_equal(a[row : row + 1], y) == equal[row])
            assert np.all(numbers_equal(x, b[row : row + 1]) == equal[row])
            assert np.all(numbers_less(a[row : row + 1], y) == less[row])
            assert np.all(numbers_less(x, b[row : row + 1]) == less[row])


# ------------------------------------------------------------------ single points
def one_node(**properties):
    return environment_of(make_graph([("A", properties)]), {"n": [0]})


def test_constants_stay_scalar():
    environment = one_node(x=1)
    for expression in (lit(1), lit([1, 2]), param("list"), prop("n", "nothing"), lit(None)):
        assert isinstance(evaluate_operand(expression, environment), Constant)
    folded = evaluate_operand(comparison(lit(1), "<", param("float")), environment)
    assert isinstance(folded, Constant)
    assert folded.value is True


# On a node with name 'bob', x 1, b true, l [1, 2, 3], e []: the results of RETURN.
RETURNED = [
    (binary(prop("n", "name"), "AND", True), "bob"),
    (binary(prop("n", "name"), "OR", False), "bob"),
    (binary(prop("n", "name"), "XOR", False), "bob"),
    (binary(prop("n", "name"), "AND", prop("n", "name")), "bob"),
    (unary("NOT", unary("NOT", prop("n", "name"))), "bob"),
    (binary(prop("n", "x"), "OR", binary(prop("n", "x"), "OR", False)), 1),
    (binary(prop("n", "x"), "OR", True), True),
    (binary(prop("n", "l"), "AND", True), [1, 2, 3]),
    (binary(prop("n", "l"), "AND", prop("n", "b")), True),
    (unary("NOT", prop("n", "l")), False),
    (unary("NOT", prop("n", "e")), True),
    (binary(prop("n", "l"), "XOR", prop("n", "b")), False),
    (binary(prop("n", "x"), "AND", False), False),
    (binary(prop("n", "name"), "AND", comparison(prop("n", "x"), "=", 5)), False),
    (binary(comparison(prop("n", "x"), "=", 5), "AND", prop("n", "name")), False),
    (binary(prop("n", "name"), "OR", comparison(prop("n", "x"), "=", 1)), True),
    (binary(prop(prop("n", "name"), "z"), "AND", comparison(prop("n", "x"), "=", 5)), False),
    (binary(prop("n", "b"), "AND", None), None),
    (binary(prop("n", "b"), "OR", None), True),
    (comparison(1, "<", prop("n", "x"), "<", "a"), False),
    (comparison(0, "<", prop("n", "x"), "<", "a"), None),
    (comparison(prop("n", "x"), "=", prop("n", "x"), "=", 1), True),
    (binary(1, "IN", prop("n", "x")), True),
    (binary(prop("n", "nope"), "IN", prop("n", "x")), None),
    (binary(prop("n", "name"), "STARTS WITH", ""), True),
    (binary(prop("n", "name"), "ENDS WITH", None), None),
    (binary(prop("n", "x"), "CONTAINS", ""), None),
    (binary(prop("n", "nope"), "STARTS WITH", ""), None),
    (prop(prop("n", "nope"), "x"), None),
    (prop(prop(param("map"), "c"), "d"), "a"),
    (comparison(var("n"), "<>", 1), True),
    (comparison(var("n"), "=", prop("n", "nope")), None),
    (comparison(var("n"), "<", var("n")), False),
    (comparison(var("n"), "<=", var("n")), True),
]


@pytest.mark.parametrize(("expression", "expected"), RETURNED)
def test_answers_of_neo4j(expression, expected):
    environment = one_node(name="bob", x=1, b=True, l=[1, 2, 3], e=[])
    assert identical(value_at(evaluate(expression, environment), 0), expected)


REFUSED = [
    (binary(prop("n", "name"), "AND", prop("n", "b")), 'as a predicate: String\\("bob"\\)'),
    (unary("NOT", prop("n", "name")), 'as a predicate: String\\("bob"\\)'),
    (binary(prop("n", "name"), "OR", None), 'as a predicate: String\\("bob"\\)'),
    (binary(prop("n", "name"), "AND", None), 'as a predicate: String\\("bob"\\)'),
    (binary(prop("n", "nope"), "AND", prop("n", "name")), "as a predicate"),
    (binary(prop("n", "x"), "XOR", True), "as a predicate: Long\\(1\\)"),
    (prop(prop("n", "name"), "x"), 'expected a map but was String\\("bob"\\)'),
    (prop(prop("n", "x"), "x"), "expected a map but was Long\\(1\\)"),
    (call("id", param("integer")), "expected a node or relationship but was Long\\(1\\)"),
    (call("type", var("n")), "expected a relationship but was"),
]


@pytest.mark.parametrize(("expression", "message"), REFUSED)
def test_type_errors_of_neo4j(expression, message):
    environment = one_node(name="bob", x=1, b=True)
    with pytest.raises(CypherTypeError, match=message) as raised:
        evaluate(expression, environment)
    assert (raised.value.line, raised.value.column) == (1, 1)
    nothing = environment_of(environment.graph, {"n": []})
    assert len(evaluate(expression, nothing)) == 0


def test_the_first_wrong_row_is_named():
    graph = make_graph([("", {"x": True}), ("", {"x": "second"}), ("", {"x": "third"})])
    environment = environment_of(graph, {"n": [0, 2, 1]})
    with pytest.raises(CypherTypeError, match="third"):
        evaluate(unary("NOT", prop("n", "x")), environment)


def test_unsupported_expressions_are_refused():
    environment = one_node(x=1)
    for expression in (
        call("nothing.known", prop("n", "x")),
        ast.PatternExpression(SPAN, ast.Pattern(SPAN, None, ())),
        binary(prop("n", "x"), "+", call("nothing.known", lit(1))),
    ):
        with pytest.raises(UnsupportedQueryError):
            evaluate(expression, environment)


def test_references_read_their_columns():
    environment = Environment(
        2,
        Parameters({}, TEXT),
        TEXT,
        keys=[column_from_values(["a", "b"])],
        aggregates=[column_from_values([1, 2])],
        outputs=[Constant(7)],
    )
    compared = comparison(AggregateReference(SPAN, 0), ">", 1)
    assert evaluate(compared, environment).values.tolist() == [False, True]
    assert value_at(evaluate(KeyReference(SPAN, 0), environment), 1) == "b"
    assert evaluate(ColumnReference(SPAN, 0), environment).values.tolist() == [7, 7]


def test_element_ids_of_others_match_nothing():
    environment = environment_of(
        make_graph([("", {})] * 3, element_id_prefix="p:"), {"n": [0, 1, 2]}
    )
    for text, expected in (("p:n1", [1]), ("p:n01", []), ("n1", []), ("p:n3", []), ("p:r1", [])):
        truth = evaluate_truth([comparison(call("elementId", var("n")), "=", text)], environment)
        assert np.flatnonzero(np.broadcast_to(truth.holds, 3)).tolist() == expected
    listed = binary(call("elementid", var("n")), "IN", ["p:n2", "x", "p:n0"])
    assert np.flatnonzero(evaluate_truth([listed], environment).holds).tolist() == [0, 2]


# ------------------------------------------------------------------ parameters
@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        ((1, 2), [1, 2]),
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.array([1, 2]), [1, 2]),
        ({"a": (1,)}, {"a": [1]}),
        (datetime.date(2020, 1, 1), Date(2020, 1, 1)),
        (datetime.timedelta(days=1), Duration(days=1)),
        (2**63 - 1, 2**63 - 1),
        (None, None),
    ],
)
def test_parameters_become_values(given_value, expected):
    assert identical(Parameters({"p": given_value}, TEXT).get("p"), expected)


@pytest.mark.parametrize(
    "given_value", [2**63, [-(2**63) - 1], {1: 2}, {1, 2}, object(), "\ud800", 1j]
)
def test_unsupported_parameters_are_refused(given_value):
    with pytest.raises(CypherTypeError, match=r"the parameter \$p cannot be used"):
        Parameters({"p": given_value}, TEXT).get("p", SPAN)


def test_a_missing_parameter_is_marked():
    with pytest.raises(ParameterMissingError, match=r"\$p.*line 1, column 1") as raised:
        evaluate(param("p"), one_node())
    assert raised.value.span == SPAN


def test_few_rows_with_large_dictionaries_are_compared():
    texts = [f"text {number}" for number in range(6000)]
    graph = make_graph([("", {"a": text, "b": text[::-1]}) for text in texts])
    environment = environment_of(graph, {"n": [5, 17], "m": [17, 5]})
    a, b = prop("n", "a"), prop("m", "b")
    for expression, expected in (
        (binary(a, "CONTAINS", "17"), [False, True]),
        (binary(a, "ENDS WITH", "5"), [True, False]),
        (comparison(a, "<", prop("m", "a")), [False, True]),
        (comparison(a, "=", b), [False, False]),
    ):
        assert evaluate(expression, environment).values.tolist() == expected
