"""Label expressions bound to one data graph: label programs over bitmaps, and sets of type ids."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gpugda.plan.plan import LabelOp
from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpugda.data.identifiers import NameTable

__all__ = ["NOTHING", "Program", "label_names", "label_program", "type_ids"]

Program = tuple[tuple[LabelOp, int], ...]

NOTHING: Program = ((LabelOp.NONE, 0),)
"""The program that no node satisfies. The empty program is satisfied by every node."""


def label_program(labels: Iterable[ast.LabelExpression], table: NameTable) -> Program:
    """The program of the conjunction of all expressions, with unknown labels folded away."""
    program: Program = ()
    for each in labels:
        program = _and(program, _program(each, table))
    return program


def _program(labels: ast.LabelExpression, table: NameTable) -> Program:
    if isinstance(labels, ast.LabelName):
        label_id = table.get(labels.name)
        return NOTHING if label_id is None else _has_label(label_id)
    if isinstance(labels, ast.LabelWildcard):
        return ((LabelOp.ANY, 0),) if len(table) else NOTHING
    if isinstance(labels, ast.LabelNot):
        return _not(_program(labels.operand, table))
    assert isinstance(labels, ast.LabelAnd | ast.LabelOr)
    join = _and if isinstance(labels, ast.LabelAnd) else _or
    program = _program(labels.operands[0], table)
    for operand in labels.operands[1:]:
        program = join(program, _program(operand, table))
    return program


# Cached: the value is the same for each query node with the label, and plans keep it.
@lru_cache(maxsize=1024)
def _has_label(label_id: int) -> Program:
    return ((LabelOp.LABEL, label_id),)


def _not(operand: Program) -> Program:
    if not operand:
        return NOTHING
    return () if operand == NOTHING else (*operand, (LabelOp.NOT, 0))


def _and(left: Program, right: Program) -> Program:
    if NOTHING in (left, right):
        return NOTHING
    return (*left, *right, (LabelOp.AND, 0)) if left and right else left or right


def _or(left: Program, right: Program) -> Program:
    if not left or not right:
        return ()
    if NOTHING in (left, right):
        return right if left == NOTHING else left
    return (*left, *right, (LabelOp.OR, 0))


def type_ids(types: ast.LabelExpression | None, table: NameTable) -> tuple[int, ...] | None:
    """Sorted ids of the relationship types that satisfy an expression; None if all types do."""
    if types is None:
        return None
    if isinstance(types, ast.LabelName):
        only = table.get(types.name)
        found: tuple[int, ...] = () if only is None else (only,)
    else:
        found = tuple([i for i, name in enumerate(table.names) if _fits(types, name)])
    return None if len(found) == len(table) > 0 else found


def _fits(types: ast.LabelExpression, name: str) -> bool:
    if isinstance(types, ast.LabelName):
        return types.name == name
    if isinstance(types, ast.LabelNot):
        return not _fits(types.operand, name)
    if isinstance(types, ast.LabelAnd):
        return all(_fits(operand, name) for operand in types.operands)
    if isinstance(types, ast.LabelOr):
        return any(_fits(operand, name) for operand in types.operands)
    assert isinstance(types, ast.LabelWildcard)
    return True


def label_names(labels: ast.LabelExpression) -> list[str]:
    """The names in a label expression, in written order."""
    if isinstance(labels, ast.LabelName):
        return [labels.name]
    if isinstance(labels, ast.LabelNot):
        return label_names(labels.operand)
    if isinstance(labels, ast.LabelAnd | ast.LabelOr):
        return [name for operand in labels.operands for name in label_names(operand)]
    return []
