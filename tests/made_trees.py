"""Hypothesis strategies for syntax trees of the whole read language.

The trees have the form that a parser gives: a number has its sign in the literal, a column has a
name, a WITH names its expressions, relationships stand between nodes. Names are not resolved: they
may be undefined and of any kind.
"""

import string
from functools import cache

from hypothesis import strategies as st

from gpugda.query import ast
from gpugda.query.ast import BinaryOperator as Op
from gpugda.query.ast import ComparisonOperator as Compare
from gpugda.query.ast import UnaryOperator as Un
from gpugda.types import Span

S = Span(0, 0)  # spans are not compared


def made(kind, *parts, **named):
    """A strategy for one kind of tree node, from strategies for its parts."""
    return st.builds(kind, st.just(S), *parts, **named)


def some(strategy, least=0, most=3):
    return st.lists(strategy, min_size=least, max_size=most).map(tuple)


def maybe(strategy):
    return st.one_of(st.none(), strategy)


NAMES = st.one_of(
    st.sampled_from(["a", "b", "n", "x", "order", "match", "from", "when", "x y", "`", "é"]),
    st.text(alphabet=string.ascii_letters + " `'", min_size=1, max_size=3),
)
VARIABLES = made(ast.Variable, NAMES)
WORDS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=4)
LITERALS = made(
    ast.Literal,
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False),
        WORDS,
    ),
)
BASE = st.one_of(LITERALS, VARIABLES, made(ast.Parameter, NAMES), made(ast.CountStar))

# ------------------------------------------------------------------ types
SIMPLE_TYPES = made(
    ast.SimpleType,
    st.sampled_from(
        [
            *("ANY", "BOOLEAN", "DATE", "DURATION", "FLOAT", "INTEGER", "LOCAL DATETIME"),
            *("LOCAL TIME", "MAP", "NODE", "NOTHING", "NULL", "PATH", "POINT", "PROPERTY VALUE"),
            *("RELATIONSHIP", "STRING", "ZONED DATETIME", "ZONED TIME"),
        ]
    ),
    st.booleans(),
)
VECTOR_TYPES = made(
    ast.VectorType,
    maybe(made(ast.SimpleType, st.sampled_from(["INTEGER8", "FLOAT32", "FLOAT"]))),
    maybe(st.integers(1, 9)),
    st.booleans(),
)
TYPES = st.recursive(
    st.one_of(SIMPLE_TYPES, VECTOR_TYPES),
    lambda inner: st.one_of(
        made(ast.ListType, inner, st.booleans()),
        made(ast.UnionType, some(inner, 2)),
    ),
    max_leaves=4,
)

# ------------------------------------------------------------------ patterns
DIRECTIONS = st.sampled_from(list(ast.Direction))
LENGTHS = st.one_of(
    st.sampled_from([(None, None), (2, 2), (1, 3), (None, 3), (1, None), (0, None)])
).map(lambda bounds: ast.Length(S, *bounds))
QUANTIFIERS = st.sampled_from([(1, None), (0, None), (2, 2), (1, 3), (0, 3), (2, None)]).map(
    lambda bounds: ast.Quantifier(S, *bounds)
)
COUNTED = (ast.SelectorKind.ANY, ast.SelectorKind.SHORTEST, ast.SelectorKind.SHORTEST_GROUPS)
SELECTORS = st.one_of(
    made(ast.Selector, st.sampled_from(COUNTED), st.integers(1, 3)),
    made(ast.Selector, st.sampled_from(COUNTED), made(ast.Parameter, NAMES)),
    made(ast.Selector, st.sampled_from([ast.SelectorKind.ALL, ast.SelectorKind.ALL_SHORTEST])),
)
SHORTEST = made(
    ast.Selector,
    st.sampled_from([ast.SelectorKind.SHORTEST_PATH, ast.SelectorKind.ALL_SHORTEST_PATHS]),
)


