"""Renders syntax nodes as Cypher text; parsing the text gives the same tree."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from gpugda.query import ast
from gpugda.query.constructs import clause_name, column_name
from gpugda.query.lexer import CLAUSE_STARTS, COMMANDS, FOLLOWS_OPERAND, words

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "WRITERS",
    "Writer",
    "expression_text",
    "joined",
    "labels_text",
    "name_text",
    "query_text",
    "text_of",
    "value_text",
    "with_colons",
]

Writer = Callable[[Any], str]

WRITERS: Final[dict[type, Writer]] = {}
"""Writer by node class, filled by the modules of labels, expressions, patterns and clauses, which
depend on one another."""

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED_WORDS: Final = (
    CLAUSE_STARTS
    | COMMANDS
    | {word for word in FOLLOWS_OPERAND if word.isalpha()}
    | words(
        "ALL ANY BOTH CASE COLLECT COUNT CYPHER DISTINCT EXISTS EXPLAIN FALSE FROM GROUP INF"
        " INFINITY LEADING NAN NONE NOT NULL PROFILE REDUCE SHORTEST SINGLE TRAILING TRUE TYPED"
    )
)
"""Words that have another meaning in some positions."""

_ESCAPES: Final = {
    "\\": "\\\\",
    "'": "\\'",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\b": "\\b",
    "\f": "\\f",
}
_TO_ESCAPE: Final = re.compile(r"[\\'\x00-\x1f\x7f]")


def text_of(node: ast.Node) -> str:
    """A node of any kind as Cypher.

    Raises:
        KeyError: The node has no writer, such as a clause that writes.
    """
    return WRITERS[type(node)](node)


def joined(*pieces: str | None) -> str:
    """The non-empty pieces, joined by spaces."""
    return " ".join(piece for piece in pieces if piece)


def name_text(name: str) -> str:
    """A name, in backticks if it needs them."""
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in _QUOTED_WORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def with_colons(names: Iterable[str]) -> str:
    """Labels or types for a message, each in Cypher syntax: ``:Person, :`odd name```."""
    return ", ".join(f":{name_text(name)}" for name in names)


def value_text(value: Any) -> str:
    """A literal; lists and tuples become list literals."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{_TO_ESCAPE.sub(_escaped, value)}'"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    return _ESCAPES.get(character) or f"\\u{ord(character):04x}"


_FUNCTIONS: Final = (ast.SelectorKind.SHORTEST_PATH, ast.SelectorKind.ALL_SHORTEST_PATHS)
_ARROWS: Final = {
    ast.Direction.OUTGOING: ("-", "->"),
    ast.Direction.INCOMING: ("<-", "-"),
    ast.Direction.BOTH: ("-", "-"),
}


def _pattern(pattern: ast.Pattern) -> str:
    path = "".join(map(text_of, pattern.elements))
    selector = pattern.selector
    if selector is not None:
        call = selector.kind in _FUNCTIONS
        path = f"{selector.kind}({path})" if call else f"{text_of(selector)} {path}"
    return path if pattern.variable is None else f"{text_of(pattern.variable)} = {path}"


def _selector(selector: ast.Selector) -> str:
    if selector.count is None:
        return str(selector.kind)
    count = selector.count if isinstance(selector.count, int) else text_of(selector.count)
    groups = selector.kind is ast.SelectorKind.SHORTEST_GROUPS
    word = "SHORTEST" if groups else selector.kind
    return f"{word} {count} {'GROUPS' if groups else 'PATHS'}"


def _node(node: ast.NodePattern) -> str:
    return f"({_filled(node, _labelled(node.variable, node.labels))})"


def _relationship(node: ast.RelationshipPattern) -> str:
    inside = _labelled(node.variable, node.types)
    if node.length is not None:
        inside += text_of(node.length)
    inside = _filled(node, inside)
    left, right = _ARROWS[node.direction]
    quantifier = "" if node.quantifier is None else text_of(node.quantifier)
    # Without brackets, '--' or '-->' remains.
    return f"{left}{f'[{inside}]' if inside else ''}{right}{quantifier}"


