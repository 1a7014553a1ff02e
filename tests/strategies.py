"""Random small multigraphs and random queries of the supported subset."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from neo4j.time import Date, DateTime

NodeSpec = tuple[tuple[str, ...], dict[str, Any]]
RelationshipSpec = tuple[int, str, int, dict[str, Any]]

_HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large]
_EXAMPLES = {"dev": 6, "ci": 40, "thorough": 300}
"""By profile: of `make test`, of `make test-all`, and of whoever has an hour."""
settings.register_profile(
    "dev", max_examples=_EXAMPLES["dev"], deadline=None, suppress_health_check=_HEALTH
)
for _name in ("ci", "thorough"):
    settings.register_profile(
        _name,
        max_examples=_EXAMPLES[_name],
        deadline=None,
        derandomize=True,
        suppress_health_check=_HEALTH,
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def is_thorough() -> bool:
    """True with the profile that spares no time."""
    return settings().max_examples >= _EXAMPLES["thorough"]


def examples(count: int) -> int:
    """How many examples of ``count`` a test draws: a quarter with `ci`, an eighth with `dev`."""
    if is_thorough():
        return count
    return max(1, count // (4 if settings().max_examples >= _EXAMPLES["ci"] else 8))


LABELS = ("A", "B", "C", "Odd label")
TYPES = ("R", "S", "T")
TEXTS = ("", "a", "ab", "b", "B", "Äb", "aé", "日本", "a b", "ßn", "𝄞a", "it's")
INTEGERS = (-1, 0, 1, 2, 3, 2**53, 2**53 + 1)
FLOATS = (-0.5, 0.0, -0.0, 1.0, 2.0, 2.5, float(2**53), math.inf)
ODD_FLOATS = (math.nan, 1.0, -math.inf)
DAYS = (Date(2020, 1, 1), Date(2020, 1, 2), DateTime(2020, 1, 2), DateTime(2020, 1, 2, 3))
LISTS = ([], [1], [1, 2], [2, 1], [1.0], ["a"], ["a", "b"], [True])


# ------------------------------------------------------------------ graphs
@st.composite
def multigraphs(draw: Any) -> tuple[list[NodeSpec], list[RelationshipSpec]]:
    """Nodes and relationships as `make_graph` takes them; sometimes none."""
    values = draw(_value_choices())
    # By default, lists are mostly short, and then most queries match nothing.
    node_count = draw(st.sampled_from([0, 1, 2, 3, 3, 4, 5, 6, 8]))
    one_node = st.tuples(_label_sets, _node_properties(values))
    nodes = draw(st.lists(one_node, min_size=node_count, max_size=node_count))
    if not nodes:
        return [], []
    node = st.integers(0, len(nodes) - 1)
    types = draw(st.sampled_from([TYPES, TYPES[:1], TYPES[:2]]))
    one = st.tuples(node, st.sampled_from(types), node, _relationship_properties(values))
    count = draw(st.sampled_from([0, 1, 3, 5, 8, 8, 10, 10]))
    relationships = draw(st.lists(one, min_size=count, max_size=count))
    copies = draw(st.lists(st.sampled_from(relationships), max_size=2)) if relationships else []
    return nodes, relationships + copies


_label_sets = st.lists(st.sampled_from(LABELS), max_size=4, unique=True).map(tuple)


def _value_choices() -> st.SearchStrategy[st.SearchStrategy[Any]]:
    # A property's values mostly have one type over the whole graph, sometimes several.
    numbers = st.sampled_from(INTEGERS[:5])
    return st.sampled_from(
        [
            numbers,
            st.sampled_from(INTEGERS),
            st.sampled_from(FLOATS),
            st.sampled_from(INTEGERS + FLOATS),
            st.one_of(numbers, st.sampled_from(FLOATS), st.sampled_from(TEXTS), st.booleans()),
        ]
    )


def _node_properties(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "x": values,
            "y": st.sampled_from(INTEGERS[1:4]),
            "z": st.sampled_from(ODD_FLOATS),
            "name": st.sampled_from(TEXTS),
            "flag": st.booleans(),
            "list": st.sampled_from(LISTS),
            "day": st.sampled_from(DAYS),
        },
    )


def _relationship_properties(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={"x": values, "name": st.sampled_from(TEXTS[:4])})


# ------------------------------------------------------------------ queries
@dataclass(frozen=True)
class QueryCase:
    """A query, and the differences that its answer may show.

    all_rows: the text without SKIP and LIMIT.
    merges: 1 and 1.0 are interchangeable (DISTINCT, grouping, ties of an order).
    total_order: ORDER BY has all columns, so that SKIP and LIMIT leave no choice.
    sorted_columns: columns by which the rows are sorted, most important first.
    uses_ids: the answer depends on which node or relationship has the smaller id.
    """

    text: str
    parameters: dict[str, Any]
    all_rows: str
    merges: bool
    total_order: bool
    sorted_columns: tuple[int, ...]
    uses_ids: bool = False

    @property
    def is_window(self) -> bool:
        return self.text != self.all_rows


PARAMETERS = {
    "one": 1,
    "half": 2.5,
    "text": "a",
    "none": None,
    "yes": True,
    "numbers": [1, 2.0, None],
    "texts": ["a", "Äb", ""],
    "two": 2,
}


@st.composite
def query_texts(draw: Any) -> QueryCase:
    """A valid query: one or two MATCH clauses and a RETURN, at most four relationships in all."""
    writer = _Writer(draw, colons=draw(st.integers(0, 99)) >= 85)
    clauses = [writer.match() for _ in range(draw(st.sampled_from([1, 1, 1, 2])))]
    return writer.finish(clauses)


_FAN = 4
"""Number of relationships of a fan."""


@dataclass
class _Writer:
    draw: Callable[[st.SearchStrategy[Any]], Any]
    nodes: list[str] = field(default_factory=list)
    relationships: list[str] = field(default_factory=list)
    budget: int = 4
    groups: bool = False
    """Inside a DISTINCT or grouping: whether NaN equals NaN there depends on Neo4j's plan."""
    colons: bool = False
    """Several labels as `:A:B`; no clause may mix that with `&`, `|`, `!`, `%`."""
    ids: list[str] = field(default_factory=list)
    """Variables that are compared by order, which is that of their ids."""
    used: list[str] = field(default_factory=list)
    """Relationship variables of this clause: a second use in it matches nothing, so it is rare."""

    def chance(self, percent: int) -> bool:
        # 0, to which examples shrink, means no: the simplest query has no optional parts.
        return bool(self.draw(st.integers(0, 99)) >= 100 - percent)

    def choose(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    # -------------------------------------------------------------- patterns
    def match(self) -> str:
        self.used = []
        if self.budget >= _FAN and self.chance(15):
            patterns = self.fan()
        else:
            patterns = [self.pattern() for _ in range(self.choose([1, 1, 2, 3]))]
        where = f" WHERE {self.predicate(2)}" if self.variables and self.chance(40) else ""
        return f"MATCH {', '.join(patterns)}{where}"

    @property
    def variables(self) -> list[str]:
        return self.nodes + self.relationships

    def fan(self) -> list[str]:
        """Query nodes with relationships to the same one or two: their counts multiply."""
        self.budget -= _FAN
        ends = self.choose([("a", "b"), ("a", "b"), ("a", "a")])
        fans = [(spoke, end) for spoke in ("c", "d") for end in ends]
        return [f"{self.node(spoke)}{self.relationship()}{self.node(end)}" for spoke, end in fans]

    def pattern(self) -> str:
        length = min(self.budget, self.choose([0, 1, 1, 2, 2, 3, 4]))
        self.budget -= length
        parts = [self.node()]
        for _ in range(length):
            parts += [self.relationship(), self.node()]
        return "".join(parts)

    def node(self, name: str | None = None) -> str:
        if name is None:
            name = self.choose(["", "a", "b", "c", "d", "e", "`my node`"])
        inside = self.labels(LABELS) if self.chance(12) else ""
        inside += self.inline(name, replace(self, nodes=[*self.nodes, name]))
        if name and name not in self.nodes:
            self.nodes.append(name)
        return f"({name}{inside})"

    def relationship(self) -> str:
        fresh = [name for name in ("r", "s", "t") if name not in self.used]
        name = self.choose(["", *(fresh if self.chance(95) else ("r", "s", "t"))])
        inside = self.labels(TYPES) if self.chance(20) else ""
        scope = replace(self, relationships=[*self.relationships, name])
        inside += self.inline(name, scope)
        if name and name not in self.relationships:
            self.relationships.append(name)
        self.used.append(name)
        body = f"[{name}{inside}]" if name or inside or self.chance(30) else ""
        left, right = self.choose([("-", "->"), ("-", "->"), ("<-", "-"), ("-", "-")])
        return f"{left}{body}{right}"

    def labels(self, names: Sequence[str]) -> str:
        if not self.colons:
            return f":{self.label_expression(names, 2)}"
        sign = ":" if names is LABELS else "|"
        chosen = [_quoted(self.choose(names)) for _ in range(self.choose([1, 2]))]
        return f":{sign.join(chosen)}"

    def label_expression(self, names: Sequence[str], depth: int) -> str:
        kind = self.choose(["name"] * 8 + ["not", "and", "or", "or", "any"])
        if kind == "any":
            return "%"
        if kind == "name" or depth == 0:
            return _quoted(self.choose([*names, "Nowhere"] if self.chance(6) else names))
        if kind == "not":
            return f"!{self.label_expression(names, 0)}"
        operands = [self.label_expression(names, depth - 1) for _ in range(2)]
        sign = "&" if kind == "and" else "|"
        return f"({sign.join(operands)})" if depth < 2 else sign.join(operands)

    def inline(self, own: str, scope: _Writer) -> str:
        if not self.chance(5):
            return ""
        if own and self.chance(30):
            return f" WHERE {scope.predicate(1)}"
        value = self.choose(["1", "1.0", "'a'", "$one", "$none", "true", *self._properties()])
        key = self.choose(["x", "x", "y", "name", "flag"])
        return f" {{{key}: {value}}}"

    # -------------------------------------------------------------- expressions
    def _properties(self) -> list[str]:
        keys = ["x", "x", "x", "y", "name", "name", "flag", "list", "day", "nowhere"]
        keys += [] if self.groups else ["z"]
        return [f"{variable}.{key}" for variable in self.variables for key in keys]

    def property(self) -> str:
        return str(self.choose(self._properties()))

    def predicate(self, depth: int) -> str:
        if depth and self.chance(40):
            kind = self.choose(["NOT", "AND", "AND", "OR", "XOR"])
            left = self.predicate(depth - 1)
            if kind == "NOT":
                return f"NOT ({left})"
            right = self.predicate(depth - 1)
            return f"({left} {kind} {right})" if self.chance(70) else f"{left} {kind} {right}"
        kinds = [self.compare, self.compare, self.entities, self.texts, self.is_null, self.is_in]
        kinds += [self.has_label, self.flag, self.chain, self.function, self.in_order]
        return str(self.choose(kinds)())

    def compare(self) -> str:
        sign = self.choose(["=", "<>", "<", "<=", ">", ">="])
        constant = self.choose(["1", "2", "1.5", "-1", "'a'", "true", *["$one"] * 3, "$text"])
        constants = [constant, "null", "$none", "9007199254740993", "-0.0"]
        other = self.property() if self.chance(40) else self.choose([constant, *constants])
        sides = [self.property(), other]
        return f" {sign} ".join(reversed(sides) if self.chance(20) else sides)

    def chain(self) -> str:
        first, second = self.choose(["<", "<=", "=", ">"]), self.choose(["<", "<=", "<>", "="])
        low, high = self.choose(["0", "-1", "$one"]), self.choose(["2", "3.0"])
        return f"{low} {first} {self.property()} {second} {high}"

    def in_order(self) -> str:
        """Comparisons of two or three variables, evaluated by the join."""
        nodes = self.draw(st.permutations(self.nodes or self.relationships))[:3]
        sign = self.choose(["<", "<=", "<>", ">", "="])
        if self.nodes and self.chance(40):
            self.ids.extend(nodes)
            values = [f"id({node})" for node in nodes]
        else:
            key = self.choose(["x", "y", "name", "day"] if self.nodes else ["x", "name"])
            values = [f"{node}.{key}" for node in nodes]
        pairs = zip(values, [*values[1:], values[0]][: max(1, len(values) - 1)], strict=False)
        return " AND ".join(f"{left} {sign} {right}" for left, right in pairs)

    def entities(self) -> str:
        kinds = [names for names in (self.nodes, self.relationships) if names]
        names = self.choose(kinds)
        left, right = self.choose(names), self.choose(names)
        if self.chance(15):
            return f"{left} IN [{right}, {self.choose(names)}]"
        if self.chance(10):
            self.ids.append(left)
            return f"{left} {self.choose(['<', '>='])} {right}"
        return f"{left} {self.choose(['=', '<>'])} {right}"

    def texts(self) -> str:
        test = self.choose(["STARTS WITH", "ENDS WITH", "CONTAINS"])
        other = self.choose(["'a'", "''", "'b'", "'é'", "$text", "$one", "null", self.property()])
        return f"{self.property()} {test} {other}"

    def is_null(self) -> str:
        subject = self.property() if self.chance(90) else self.choose(self.variables)
        return f"{subject} IS {self.choose(['', 'NOT '])}NULL"

    def is_in(self) -> str:
        if self.chance(25):
            item = self.choose(["1", "1.0", "'a'", self.property()])
            return f"{item} IN {self.property()}"
        lists = [
            "[1, 2]",
            "[1.0]",
            "['a', 'ab']",
            "[]",
            "[null]",
            "[1, null, 'b']",
            "[[1, 2]]",
            "[true]",
        ]
        return f"{self.property()} IN {self.choose([*lists, '$numbers', '$texts', '$none'])}"

    def has_label(self) -> str:
        kinds = [
            (names, all_names)
            for names, all_names in ((self.nodes, LABELS), (self.relationships, TYPES))
            if names
        ]
        names, all_names = self.choose(kinds)
        if self.colons and all_names is TYPES:  # as a predicate, R|S needs the other operators
            return f"{self.choose(names)}:{self.choose(all_names)}"
        return f"{self.choose(names)}{self.labels(all_names)}"

    def flag(self) -> str:
        return f"{self.choose(self.variables)}.flag" if self.nodes else "true"

    def function(self) -> str:
        if self.relationships and self.chance(50):
            left = f"type({self.choose(self.relationships)})"
            others = ["'R'", "'S'", f"type({self.choose(self.relationships)})"]
            return f"{left} {self.choose(['=', '<>'])} {self.choose(others)}"
        if self.nodes and self.chance(60):
            return f"'{self.choose(LABELS)}' IN labels({self.choose(self.nodes)})"
        names = self.nodes or self.relationships
        name = self.choose(["id", "elementId"])
        return (
            f"{name}({self.choose(names)}) {self.choose(['=', '<>'])} {name}({self.choose(names)})"
        )

    # -------------------------------------------------------------- RETURN
    def item(self) -> str:
        kinds = ["variable"] * 3 + ["property"] * 5 + ["constant", "type", "predicate"]
        kind = self.choose(kinds) if self.variables else "constant"
        if kind == "variable":
            return str(self.choose(self.variables))
        if kind == "property":
            return self.property()
        if kind == "type" and self.relationships:
            return f"type({self.choose(self.relationships)})"
        if kind == "predicate":
            return self.predicate(1)
        return str(self.choose(["1", "'text'", "null", "2.5", "$one", "$numbers"]))

    def count(self) -> str:
        if not self.variables or self.chance(50):
            return "count(*)"
        argument = self.property() if self.chance(70) else self.choose(self.variables)
        return f"count({self.choose(['', 'DISTINCT '])}{argument})"

    def finish(self, clauses: list[str]) -> QueryCase:
        star = bool(self.variables) and self.chance(10)
        grouped = not star and self.chance(35)
        distinct = "DISTINCT " if self.chance(20) else ""
        self.groups = grouped or bool(distinct)
        items = (
            []
            if star
            else [self.item() for _ in range(self.choose([0, 1, 2] if grouped else [1, 2, 3]))]
        )
        items += [self.count() for _ in range(self.choose([1, 1, 2]))] if grouped else []
        items = self.draw(st.permutations(list(dict.fromkeys(items))))
        # Sometimes a name that shadows a variable; never two columns with one name.
        names = [self.choose([None, f"c{i}", f"c{i}"]) for i in range(len(items))]
        columns = (
            ["*"]
            if star
            else [f"{x} AS {n}" if n else x for x, n in zip(items, names, strict=True)]
        )
        body = f"RETURN {distinct}{', '.join(columns)}"
        readable = (
            sorted(self.variables, key=lambda name: name.strip("`"))
            if star
            else [n or x for x, n in zip(items, names, strict=True)]
        )
        order, sorted_columns, total = self.order(readable, items)
        window = self.window() if self.chance(12) else ""
        all_rows = " ".join([*clauses, body + order])
        return QueryCase(
            text=all_rows + window,
            parameters=PARAMETERS,
            all_rows=all_rows,
            merges=bool(distinct or grouped or window),
            total_order=total,
            sorted_columns=sorted_columns,
            uses_ids=bool(self.ids)
            or (bool(order) and any(column in self.variables for column in readable + items)),
        )

    def order(self, columns: list[str], items: list[str]) -> tuple[str, tuple[int, ...], bool]:
        if self.chance(60):
            return "", (), False
        places = self.draw(st.permutations(range(len(columns))))
        places = places[: self.choose([1, len(places), len(places)])]
        # Sometimes the expression as written instead of its name.
        texts = [items[p] if items and self.chance(30) else columns[p] for p in places]
        directed = [f"{text}{self.choose(['', ' DESC', ' ASC'])}" for text in texts]
        return f" ORDER BY {', '.join(directed)}", tuple(places), len(places) == len(columns)

    def window(self) -> str:
        skip = self.choose(["", "", " SKIP 0", " SKIP 1", " SKIP $two", " SKIP 100"])
        limits = [" LIMIT 0", " LIMIT 1", " LIMIT 3", " LIMIT $two"]
        return f"{skip}{self.choose(limits if not skip else ['', *limits])}"


def _quoted(name: str) -> str:
    return name if name.isalnum() else f"`{name}`"


# ------------------------------------------------------------------ comparing rows
def value_key(value: Any, merges: bool = False) -> Any:
    """A hashable form. NaN equals itself; 1, 1.0 and true differ, and so do 0.0 and -0.0."""
    if isinstance(value, float) and math.isnan(value):
        return ("float", "NaN")
    if merges and isinstance(value, int | float) and not isinstance(value, bool):
        return ("number", value)
    if isinstance(value, float):
        return ("float", repr(value))
    if isinstance(value, list | tuple):
        return ("list", tuple(value_key(item, merges) for item in value))
    if isinstance(value, dict):
        return ("map", tuple((key, value_key(value[key], merges)) for key in sorted(value)))
    return (type(value).__name__, value)


def rows_key(rows: Iterable[Sequence[Any]], *, merges: bool = False) -> Counter[Any]:
    """The multiset of rows. merges: 1 and 1.0 are equal, as are 0.0 and -0.0."""
    return Counter(tuple(value_key(value, merges) for value in row) for row in rows)


def assert_same_answer(
    case: QueryCase,
    found: Sequence[Sequence[Any]],
    expected: Sequence[Sequence[Any]],
    all_rows: Callable[[], Sequence[Sequence[Any]]],
) -> None:
    """all_rows: returns the rows of `case.all_rows`; used if SKIP or LIMIT leaves a choice."""
    if case.is_window and not case.total_order:
        assert len(found) == len(expected)
        assert rows_key(found, merges=case.merges) <= rows_key(all_rows(), merges=case.merges)
    else:
        assert rows_key(found, merges=case.merges) == rows_key(expected, merges=case.merges)
    for column in case.sorted_columns[:1] if not case.total_order else case.sorted_columns:
        order = [[value_key(row[column], True) for row in rows] for rows in (found, expected)]
        assert order[0] == order[1], f"column {column} is in another order"