def labels(value):
    names = made(ast.LabelName, NAMES)
    base = st.one_of(names, made(ast.LabelWildcard), made(ast.LabelDynamic, value, st.booleans()))
    return st.recursive(
        base,
        lambda inner: st.one_of(
            made(ast.LabelNot, inner),
            made(ast.LabelAnd, some(inner, 2)),
            made(ast.LabelOr, some(inner, 2)),
        ),
        max_leaves=4,
    )


def maps(value):
    return made(ast.MapLiteral, some(st.tuples(NAMES, value), most=2))


def nodes(value):
    return made(
        ast.NodePattern, maybe(VARIABLES), maybe(labels(value)), maybe(maps(value)), maybe(value)
    )


def relationships(value, quantifier=None):
    plain = st.builds(
        ast.RelationshipPattern,
        st.just(S),
        maybe(VARIABLES),
        maybe(labels(value)),
        DIRECTIONS,
        st.none(),
        maybe(maps(value)),
        maybe(value),
        st.none() if quantifier is None else maybe(quantifier),
    )
    long = st.builds(
        ast.RelationshipPattern,
        st.just(S),
        maybe(VARIABLES),
        maybe(labels(value)),
        DIRECTIONS,
        LENGTHS,
        maybe(maps(value)),
        st.none(),
    )
    return st.one_of(plain, long)


def alternating(value, least, quantifier=None):
    """Nodes with relationships between them."""
    hops = some(st.tuples(relationships(value, quantifier), nodes(value)), least, 2)
    return st.builds(
        lambda first, rest: (first, *(element for hop in rest for element in hop)),
        nodes(value),
        hops,
    )


def paths(value):
    """Paths in expressions."""
    return made(ast.Pattern, st.none(), alternating(value, 1))


def shortest_paths(value):
    return made(ast.Pattern, st.none(), alternating(value, 1), SHORTEST)


def patterns(value):
    """Paths in MATCH."""
    inner = made(ast.Pattern, maybe(VARIABLES), alternating(value, 1))
    group = made(ast.GroupPattern, inner, maybe(value), QUANTIFIERS)
    grouped = st.builds(lambda *parts: parts, nodes(value), group, nodes(value))
    alone = made(ast.GroupPattern, inner, maybe(value), st.none()).map(lambda part: (part,))
    elements = st.one_of(alternating(value, 0, QUANTIFIERS), grouped, alone)
    return st.one_of(
        made(ast.Pattern, maybe(VARIABLES), elements, maybe(SELECTORS)),
        made(ast.Pattern, maybe(VARIABLES), alternating(value, 1), SHORTEST),
    )


# ------------------------------------------------------------------ expressions
PREDICATES = [Op.IN, Op.STARTS_WITH, Op.ENDS_WITH, Op.CONTAINS, Op.MATCHES]


def conditions(value):
    """What may follow WHEN in a CASE with an operand."""
    operand = st.just(ast.CaseOperand(S))
    return st.one_of(
        st.builds(
            lambda operator, right: ast.Comparison(S, (ast.CaseOperand(S), right), (operator,)),
            st.sampled_from(list(Compare)),
            value,
        ),
        made(ast.Binary, st.sampled_from(PREDICATES), operand, value),
        made(ast.Unary, st.sampled_from([Un.IS_NULL, Un.IS_NOT_NULL]), operand),
        made(ast.TypePredicate, operand, TYPES, st.booleans()),
        made(ast.NormalizedPredicate, operand, st.sampled_from(list(ast.NormalForm))),
        made(ast.LabelPredicate, operand, labels(value)),
    )


def _comparison(operands, data):
    count = len(operands) - 1
    compare = st.lists(st.sampled_from(list(Compare)), min_size=count, max_size=count)
    return ast.Comparison(S, operands, tuple(data.draw(compare)))


