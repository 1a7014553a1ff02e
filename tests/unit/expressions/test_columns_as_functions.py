"""Expressions on columns against single values, and so against Neo4j's answers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from function_cases import FOLDER, cases, rendered
from function_evaluator import Evaluator

from gpugda.data.values.driver_values import as_driver_gives
from gpugda.errors import QueryError, UnsupportedQueryError
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.context import Context, one_statement, statement_instant
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_value
from gpugda.expressions.operands import value_at
from gpugda.expressions.parameters import Parameters
from gpugda.query import ast
from gpugda.query.parser import parse
from gpugda.query.walk import walk

FILES = [path for path in sorted(FOLDER.glob("*.txt")) if path.stem != "aggregates"]
SYNTAX_ERROR = "! Neo.ClientError.Statement.SyntaxError"
NOT_THE_SAME = ("rand", "realtime", "uuid")


def answers(expression, text, variables, row_count):
    """Results of the columns per row, in the form of the case files."""
    environment = Environment(row_count, Parameters({}, text), text, variables=variables)
    try:
        found = evaluate_value(expression, environment)
    except QueryError as error:
        return [shown(error)] * row_count
    rows = []
    for row in range(row_count):
        failing = [f for f in found.faults if np.broadcast_to(f.rows, row_count)[row]]
        if failing:
            rows.append(shown(failing[0].error(row)))
        else:
            rows.append(rendered(as_driver_gives(value_at(found.operand, row))))
    return rows


def single(expression, text, version, variables):
    """The result for single values."""
    evaluator = Evaluator(text, Context(statement=statement_instant()), version)
    evaluator.variables = variables
    try:
        return rendered(as_driver_gives(evaluator.value(expression)))
    except QueryError as error:
        return shown(error)


def shown(error):
    return "?" if isinstance(error, UnsupportedQueryError) else f"! {error.code}"


def expression_of(text):
    return parse(text).parts[0].clauses[0].projection.items[0].expression


def compiled_alone(expression):
    """True if it is refused or folded at compile time: evaluation never sees it."""
    return any(
        isinstance(node, ast.Binary) and node.operator is ast.BinaryOperator.DIVIDE
        for node in walk(expression)
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_functions_of_constants_equal_neo4js(path):
    wrong, count = [], 0
    for written, wanted in cases(path):
        text = f"RETURN {written}"
        try:
            expression = expression_of(text)
        except QueryError:
            continue
        (answer,) = answers(expression, text, {}, 1)
        count += 1
        if wanted != SYNTAX_ERROR and not answer.startswith("?") and answer != wanted:
            wrong.append(f"{written}: {answer} instead of {wanted}")
    assert not wrong, "\n".join(wrong)
    assert count > 20


@pytest.mark.one_in(2)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_functions_of_columns_equal_those_of_values(path):
    version = 25 if path.stem == "cypher_25" else 5
    wrong, count = [], 0
    for written, _ in cases(path):
        if any(name in written.lower() for name in NOT_THE_SAME):
            continue
        try:
            expression = expression_of(f"RETURN {written}")
        except QueryError:
            continue
        if compiled_alone(expression):
            continue
        with one_statement():
            found = compared(expression, f"RETURN {written}", version)
        count += bool(found)
        wrong += [f"{written}: {each}" for each in found if each[1] != each[2]]
    assert not wrong, "\n".join(wrong[:40])
    assert count > 15


def compared(expression, text, version):
    """For each row, its number, the result of columns, and that of single values."""
    literals: list = []
    replaced = without_literals(expression, literals)
    if not literals:
        return []
    rows = [literals, list(map(another, literals)), [None] * len(literals), literals]
    names = [f"v{number}" for number in range(len(literals))]
    columns = {name: column_of([row[number] for row in rows]) for number, name in enumerate(names)}
    found = answers(replaced, text, columns, len(rows))
    expected = [single(replaced, text, version, dict(zip(names, row, strict=True))) for row in rows]
    expected = ["?" if each == SYNTAX_ERROR else each for each in expected]
    return [
        (number, "?" if wanted == "?" else answer, wanted)
        for number, (answer, wanted) in enumerate(zip(found, expected, strict=True))
    ]


def another(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value // 2 + 1
    if isinstance(value, float):
        return value / 2 - 1
    return f"{value}x" if isinstance(value, str) else value


def without_literals(node, literals):
    """The tree with a variable in place of each literal."""
    if isinstance(node, ast.Literal):
        literals.append(node.value)
        return ast.Variable(node.span, f"v{len(literals) - 1}")
    if isinstance(node, tuple):
        return tuple(without_literals(each, literals) for each in node)
    if not isinstance(node, ast.Node) or isinstance(node, ast.CypherType | ast.MapSelector):
        return node
    changes = {
        field.name: without_literals(getattr(node, field.name), literals)
        for field in dataclasses.fields(node)
        if field.name != "span"
    }
    return dataclasses.replace(node, **changes)