def _labelled(variable: ast.Variable | None, labels: ast.LabelExpression | None) -> str:
    name = "" if variable is None else text_of(variable)
    return name if labels is None else f"{name}:{text_of(labels)}"


def _filled(node: ast.NodePattern | ast.RelationshipPattern, inside: str) -> str:
    # In parentheses, as in (WHERE $map) the keyword would be parsed as a variable.
    properties = None if node.properties is None else text_of(node.properties)
    where = None if node.where is None else f"WHERE ({text_of(node.where)})"
    return joined(inside, properties, where)


def _length(length: ast.Length) -> str:
    low = "" if length.minimum is None else str(length.minimum)
    high = "" if length.maximum is None else str(length.maximum)
    return f"*{low}" if low == high else f"*{low}..{high}"


def _quantifier(quantifier: ast.Quantifier) -> str:
    low, high = quantifier.minimum, quantifier.maximum
    if high is None and low <= 1:
        return "+" if low else "*"
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


def _group(group: ast.GroupPattern) -> str:
    where = None if group.where is None else f"WHERE {text_of(group.where)}"
    quantifier = "" if group.quantifier is None else text_of(group.quantifier)
    return f"({joined(text_of(group.pattern), where)}){quantifier}"


WRITERS.update(
    {
        ast.Pattern: _pattern,
        ast.Selector: _selector,
        ast.NodePattern: _node,
        ast.RelationshipPattern: _relationship,
        ast.Length: _length,
        ast.Quantifier: _quantifier,
        ast.GroupPattern: _group,
    }
)


_COMPOUND: Final = (
    ast.Unary
    | ast.Binary
    | ast.Comparison
    | ast.LabelPredicate
    | ast.TypePredicate
    | ast.NormalizedPredicate
    | ast.Case
    | ast.PatternExpression
)
"""Expressions that need parentheses as operands."""

_LEFT_ASSOCIATIVE: Final = (
    ast.BinaryOperator.ADD,
    ast.BinaryOperator.MULTIPLY,
    ast.BinaryOperator.CONCATENATE,
)
"""Long chains of these are rendered without parentheses, whose nesting is limited. Minus is not
among them: ``(a:A) - [b] - (c:C)`` is a path."""

_WITH_KEYWORD: Final = {"normalize": 2, "vector": 3, "vector_distance": 3, "vector_norm": 2}
"""Functions whose last argument is a keyword, with their number of arguments in this form."""
_KEYWORD: Final = re.compile(r"[A-Z][A-Z0-9_]*(?: NOT NULL)?")


# ------------------------------------------------------------------ labels
def labels_text(labels: ast.LabelExpression) -> str:
    """A label expression, without the colon."""
    return text_of(labels)


def _label_operand(labels: ast.LabelExpression) -> str:
    text = text_of(labels)
    return f"({text})" if isinstance(labels, ast.LabelAnd | ast.LabelOr) else text


def _label_and(labels: ast.LabelAnd) -> str:
    return (":" if labels.colon else "&").join(map(_label_operand, labels.operands))


def _dynamic_label(labels: ast.LabelDynamic) -> str:
    return f"${'any' if labels.any else ''}({text_of(labels.expression)})"


# ------------------------------------------------------------------ operators
def _operand(node: ast.Expression) -> str:
    text = text_of(node)
    return f"({text})" if isinstance(node, _COMPOUND) else text


def _unary(node: ast.Unary) -> str:
    operand = _operand(node.operand)
    if node.operator in (ast.UnaryOperator.IS_NULL, ast.UnaryOperator.IS_NOT_NULL):
        return f"{operand} {node.operator}"
    if node.operator is ast.UnaryOperator.NOT:
        return f"NOT {operand}"
    # A sign directly before a number would be parsed as part of it.
    return (
        f"{node.operator}({operand})"
        if isinstance(node.operand, ast.Literal)
        else (f"{node.operator}{operand}")
    )