def operators(value):
    return st.one_of(
        made(ast.Binary, st.sampled_from(list(Op)), value, value),
        made(ast.Unary, st.sampled_from(list(Un)), value),
        st.builds(_comparison, some(value, 2, 4), st.data()),
        made(ast.TypePredicate, value, TYPES, st.booleans()),
        made(ast.NormalizedPredicate, value, st.sampled_from(list(ast.NormalForm)), st.booleans()),
        made(ast.LabelPredicate, value, labels(value)),
        made(ast.Property, value, NAMES),
        made(ast.Subscript, value, value),
        made(ast.Slice, value, value, maybe(value)),
        made(ast.Slice, value, st.none(), value),
    )


FORMS = made(ast.Literal, st.sampled_from(["NFC", "NFKD"]))
COORDINATES = made(ast.Literal, st.sampled_from(["INTEGER8", "FLOAT32 NOT NULL"]))


def calls(value):
    alternative = made(ast.CaseAlternative, some(value, 1, 1), value)
    simple = made(ast.CaseAlternative, some(conditions(value), 1, 2), value)
    selectors = st.one_of(
        made(ast.MapProperty, NAMES),
        made(ast.MapAllProperties),
        made(ast.MapEntry, NAMES, value),
        made(ast.MapVariable, VARIABLES),
    )
    return st.one_of(
        made(ast.FunctionCall, st.sampled_from(["f", "a.b.f"]), some(value), st.booleans()),
        made(ast.FunctionCall, st.just("normalize"), st.tuples(value, FORMS)),
        made(ast.FunctionCall, st.just("vector"), st.tuples(value, value, COORDINATES)),
        made(ast.Trim, st.sampled_from(list(ast.TrimSide)), maybe(value), value),
        made(ast.Case, st.none(), some(alternative, 1, 2), maybe(value)),
        made(ast.Case, value, some(simple, 1, 2), maybe(value)),
        made(ast.ListLiteral, some(value)),
        maps(value),
        made(ast.MapProjection, VARIABLES, some(selectors)),
    )


def lists(value):
    return st.one_of(
        made(ast.ListComprehension, VARIABLES, value, maybe(value), maybe(value)),
        made(ast.ListPredicate, st.sampled_from(list(ast.ListQuantifier)), VARIABLES, value, value),
        made(ast.Reduce, VARIABLES, value, VARIABLES, value, value),
        made(ast.AllReduce, VARIABLES, value, VARIABLES, value, value, value),
    )


def with_patterns(value):
    comprehended = made(ast.Pattern, maybe(VARIABLES), alternating(value, 1))
    body = bodies(0, 0)
    return st.one_of(
        made(ast.PatternExpression, paths(value)),
        made(ast.ShortestPathExpression, shortest_paths(value)),
        made(ast.PatternComprehension, comprehended, maybe(value), value),
        made(ast.ExistsSubquery, body),
        made(ast.CountSubquery, body),
        made(ast.CollectSubquery, body),
    )


def _larger(inner):
    return st.one_of(operators(inner), calls(inner), lists(inner), with_patterns(inner))


@cache
def _compound(depth):
    return _larger(expressions(depth - 1))


@st.composite
def expressions(draw, depth=2):
    """An expression of at most ``depth`` levels, not counting subqueries."""
    plain = depth <= 0 or draw(st.integers(0, 2)) == 0
    return draw(BASE if plain else _compound(depth))


# ------------------------------------------------------------------ clauses
def items(value, named):
    alias = NAMES.flatmap(lambda n: made(ast.ReturnItem, value, st.just(n), st.just(n)))
    bare = VARIABLES.map(lambda v: ast.ReturnItem(S, v, None, v.name))
    one = alias if named else st.one_of(alias, bare)
    return st.lists(one, max_size=3, unique_by=lambda item: item.name).map(tuple)


def projections(value, *, star=True):
    sort = some(made(ast.SortItem, value, st.booleans()), most=2)
    group = st.one_of(
        made(ast.GroupBy, some(value)),
        st.just(ast.GroupBy(S, (), all=True)),
    )
    return st.builds(
        lambda distinct, star, found, *rest: ast.Projection(
            S, distinct, star or not found, found, *rest
        ),
        st.booleans(),
        st.booleans() if star else st.just(False),
        items(value, named=False),
        sort,
        maybe(value),
        maybe(value),
        maybe(group),
    )


