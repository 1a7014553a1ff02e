"""What a text names, and what its result depends on: labels, types, properties, parameters."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from gpugda.caching import LruCache
from gpugda.errors import CypherSyntaxError, QueryError
from gpugda.query import ast
from gpugda.query.lexer import tokenise
from gpugda.query.parser import parse, tree_of
from gpugda.query.prepare import QUERIES_KEPT
from gpugda.query.shapes import all_names
from gpugda.query.walk import walk
from gpugda.types import Span, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpugda.query.statement import Statement

__all__ = [
    "KindAndName",
    "Named",
    "PropertyNeeds",
    "Reads",
    "names_in",
    "names_of",
    "parameter_names",
    "property_needs",
    "reads_of",
]


@lru_cache(maxsize=512)
def parameter_names(text: str) -> tuple[str, ...] | None:
    """Distinct names of a query's parameters in order; None if the text cannot be tokenised."""
    try:
        tokens = tokenise(text)
    except CypherSyntaxError:
        return None  # running the query reports the error
    names = (after[1] for before, after in pairwise(tokens) if before[0] == "$")
    return tuple(dict.fromkeys(names))


_TO_KEY: Final = re.compile(r"\s*\.\s*")
_TO_ENTRY: Final = re.compile(r"[\s,)]*")


KindAndName: TypeAlias = tuple[str, str, bool]
"""(kind, name, True if it is on a relationship); the kinds are those of `Named`."""


class Named(NamedTuple):
    """A name in a query.

    Args:
        kind: The kind of name.
        name: The name without backticks.
        of_relationship: True if it is on a relationship, as a type always is.
        span: Its span in the text.
    """

    kind: Literal["label", "type", "property"]
    name: str
    of_relationship: bool
    span: Span


@lru_cache(maxsize=512)
def names_in(text: str) -> tuple[Named, ...]:
    """The names in a text, in order; empty if it cannot be parsed."""
    try:
        tree = tree_of(text)
    except QueryError:
        return ()
    return tuple(sorted(_Names(tree, text).found(), key=lambda each: each.span.start))


def names_of(query: Statement) -> set[KindAndName]:
    """The result of `names_in` for a query's text, without spans."""
    return {named[:3] for named in _Names(query.tree, query.text).found()}


def _element_kinds(tree: ast.Query, nodes: Iterable[ast.Node]) -> dict[str, bool]:
    """True for each name that is certainly a relationship, False for each that is a node."""
    last = [part.clauses[-1] for part in tree.parts]
    ends = [each.projection for each in last if isinstance(each, ast.Return)]
    unread = {
        id(item)
        for end in ends
        for item in end.items
        if item.name not in all_names(sort.expression for sort in end.order_by)
    }
    found: dict[str, bool] = {}
    aliases: list[tuple[str, str]] = []
    others: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.NodePattern | ast.RelationshipPattern):
            if node.variable is not None:
                is_one = isinstance(node, ast.RelationshipPattern)
                if found.setdefault(node.variable.name, is_one) is not is_one:
                    others.add(node.variable.name)
        elif isinstance(node, ast.ReturnItem):
            if id(node) in unread:
                continue
            if isinstance(node.expression, ast.Variable):
                aliases.append((node.name, node.expression.name))
            else:
                others.add(node.name)
        else:
            declared = (getattr(node, "variable", None), getattr(node, "accumulator", None))
            others.update(each.name for each in declared if each is not None)
    return _with_aliases(found, aliases, others)


def _with_aliases(
    found: dict[str, bool], aliases: list[tuple[str, str]], others: set[str]
) -> dict[str, bool]:
    """The kinds of names that nothing of another kind has, also through ``AS``."""
    while True:
        kinds = {name: kind for name, kind in found.items() if name not in others}
        before = len(others)
        for name, source in aliases:
            kind = None if name in others else kinds.get(source)
            if kind is None or kinds.setdefault(name, kind) is not kind:
                others.add(name)
        if len(others) == before:
            return kinds


class _Names:
    def __init__(self, tree: ast.Query, text: str) -> None:
        self._text = text
        self._nodes = list(walk(tree))
        self._is_relationship = _element_kinds(tree, self._nodes)

    def found(self) -> Iterator[Named]:
        for node in self._nodes:
            if isinstance(node, ast.NodePattern | ast.RelationshipPattern):
                yield from self._in_pattern(node)
            elif isinstance(node, ast.LabelPredicate):
                is_one = self._kind_of(node.subject)
                if is_one is not None:
                    yield from _labels(node.labels, of_relationship=is_one)
            elif isinstance(node, ast.Property):
                yield from self._key(node.subject, node.key, node.subject.span.end, node.span.end)
            elif isinstance(node, ast.MapProjection):
                for each in node.selectors:
                    if isinstance(each, ast.MapProperty):
                        yield from self._key(node.subject, each.key, each.span.start, each.span.end)

    def _in_pattern(self, node: ast.NodePattern | ast.RelationshipPattern) -> Iterator[Named]:
        is_one = isinstance(node, ast.RelationshipPattern)
        labels = node.types if isinstance(node, ast.RelationshipPattern) else node.labels
        yield from _labels(labels, of_relationship=is_one)
        if isinstance(node.properties, ast.MapLiteral):
            before = node.properties.span.start + 1
            for key, expression in node.properties.entries:
                start = self._after(_TO_ENTRY, before)
                yield Named("property", key, is_one, Span(start, start + len(key)))
                before = expression.span.end

    def _key(self, subject: ast.Expression, key: str, before: int, end: int) -> Iterator[Named]:
        is_one = self._kind_of(subject)
        if is_one is not None:
            yield Named("property", key, is_one, Span(self._after(_TO_KEY, before), end))

    def _kind_of(self, subject: ast.Expression) -> bool | None:
        """True for a relationship variable, False for a node variable, None for anything else."""
        if not isinstance(subject, ast.Variable):
            return None
        return self._is_relationship.get(subject.name)

    def _after(self, pattern: re.Pattern[str], place: int) -> int:
        found = pattern.match(self._text, place)
        return place if found is None else found.end()