def _binary(node: ast.Binary) -> str:
    left, chain = node.left, [_operand(node.right)]
    if node.operator in _LEFT_ASSOCIATIVE:
        while isinstance(left, ast.Binary) and left.operator is node.operator:
            chain.append(_operand(left.right))
            left = left.left
    chain.append(_operand(left))
    return f" {node.operator} ".join(reversed(chain))


def _comparison(node: ast.Comparison) -> str:
    parts = [_operand(node.operands[0])]
    for operator, operand in zip(node.operators, node.operands[1:], strict=True):
        parts += [operator, _operand(operand)]
    return " ".join(parts)


def _type_predicate(node: ast.TypePredicate) -> str:
    negated = "NOT " if node.negated else ""
    return f"{_operand(node.operand)} IS {negated}TYPED {text_of(node.type)}"


def _normalized_predicate(node: ast.NormalizedPredicate) -> str:
    negated = "NOT " if node.negated else ""
    return f"{_operand(node.operand)} IS {negated}{node.form} NORMALIZED"


# ------------------------------------------------------------------ parts and calls
def _subject(node: ast.Expression) -> str:
    # A number directly before the dot would be parsed as a float.
    text = _operand(node)
    return f"({text})" if isinstance(node, ast.Literal) else text


def _slice(node: ast.Slice) -> str:
    start = "" if node.start is None else text_of(node.start)
    end = "" if node.end is None else text_of(node.end)
    return f"{_operand(node.subject)}[{start}..{end}]"


def _call(node: ast.FunctionCall) -> str:
    distinct = "DISTINCT " if node.distinct else ""
    arguments = [*map(text_of, node.arguments)]
    if _WITH_KEYWORD.get(node.name.lower()) == len(arguments):
        last = node.arguments[-1]
        if isinstance(last, ast.Literal) and _KEYWORD.fullmatch(str(last.value)):
            arguments[-1] = last.value
    name = ".".join(_plain(part) for part in node.name.split("."))
    return f"{name}({distinct}{', '.join(arguments)})"


def _plain(part: str) -> str:
    # Keywords such as count and exists are function names, too.
    return part if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", part) else name_text(part)


def _trim(node: ast.Trim) -> str:
    characters = None if node.characters is None else _operand(node.characters)
    return f"trim({joined(node.side, characters, 'FROM', _operand(node.subject))})"


def _list(node: ast.ListLiteral) -> str:
    items = [*map(text_of, node.items)]
    if node.items and _is_in(node.items[0]):
        items[0] = f"({items[0]})"  # otherwise it would be a comprehension
    return f"[{', '.join(items)}]"


def _is_in(node: ast.Expression) -> bool:
    return isinstance(node, ast.Binary) and node.operator is ast.BinaryOperator.IN


def _map(node: ast.MapLiteral) -> str:
    entries = (f"{name_text(key)}: {text_of(value)}" for key, value in node.entries)
    return f"{{{', '.join(entries)}}}"


def _map_projection(node: ast.MapProjection) -> str:
    return f"{text_of(node.subject)} {{{', '.join(map(text_of, node.selectors))}}}"


# ------------------------------------------------------------------ CASE
def _case(node: ast.Case) -> str:
    pieces = ["CASE" if node.operand is None else f"CASE {_operand(node.operand)}"]
    for alternative in node.alternatives:
        write = text_of if node.operand is None else _condition
        conditions = ", ".join(map(write, alternative.conditions))
        pieces.append(f"WHEN {conditions} THEN {text_of(alternative.result)}")
    if node.otherwise is not None:
        pieces.append(f"ELSE {text_of(node.otherwise)}")
    return joined(*pieces, "END")