def matches(value):
    hint = made(ast.Hint, st.just("SCAN"), some(VARIABLES, 1, 1), NAMES)
    index = made(ast.Hint, st.just("RANGE INDEX"), some(VARIABLES, 1, 1), NAMES, some(NAMES, 1))
    join = made(ast.Hint, st.just("JOIN ON"), some(VARIABLES, 1))
    return made(
        ast.Match,
        st.booleans(),
        some(patterns(value), 1, 2),
        maybe(value),
        maybe(st.sampled_from(["REPEATABLE ELEMENTS", "DIFFERENT RELATIONSHIPS"])),
        hints=some(st.one_of(hint, index, join), most=1),
    )


def calls_of_queries(levels, depth):
    query = bodies(levels, depth - 1)
    imports = st.one_of(st.tuples(maybe(some(VARIABLES)), st.just(False)), st.just(((), True)))
    subquery = st.builds(
        lambda body, imported, optional: ast.CallSubquery(S, body, *imported, optional),
        query,
        imports,
        st.booleans(),
    )
    return subquery


def procedures(value):
    item = made(ast.YieldItem, NAMES, VARIABLES)
    name = st.sampled_from(["p", "a.b.p"])
    return st.one_of(
        made(ast.CallProcedure, name, maybe(some(value)), optional=st.booleans()),
        made(
            ast.CallProcedure,
            name,
            maybe(some(value)),
            some(item, 1),
            st.just(False),
            maybe(value),
            st.booleans(),
        ),
        made(ast.CallProcedure, name, maybe(some(value)), st.just(()), st.just(True)),
    )


def middle_clauses(value, levels, depth):
    several = [
        matches(value),
        made(ast.With, projections(value), maybe(value)),
        made(ast.Unwind, value, VARIABLES, st.booleans()),
        made(ast.Let, some(made(ast.LetItem, VARIABLES, value), 1)),
        made(ast.Filter, value),
        made(ast.LoadCsv, value, VARIABLES, st.booleans(), maybe(made(ast.Literal, WORDS))),
        procedures(value),
    ]
    if depth > 0:
        several.append(calls_of_queries(levels, depth))
    return st.one_of(several)


def single_queries(value, levels, depth):
    last = st.one_of(made(ast.Return, projections(value)), st.just(ast.Finish(S)))
    clauses = st.builds(
        lambda use, middle, end: ast.SingleQuery(S, (*use, *middle, end)),
        some(made(ast.Use, VARIABLES), most=1),
        some(middle_clauses(value, levels, depth), most=2),
        last,
    )
    if depth <= 0:
        return clauses
    inner = bodies(levels, depth - 1)
    branch = made(ast.WhenBranch, value, inner)
    whole = st.one_of(
        made(ast.When, some(branch, 1, 2), maybe(inner)), made(ast.Braces, inner)
    ).map(lambda clause: ast.SingleQuery(S, (clause,)))
    return st.one_of(clauses, whole)


def _body(parts, union_all, chain):
    if chain:  # NEXT binds less tightly than UNION
        clauses = [parts[0].clauses]
        for part in parts[1:]:
            clauses += [(ast.Next(S),), part.clauses]
        return ast.QueryBody(S, (ast.SingleQuery(S, tuple(c for cs in clauses for c in cs)),))
    return ast.QueryBody(S, parts, (), union_all and len(parts) > 1)


@cache
def _bodies(levels, depth):
    parts = some(single_queries(expressions(levels), levels, depth), 1, 2)
    return st.builds(_body, parts, st.booleans(), st.booleans())


@st.composite
def bodies(draw, levels=1, depth=1):
    """A query in braces.

    Args:
        draw: Hypothesis' draw function.
        levels: Levels of expressions.
        depth: Levels of queries nested in clauses.
    """
    return draw(_bodies(levels, depth))
