"""Patterns with a path selector that are more than one relationship or group.

The device searches paths of one relationship or one repeated step level by level. For any other
pattern, all paths between two nodes are found row by row, and the selector then chooses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.plan.building.pattern_reader import needs_each_row
from gpugda.plan.building.patterns import PatternPlanner
from gpugda.plan.logical import Argument, Filter, SelectPaths
from gpugda.query import ast
from gpugda.query.shapes import conjuncts, join_by_ampersand, variable_names
from gpugda.query.walk import walk
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpugda.plan.logical import Logical

__all__ = ["SelectedPattern", "names_bound_list", "selected_pattern", "split_selected"]

_SEARCHES = (ast.SelectorKind.SHORTEST_PATH, ast.SelectorKind.ALL_SHORTEST_PATHS)
_BY_GROUP = (ast.SelectorKind.SHORTEST_GROUPS, ast.SelectorKind.ALL_SHORTEST)


@value(frozen=True, slots=True)
class SelectedPattern:
    """A clause whose paths are all found before the selector chooses.

    Args:
        clause: The clause without its selector; its WHERE reads the ends of the paths only.
        selector: The path selector.
        after: Conditions on the chosen paths.
    """

    clause: ast.Match
    selector: ast.Selector
    after: tuple[ast.Expression, ...]

    def plan(
        self,
        rows: Logical,
        scope: Mapping[str, str],
        text: str,
        numbers: Iterator[int],
    ) -> tuple[Logical, dict[str, str]]:
        """The rows with the chosen paths, and the kinds of the added variables.

        Raises:
            UnsupportedQueryError: The pattern has an unsupported construct.
        """
        planner = PatternPlanner(text, scope, numbers)
        planner.read(self.clause)
        path_steps = planner.found_paths[0]
        made: Logical = SelectPaths(
            rows,
            planner.plan(Argument(tuple(scope))),
            tuple(name for name in planner.kinds if name not in scope),
            path_steps.start,
            path_steps.end,
            tuple(path_steps.steps),
            1 if self.selector.count is None else self.selector.count,
            self.selector.kind in _BY_GROUP,
            deterministic=not needs_each_row(self.clause),
        )
        return Filter(made, self.after) if self.after else made, planner.kinds


def split_selected(clauses: Sequence[ast.Match]) -> Iterator[ast.Match]:
    """The clauses; selected paths under REPEATABLE ELEMENTS are split into own clauses."""
    for clause in clauses:
        selected = [each for each in clause.patterns if _is_selected(each)]
        if not selected or len(clause.patterns) == 1:
            yield clause
            continue
        *others, last = clause.patterns
        for pattern in others:
            yield replace(clause, patterns=(pattern,), where=None)
        yield replace(clause, patterns=(last,))


def names_bound_list(clause: ast.Match, kinds: Mapping[str, str]) -> bool:
    """True if the clause repeats a variable-length relationship of an earlier clause.

    Its list then has to be bound before the clause, as ``WITH`` would bind it.
    """
    return bool(kinds) and any(
        isinstance(element, ast.RelationshipPattern)
        and element.length is not None
        and element.variable is not None
        and element.variable.name in kinds
        for pattern in clause.patterns
        for element in walk(pattern)
    )


def selected_pattern(
    clause: ast.Match, scope: Mapping[str, str], text: str, numbers: Iterator[int]
) -> SelectedPattern | None:
    """The clause, if all its paths must be found before selection; otherwise None."""
    pattern = clause.patterns[0]
    if not _is_selected(pattern) or pattern.selector is None:
        return None
    selector = pattern.selector
    plain, inside = _without_outer_brackets(replace(pattern, selector=None))
    bare = replace(clause, patterns=(plain,), where=inside)
    trial = PatternPlanner(text, scope, numbers)
    trial.read(bare)
    if trial.is_one_step and _is_searched(clause, plain, inside):
        return None
    before, after = _around_selection(clause.where, trial, scope)
    whole = [*([] if inside is None else [inside]), *before]
    bare = replace(clause, patterns=(plain,), where=_all_of(whole))
    return SelectedPattern(bare, selector, tuple(after))


def _is_searched(clause: ast.Match, plain: ast.Pattern, inside: ast.Expression | None) -> bool:
    """True if the surrounding clause allows to search the paths of one step level by level."""
    (pattern,) = clause.patterns
    selector, path = pattern.selector, pattern.variable
    if (
        clause.repeats_relationships
        or selector is None
        or isinstance(selector.count, ast.Parameter)
    ):
        return False
    if plain.variable is not path:
        return False
    return path is None or inside is None or path.name not in variable_names(inside)


def _is_selected(pattern: ast.Pattern) -> bool:
    selector = pattern.selector
    return selector is not None and selector.kind not in (*_SEARCHES, ast.SelectorKind.ALL)


def _without_outer_brackets(
    pattern: ast.Pattern,
) -> tuple[ast.Pattern, ast.Expression | None]:
    """Removes brackets around a whole path; returns the path and the brackets' condition."""
    conditions: list[ast.Expression] = []
    while len(pattern.elements) == 1:
        (element,) = pattern.elements
        if not isinstance(element, ast.GroupPattern) or element.quantifier is not None:
            break
        if element.where is not None:
            conditions.append(element.where)
        if pattern.variable is not None and element.pattern.variable is not None:
            break
        name = pattern.variable or element.pattern.variable
        pattern = replace(pattern, variable=name, elements=element.pattern.elements)
    return pattern, _all_of(conditions)


def _around_selection(
    where: ast.Expression | None, trial: PatternPlanner, scope: Mapping[str, str]
) -> tuple[list[ast.Expression], list[ast.Expression]]:
    """Conditions on the ends alone, which remove whole selections; and all other conditions."""
    parts = [] if where is None else list(conjuncts(join_by_ampersand(where)))
    path_steps = trial.found_paths[0]
    ends = {path_steps.start, path_steps.end, *scope}
    before = [each for each in parts if variable_names(each) <= ends]
    return before, [each for each in parts if each not in before]


def _all_of(conditions: Sequence[ast.Expression]) -> ast.Expression | None:
    found: ast.Expression | None = None
    for each in conditions:
        span = each.span
        found = each if found is None else ast.Binary(span, ast.BinaryOperator.AND, found, each)
    return found