def _condition(node: ast.Expression) -> str:
    """A condition of a CASE with an operand, without that operand."""
    if isinstance(node, ast.Comparison) and node.operators == (ast.ComparisonOperator.EQUAL,):
        # In parentheses, as a value that begins like an operator would be parsed as one.
        return _operand(node.operands[1])
    return text_of(node).lstrip()


# ------------------------------------------------------------------ lists
def _comprehension(node: ast.ListComprehension) -> str:
    where = None if node.where is None else f"WHERE {_operand(node.where)}"
    bar = None if node.projection is None else f"| {_operand(node.projection)}"
    return f"[{joined(_element(node.variable, node.elements), where, bar)}]"


def _pattern_comprehension(node: ast.PatternComprehension) -> str:
    where = None if node.where is None else f"WHERE {_operand(node.where)}"
    return f"[{joined(text_of(node.pattern), where, '|', _operand(node.projection))}]"


def _list_predicate(node: ast.ListPredicate) -> str:
    element = _element(node.variable, node.elements)
    return f"{node.quantifier}({element} WHERE {text_of(node.where)})"


def _reduce(node: ast.Reduce | ast.AllReduce) -> str:
    start = f"{text_of(node.accumulator)} = {_operand(node.initial)}"
    text = f"{start}, {_element(node.variable, node.elements)} | {_operand(node.step)}"
    if isinstance(node, ast.AllReduce):
        return f"allReduce({text}, {text_of(node.predicate)})"
    return f"reduce({text})"


def _element(variable: ast.Variable, elements: ast.Expression) -> str:
    return f"{text_of(variable)} IN {_operand(elements)}"


# ------------------------------------------------------------------ types
def _union_type(node: ast.UnionType) -> str:
    return " | ".join(map(_alternative, node.alternatives))


def _alternative(node: ast.CypherType) -> str:
    return f"ANY<{text_of(node)}>" if isinstance(node, ast.UnionType) else text_of(node)


def _vector_type(node: ast.VectorType) -> str:
    coordinate = "" if node.coordinate is None else f"<{text_of(node.coordinate)}>"
    dimension = "" if node.dimension is None else f"({node.dimension})"
    return f"VECTOR{coordinate}{dimension}{_not_null(node)}"


def _not_null(node: ast.SimpleType | ast.ListType | ast.VectorType) -> str:
    return " NOT NULL" if node.not_null else ""


WRITERS.update(
    {
        ast.LabelName: lambda node: name_text(node.name),
        ast.LabelWildcard: lambda _: "%",
        ast.LabelNot: lambda node: f"!{_label_operand(node.operand)}",
        ast.LabelAnd: _label_and,
        ast.LabelOr: lambda node: "|".join(map(_label_operand, node.operands)),
        ast.LabelDynamic: _dynamic_label,
        ast.Literal: lambda node: value_text(node.value),
        ast.Parameter: lambda node: f"${name_text(node.name)}",
        ast.Variable: lambda node: name_text(node.name),
        ast.Property: lambda node: f"{_subject(node.subject)}.{name_text(node.key)}",
        ast.Subscript: lambda node: f"{_operand(node.subject)}[{text_of(node.index)}]",
        ast.Slice: _slice,
        ast.ListLiteral: _list,
        ast.MapLiteral: _map,
        ast.Unary: _unary,
        ast.Binary: _binary,
        ast.Comparison: _comparison,
        ast.LabelPredicate: lambda node: f"{_operand(node.subject)}:{text_of(node.labels)}",
        ast.TypePredicate: _type_predicate,
        ast.NormalizedPredicate: _normalized_predicate,
        ast.FunctionCall: _call,
        ast.CountStar: lambda _: "count(*)",
        ast.Trim: _trim,
        ast.Case: _case,
        ast.CaseOperand: lambda _: "",
        ast.ListComprehension: _comprehension,
        ast.PatternComprehension: _pattern_comprehension,
        ast.ListPredicate: _list_predicate,
        ast.Reduce: _reduce,
        ast.AllReduce: _reduce,
        ast.MapProjection: _map_projection,
        ast.MapProperty: lambda node: f".{name_text(node.key)}",
        ast.MapAllProperties: lambda _: ".*",
        ast.MapEntry: lambda node: f"{name_text(node.key)}: {text_of(node.value)}",
        ast.MapVariable: lambda node: text_of(node.variable),
        ast.PatternExpression: lambda node: text_of(node.pattern),
        ast.ShortestPathExpression: lambda node: text_of(node.pattern),
        ast.ExistsSubquery: lambda node: f"EXISTS {{ {text_of(node.query)} }}",
        ast.CountSubquery: lambda node: f"COUNT {{ {text_of(node.query)} }}",
        ast.CollectSubquery: lambda node: f"COLLECT {{ {text_of(node.query)} }}",
        ast.SimpleType: lambda node: node.name + _not_null(node),
        ast.ListType: lambda node: f"LIST<{text_of(node.element)}>{_not_null(node)}",
        ast.VectorType: _vector_type,
        ast.UnionType: _union_type,
    }
)


