"""Splits predicates by what they test: labels, types, one variable, a row, or no variable."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpugda.plan.plan import RowTest
from gpugda.query import ast
from gpugda.query.shapes import is_dynamic, variable_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gpugda.query.query_graph import QueryGraph

__all__ = ["SplitPredicates", "compared_variables", "split_predicates"]

_EQUALITIES = (ast.ComparisonOperator.EQUAL, ast.ComparisonOperator.NOT_EQUAL)
_NOT = ast.UnaryOperator.NOT
_JOINS: Mapping[ast.BinaryOperator, type[ast.LabelAnd | ast.LabelOr]] = {
    ast.BinaryOperator.AND: ast.LabelAnd,
    ast.BinaryOperator.OR: ast.LabelOr,
}


@dataclass(slots=True)
class SplitPredicates:
    """The predicates of a query graph by what they test.

    Args:
        labels: Label expressions by variable name; for a relationship, its type.
        of_one: Other conjuncts over one variable, by name.
        tests: Equality or inequality of query nodes or query relationships.
        residuals: Conjuncts over several variables.
        constants: Conjuncts without variables.
        contradiction: True if ``a <> a`` is among them.
    """

    labels: dict[str, list[ast.LabelExpression]] = field(default_factory=lambda: defaultdict(list))
    of_one: dict[str, list[ast.Expression]] = field(default_factory=lambda: defaultdict(list))
    tests: list[RowTest] = field(default_factory=list)
    residuals: list[ast.Expression] = field(default_factory=list)
    constants: list[ast.Expression] = field(default_factory=list)
    contradiction: bool = False


def split_predicates(graph: QueryGraph) -> SplitPredicates:
    """Splits the predicates of a query graph."""
    split = SplitPredicates()
    if not graph.predicates:
        return split
    nodes = {node.name: node.position for node in graph.nodes}
    # The first use of a relationship variable stands for all of its uses, which are equal.
    relationships = {each.name: each.position for each in reversed(graph.relationships)}
    for predicate in _pairs(graph.predicates):
        names = variable_names(predicate)
        if not _take_test(predicate, split, nodes, relationships):
            _take(predicate, names, split, relationships)
    return split


def _pairs(predicates: Iterable[ast.Expression]) -> Iterator[ast.Expression]:
    """Splits chains such as ``1 < a.x < b.x`` into pairs, which may have fewer variables."""
    for predicate in predicates:
        if isinstance(predicate, ast.Comparison) and len(predicate.operators) > 1:
            operands = predicate.operands
            for left, operator, right in zip(
                operands, predicate.operators, operands[1:], strict=False
            ):
                yield ast.Comparison(predicate.span, (left, right), (operator,))
        else:
            yield predicate


def _take(
    predicate: ast.Expression,
    names: frozenset[str],
    split: SplitPredicates,
    relationships: Mapping[str, int],
) -> None:
    if not names:
        split.constants.append(predicate)
    elif len(names) > 1:
        split.residuals.append(predicate)
    else:
        (name,) = names
        labels = _as_labels(predicate, of_relationship=name in relationships)
        if labels is not None:
            split.labels[name].append(labels)
        else:
            split.of_one[name].append(predicate)


# ------------------------------------------------------------------ equality tests
def _take_test(
    predicate: ast.Expression,
    split: SplitPredicates,
    nodes: Mapping[str, int],
    relationships: Mapping[str, int],
) -> bool:
    compared = compared_variables(predicate)
    if compared is None:
        return False
    left, right, equal = compared
    table = nodes if left in nodes else relationships
    if right not in table:
        return False
    if left == right:
        split.contradiction = split.contradiction or not equal
    else:
        split.tests.append(RowTest(table is nodes, table[left], table[right], equal))
    return True


def compared_variables(predicate: ast.Expression) -> tuple[str, str, bool] | None:
    """Both names of ``a = b`` or ``a <> b``, also under NOT, and True for equality."""
    negated = False
    while isinstance(predicate, ast.Unary) and predicate.operator is _NOT:
        predicate, negated = predicate.operand, not negated
    if not isinstance(predicate, ast.Comparison) or len(predicate.operators) > 1:
        return None
    left, right = predicate.operands
    operator = predicate.operators[0]
    if operator not in _EQUALITIES or not isinstance(left, ast.Variable):
        return None
    if not isinstance(right, ast.Variable):
        return None
    return left.name, right.name, (operator is ast.ComparisonOperator.EQUAL) is not negated


# ------------------------------------------------------------------ labels and types
def _as_labels(predicate: ast.Expression, *, of_relationship: bool) -> ast.LabelExpression | None:
    """A predicate on the labels of one variable as a label expression; None for other predicates.

    Labels are never null, so NOT, AND and OR have the same meaning there.
    """
    span = predicate.span
    if isinstance(predicate, ast.LabelPredicate):
        plain = isinstance(predicate.subject, ast.Variable) and not is_dynamic(predicate.labels)
        return predicate.labels if plain else None
    if isinstance(predicate, ast.Unary) and predicate.operator is _NOT:
        operand = _as_labels(predicate.operand, of_relationship=of_relationship)
        return None if operand is None else ast.LabelNot(span, operand)
    if isinstance(predicate, ast.Binary) and predicate.operator in _JOINS:
        left = _as_labels(predicate.left, of_relationship=of_relationship)
        right = _as_labels(predicate.right, of_relationship=of_relationship)
        if left is None or right is None:
            return None
        return _JOINS[predicate.operator](span, (left, right))
    return _type_comparison(predicate) if of_relationship else None


def _type_comparison(predicate: ast.Expression) -> ast.LabelExpression | None:
    """``type(r) = 'R'``, ``type(r) <> 'R'``."""
    if not isinstance(predicate, ast.Comparison) or len(predicate.operators) > 1:
        return None
    operator = predicate.operators[0]
    call, literal = predicate.operands
    if isinstance(call, ast.Literal):
        call, literal = literal, call
    if operator not in _EQUALITIES or not isinstance(call, ast.FunctionCall):
        return None
    if call.name.lower() != "type" or not isinstance(literal, ast.Literal):
        return None
    if not isinstance(literal.value, str):
        return None
    name = ast.LabelName(predicate.span, literal.value)
    is_equal = operator is ast.ComparisonOperator.EQUAL
    return name if is_equal else ast.LabelNot(predicate.span, name)
