"""``subject:Label`` for any subject, including dynamic labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.errors import CypherTypeError
from gpugda.expressions import boolean_columns as logic
from gpugda.expressions.boolean_columns import Truth
from gpugda.expressions.checks import check_token_name
from gpugda.expressions.evaluation.apply_function import apply_function
from gpugda.expressions.evaluation.conditions import with_faults
from gpugda.expressions.functions.scalar import entity_access
from gpugda.expressions.label_columns import ENTITY_KINDS, FUNCTIONS, label_flags
from gpugda.expressions.operands import Constant, Evaluated, both, inverted, validity
from gpugda.query import ast
from gpugda.query.walk import walk
from gpugda.values import Entity, describe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.expressions.evaluation.evaluator import Evaluator

__all__ = ["label_predicate"]


def label_predicate(evaluator: Evaluator, node: ast.LabelPredicate) -> Truth:
    """``subject:Label&Other``; for a relationship it tests the type."""
    subject = evaluator.value(node.subject)
    column = subject.operand
    if isinstance(column, Constant) and column.value is None:
        return with_faults(logic.UNKNOWN, subject)
    dynamic = [each for each in walk(node.labels) if isinstance(each, ast.LabelDynamic)]
    graph = evaluator.environment.graph
    kind = column.kind if isinstance(column, Column) else None
    if graph is None or dynamic or kind is ColumnKind.OBJECT:
        return _one_by_one(evaluator, node, subject, dynamic)
    if kind not in ENTITY_KINDS:
        expected = "expected a node or relationship but was"
        fault = evaluator.mismatch(column, node.span, expected)
        return Truth(False, False, (*subject.faults, fault))
    assert isinstance(column, Column)
    found = label_flags(graph, column, node.labels, evaluator.environment)
    valid = validity(column)
    return Truth(both(found, valid), both(inverted(found), valid), subject.faults)


def _one_by_one(
    evaluator: Evaluator,
    node: ast.LabelPredicate,
    subject: Evaluated,
    dynamic: Sequence[ast.LabelDynamic],
) -> Truth:
    def test(entity: Any, *given: Any) -> bool | None:
        if entity is None:
            return None
        known = {id(each): list(_names(value)) for each, value in zip(dynamic, given, strict=True)}
        return _holds(node.labels, _names_of(entity, evaluator), known)

    arguments = [
        _by_names(evaluator, subject),
        *(evaluator.value(each.expression) for each in dynamic),
    ]
    found = apply_function(evaluator, node, test, arguments)
    truth = logic.truth_of_operand(
        Evaluated(found.operand),
        evaluator.row_count,
        lambda message: evaluator.type_error(message, node.span),
    )
    return with_faults(truth, found)


def _by_names(evaluator: Evaluator, subject: Evaluated) -> Evaluated:
    """Replaces entities by their labels or types, which have few distinct values."""
    column, graph = subject.operand, evaluator.environment.graph
    if graph is None or not isinstance(column, Column) or column.kind not in ENTITY_KINDS:
        return subject
    name = "labels" if column.kind is ColumnKind.NODE else "type"
    found = FUNCTIONS[name][1](graph, column, evaluator.environment.cache)
    return Evaluated(found, subject.faults)


def _names_of(entity: Any, evaluator: Evaluator) -> Sequence[str]:
    if isinstance(entity, list):
        return entity
    if isinstance(entity, str):
        return (entity,)
    if isinstance(entity, Entity):
        access = entity_access(evaluator.context)
        return access.labels(entity) if entity.is_node else (access.type(entity),)
    raise CypherTypeError(
        f"Type mismatch: expected a node or relationship but was {describe(entity)}"
    )


def _names(value: Any) -> Iterator[str]:
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, str):
            raise CypherTypeError(f"label and type names must be strings, not {describe(each)}")
        check_token_name(each)
        yield each


def _holds(labels: Any, names: Sequence[str], known: dict[int, list[str]]) -> bool:
    if isinstance(labels, ast.LabelName):
        return labels.name in names
    if isinstance(labels, ast.LabelWildcard):
        return len(names) > 0
    if isinstance(labels, ast.LabelNot):
        return not _holds(labels.operand, names, known)
    if isinstance(labels, ast.LabelDynamic):
        test = any if labels.any else all
        return test(name in names for name in known[id(labels)])
    test = all if isinstance(labels, ast.LabelAnd) else any
    return test(_holds(operand, names, known) for operand in labels.operands)