_OPTIONAL: Final = "OPTIONAL"


def _commas(nodes: Iterable[ast.Node]) -> str:
    return ", ".join(map(text_of, nodes))


def _after(word: str, node: ast.Node | None) -> str | None:
    return None if node is None else f"{word} {text_of(node)}"


# ------------------------------------------------------------------ queries
def _query(query: ast.Query) -> str:
    options = [f"{name}={value}" for name, value in query.options]
    version = None if query.version is None else str(query.version)
    prefix = joined("CYPHER", version, *options) if version or options else None
    return joined(prefix, query.mode, text_of(query.body))


def _body(body: ast.QueryBody) -> str:
    union = " UNION ALL " if body.union_all else " UNION "
    return union.join(map(text_of, body.parts))


def _single_query(query: ast.SingleQuery) -> str:
    return " ".join(map(text_of, query.clauses))


# ------------------------------------------------------------------ MATCH
def _match(clause: ast.Match) -> str:
    hints = [*map(text_of, clause.hints)]
    where = _after("WHERE", clause.where)
    return joined(clause_name(clause), clause.mode, _commas(clause.patterns), *hints, where)


def _hint(hint: ast.Hint) -> str:
    label = "" if hint.label is None else f":{name_text(hint.label)}"
    keys = f"({', '.join(map(name_text, hint.keys))})" if hint.keys else ""
    return f"USING {hint.kind} {_commas(hint.variables)}{label}{keys}"


# ------------------------------------------------------------------ projections
def _projection(body: ast.Projection) -> str:
    items = [*(["*"] if body.star else []), *map(text_of, body.items)]
    distinct = "DISTINCT" if body.distinct else None
    grouping = None if body.group_by is None else text_of(body.group_by)
    return joined(distinct, ", ".join(items), grouping, _order_skip_limit(body))


def _item(item: ast.ReturnItem) -> str:
    """An item, with AS if its text would give the column another name."""
    text = text_of(item.expression)
    same = item.alias is None and column_name(item.expression, text) == item.name
    return text if same else f"{text} AS {name_text(item.name)}"


def _group_by(grouping: ast.GroupBy) -> str:
    return f"GROUP BY {'ALL' if grouping.all else _commas(grouping.keys) or '()'}"


def _order_skip_limit(body: ast.Projection | ast.OrderSkipLimit) -> str:
    order = f"ORDER BY {_commas(body.order_by)}" if body.order_by else None
    return joined(order, _after("SKIP", body.skip), _after("LIMIT", body.limit))


def _with(clause: ast.With) -> str:
    return joined("WITH", text_of(clause.projection), _after("WHERE", clause.where))


# ------------------------------------------------------------------ rows and values
def _unwind(clause: ast.Unwind) -> str:
    elements, variable = text_of(clause.elements), text_of(clause.variable)
    return f"FOR {variable} IN {elements}" if clause.is_for else f"UNWIND {elements} AS {variable}"