def _labels(expression: ast.LabelExpression | None, *, of_relationship: bool) -> Iterator[Named]:
    if expression is not None:
        for node in walk(expression):
            if isinstance(node, ast.LabelName):
                kind: Literal["type", "label"] = "type" if of_relationship else "label"
                yield Named(kind, node.name, of_relationship, node.span)


@value(frozen=True, slots=True)
class PropertyNeeds:
    """Property keys that a query names, without those of nodes or relationships returned whole."""

    of_nodes: frozenset[str]
    of_relationships: frozenset[str]
    all: bool = False
    """True if the keys are known only at run time."""


def property_needs(query: Statement) -> PropertyNeeds:
    """The keys that a query reads of nodes and of relationships; cached by text."""
    return _kept.get(query.text, lambda: _property_needs(query))


_kept: Final[LruCache[str, PropertyNeeds]] = LruCache(QUERIES_KEPT)


_OF_ALL: Final = frozenset(("properties", "keys"))


def _property_needs(query: Statement) -> PropertyNeeds:
    nodes = list(walk(query.tree))
    kinds = _element_kinds(query.tree, nodes)
    keys: dict[bool | None, set[str]] = {True: set(), False: set(), None: set()}
    every = False
    for node in nodes:
        if isinstance(node, ast.Property):
            name = node.subject.name if isinstance(node.subject, ast.Variable) else ""
            keys[kinds.get(name)].add(node.key)
        elif isinstance(node, ast.NodePattern | ast.RelationshipPattern):
            if isinstance(node.properties, ast.MapLiteral):
                of = isinstance(node, ast.RelationshipPattern)
                keys[of].update(key for key, _ in node.properties.entries)
        elif isinstance(node, ast.MapProperty):
            keys[None].add(node.key)
        elif isinstance(node, ast.MapProjection | ast.Subscript) or (
            isinstance(node, ast.FunctionCall) and node.name.lower() in _OF_ALL
        ):
            every = True
    # Where the kind of a variable is unknown, the key is read for both.
    of_nodes, of_relationships = (frozenset(keys[kind] | keys[None]) for kind in (False, True))
    return PropertyNeeds(of_nodes, of_relationships, every)


_IDENTITY_FUNCTIONS: Final = frozenset(("count", "id", "elementid", "type"))
"""Functions of an entity's identity only, which no change of the entity affects."""


@value(frozen=True, slots=True)
class Reads:
    """What a query reads; an upper bound if its text does not determine it.

    Args:
        labels: Labels of nodes.
        types: Types of relationships.
        keys: Property keys of nodes or relationships.
        any_node: True if it also reads nodes without one of these labels.
        any_relationship: True if it also reads relationships of other types.
        any_key: True if it also reads other properties, and all labels of returned nodes.
    """

    labels: frozenset[str]
    types: frozenset[str]
    keys: frozenset[str]
    any_node: bool
    any_relationship: bool
    any_key: bool


def reads_of(text: str) -> Reads:
    """Determines what a query reads.

    Raises:
        QueryError: The text cannot be parsed.
    """
    nodes = list(walk(parse(text)))
    node_patterns = [each for each in nodes if isinstance(each, ast.NodePattern)]
    relationships = [each for each in nodes if isinstance(each, ast.RelationshipPattern)]
    labels = [_names(each.labels) for each in node_patterns]
    types = [_names(each.types) for each in relationships]
    # Labels in conditions may apply to any node, whatever its pattern.
    elsewhere = {each.name for each in nodes if isinstance(each, ast.LabelName)}
    unnamed = any(isinstance(each, ast.LabelWildcard | ast.LabelDynamic) for each in nodes)
    return Reads(
        labels=frozenset(elsewhere),
        types=frozenset(elsewhere),
        keys=frozenset(_keys(nodes)),
        any_node=unnamed or None in labels,
        any_relationship=unnamed or None in types,
        any_key=_shows_whole(nodes),
    )


def _names(expression: ast.LabelExpression | None) -> frozenset[str] | None:
    """Names of which every match has one; None if others may match."""
    match expression:
        case ast.LabelName(name=name):
            return frozenset((name,))
        case ast.LabelAnd(operands=operands) | ast.LabelOr(operands=operands):
            found = [_names(each) for each in operands]
            if None in found:
                return None
            return frozenset(name for each in found for name in each or ())
        case _:
            return None


def _keys(nodes: Iterable[ast.Node]) -> Iterable[str]:
    for node in nodes:
        if isinstance(node, ast.Property):
            yield node.key
        elif isinstance(node, ast.NodePattern | ast.RelationshipPattern) and isinstance(
            node.properties, ast.MapLiteral
        ):
            yield from (key for key, _ in node.properties.entries)


def _shows_whole(nodes: list[ast.Node]) -> bool:
    """True if the query may show or test parts of an entity that its text does not name."""
    plain: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.NodePattern | ast.RelationshipPattern):
            plain.add(id(node.variable))
        elif isinstance(node, ast.Property):
            plain.add(id(node.subject))
        elif isinstance(node, ast.FunctionCall) and node.name.lower() in _IDENTITY_FUNCTIONS:
            plain.update(map(id, node.arguments))
        elif isinstance(node, ast.Projection) and node.star:
            return True
    return any(isinstance(node, ast.Variable) and id(node) not in plain for node in nodes)