def _load_csv(clause: ast.LoadCsv) -> str:
    headers = "WITH HEADERS" if clause.headers else None
    source = f"FROM {text_of(clause.url)} AS {text_of(clause.variable)}"
    ending = None
    if clause.terminator is not None:
        ending = f"FIELDTERMINATOR {value_text(clause.terminator.value)}"
    return joined("LOAD CSV", headers, source, ending)


# ------------------------------------------------------------------ CALL
def _call_subquery(clause: ast.CallSubquery) -> str:
    """A reading subquery.

    Raises:
        KeyError: It runs in its own transactions, so it writes.
    """
    imports = None
    if clause.imports is not None:
        imports = f"({'*' if clause.imports_all else _commas(clause.imports)})"
    transactions = None if clause.transactions is None else text_of(clause.transactions)
    body = f"{{ {text_of(clause.query)} }}"
    return joined(_OPTIONAL if clause.optional else None, "CALL", imports, body, transactions)


def _call_procedure(clause: ast.CallProcedure) -> str:
    name = ".".join(map(name_text, clause.name.split(".")))
    if clause.arguments is not None:
        name += f"({_commas(clause.arguments)})"
    columns = None
    if clause.items is not None:
        columns = f"YIELD {'*' if clause.yields_all else _commas(clause.items)}"
    where = _after("WHERE", clause.where)
    return joined(_OPTIONAL if clause.optional else None, "CALL", name, columns, where)


def _yield_item(item: ast.YieldItem) -> str:
    column, variable = name_text(item.column), text_of(item.variable)
    return column if column == variable else f"{column} AS {variable}"


# ------------------------------------------------------------------ queries as clauses
def _when(clause: ast.When) -> str:
    otherwise = clause.otherwise
    end = None if otherwise is None else f"ELSE {{ {text_of(otherwise)} }}"
    return joined(*map(text_of, clause.branches), end)


def _when_branch(branch: ast.WhenBranch) -> str:
    return f"WHEN {text_of(branch.condition)} THEN {{ {text_of(branch.query)} }}"


WRITERS.update(
    {
        ast.Query: _query,
        ast.QueryBody: _body,
        ast.SingleQuery: _single_query,
        ast.Match: _match,
        ast.Hint: _hint,
        ast.Projection: _projection,
        ast.ReturnItem: _item,
        ast.GroupBy: _group_by,
        ast.SortItem: lambda item: text_of(item.expression) + (" DESC" if item.descending else ""),
        ast.Return: lambda clause: f"RETURN {text_of(clause.projection)}",
        ast.With: _with,
        ast.Finish: lambda _: "FINISH",
        ast.OrderSkipLimit: _order_skip_limit,
        ast.Unwind: _unwind,
        ast.Let: lambda clause: f"LET {_commas(clause.items)}",
        ast.LetItem: lambda item: f"{text_of(item.variable)} = {text_of(item.expression)}",
        ast.Filter: lambda clause: f"FILTER WHERE {text_of(clause.predicate)}",
        ast.Use: lambda clause: f"USE {text_of(clause.graph)}",
        ast.LoadCsv: _load_csv,
        ast.CallSubquery: _call_subquery,
        ast.CallProcedure: _call_procedure,
        ast.YieldItem: _yield_item,
        ast.When: _when,
        ast.WhenBranch: _when_branch,
        ast.Braces: lambda clause: f"{{ {text_of(clause.query)} }}",
        ast.Next: lambda _: "NEXT",
    }
)


def expression_text(node: ast.Expression) -> str:
    """An expression as Cypher; parsing it gives the same tree.

    Raises:
        KeyError: The expression is of a kind that no query has.
    """
    return text_of(node)


def query_text(query: ast.Query | ast.QueryBody) -> str:
    """A reading query as Cypher on one line.

    Parsing it gives the same tree, except that a column named by its expression's original text
    gets this name with AS.

    Raises:
        KeyError: A clause writes or is a command, of which the tree does not keep enough.
    """
    return text_of(query)
