"""Random whole queries over random property multigraphs, by a grammar that tracks the scope.

A `Maker` writes a query from a seed. Most of the output is well typed; a little is not, so that
errors are compared, too. Results without a defined order are never cut by LIMIT.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

__all__ = ["MadeGraph", "MadeQuery", "Maker", "made_graph"]

LABELS = ("A", "B", "Odd label")
TYPES = ("R", "S", "T")
TEXTS = ("", "a", "ab", "b", "B", "Äb", "日本", "𝄞a", "it's", "1", "2.5")
NUMBERS = (-1, 0, 1, 2, 3, 0.5, -0.0, 0.0, 2.0, 2**53, 2**62, -(2**62))
LISTS: tuple[list[Any], ...] = ([], [1], [1, 2], [2, 1], ["a"], ["a", "b"])

Properties = dict[str, Any]


# ------------------------------------------------------------------ graphs
@dataclass(frozen=True)
class MadeGraph:
    """Nodes as (labels, properties), relationships as (start, type, end, properties).

    Each has its number as the property ``k``.
    """

    nodes: list[tuple[tuple[str, ...], Properties]]
    relationships: list[tuple[int, str, int, Properties]]

    def tables(self) -> tuple[Any, Any]:
        """The tables that `gpugda.graph` takes."""
        nodes = [
            {"labels": list(labels), **properties, "id": f"n{properties['k']}"}
            for labels, properties in self.nodes
        ]
        relationships = [
            {"source": f"n{start}", "target": f"n{end}", "type": kind, **properties}
            for start, kind, end, properties in self.relationships
        ]
        return _table(nodes) or {"id": []}, _table(relationships)

    def fill(self, run: Any) -> None:
        """Writes the graph into a database after deleting everything in it.

        Args:
            run: Takes a query and its parameters.
        """
        run("MATCH (n) DETACH DELETE n", {})
        for labels, properties in self.nodes:
            names = "".join(f":`{label}`" for label in labels)
            run(f"CREATE (n{names}) SET n = $p", {"p": properties})
        for start, kind, end, properties in self.relationships:
            run(
                f"MATCH (a {{k: $a}}), (b {{k: $b}}) CREATE (a)-[r:{kind}]->(b) SET r = $p",
                {"a": start, "b": end, "p": properties},
            )


def _table(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: [row.get(key) for row in rows] for key in keys}


def made_graph(rng: random.Random) -> MadeGraph:
    """A multigraph of at most 7 nodes, with self-loops and parallel relationships; may be empty."""
    count = rng.choice([0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7])
    mixed = rng.random() < 0.3
    nodes = [
        (tuple(rng.sample(LABELS, rng.choice([0, 1, 1, 1, 2, 3]))), _properties(rng, i, mixed))
        for i in range(count)
    ]
    if not count:
        return MadeGraph([], [])
    sizes = [0, 1, 3, 5, 7, 8, 9]
    relationships = [
        (
            rng.randrange(count),
            rng.choice(TYPES),
            rng.randrange(count),
            _properties(rng, i, mixed),
        )
        for i in range(rng.choice(sizes))
    ]
    copies = rng.sample(relationships, min(len(relationships), rng.choice([0, 0, 1, 2])))
    total = len(relationships)
    again = [
        (start, kind, end, {**properties, "k": total + i})
        for i, (start, kind, end, properties) in enumerate(copies)
    ]
    return MadeGraph(nodes, relationships + again)


def _properties(rng: random.Random, number: int, mixed: bool) -> Properties:
    everything = (*NUMBERS, *TEXTS, True, False)
    made = {
        "x": rng.choice(everything if mixed else NUMBERS[:5]),
        "y": rng.choice(NUMBERS),
        "name": rng.choice(TEXTS),
        "flag": rng.choice([True, False]),
        "list": rng.choice(LISTS),
    }
    kept = {key: value for key, value in made.items() if rng.random() < 0.7}
    return {"k": number, **kept}


# ------------------------------------------------------------------ queries
@dataclass(frozen=True)
class MadeQuery:
    """A query, and the differences that its answer may show.

    Attributes:
        merges: True if 1 and 1.0 are interchangeable.
        bags: True if lists have no defined order.
    """

    text: str
    parameters: dict[str, Any]
    merges: bool
    bags: bool


PARAMETERS: dict[str, Any] = {
    "one": 1,
    "half": 2.5,
    "text": "a",
    "none": None,
    "yes": True,
    "numbers": [1, 2.0, None],
    "texts": ["a", "Äb", ""],
}
_PROPERTIES = {"number": ("x", "y", "k"), "text": ("name",), "truth": ("flag",), "list": ("list",)}
_ENTITIES = ("node", "relationship")


@dataclass
class Maker:
    """Writes queries.

    Attributes:
        rng: Source of random choices.
        scope: Kinds of the variables in scope.
    """

    rng: random.Random
    scope: dict[str, str] = field(default_factory=dict)
    _count: int = 0
    _bags: bool = False
    _depth: int = 0

    def query(self) -> MadeQuery:
        """A whole query."""
        self._bags = False
        text = self._body()
        if self._chance(8):
            word = self._pick("UNION", "UNION ALL")
            text = f"MATCH (n) {self._where('n', 'node')}RETURN n.x AS u {word} "
            text += f"MATCH (n) RETURN {self._expression('number', {'n': 'node'})} AS u"
        return MadeQuery(text, PARAMETERS, True, self._bags)

    def condition(self) -> str:
        """A condition on the variables in scope."""
        return self._expression("truth")

    # -------------------------------------------------------------- clauses
    def _body(self) -> str:
        self.scope, self._count = {}, 0
        clauses = [self._pick(self._match, self._match, self._match, self._unwind)()]
        further = [
            self._match,
            self._optional,
            self._optional,
            self._with,
            self._with,
            self._aggregate,
            self._unwind,
            self._call,
            self._quantified,
            self._steps,
            self._shortest,
            self._selected,
        ]
        newer = self._chance(20)
        if newer:
            further += [self._let, self._filter, self._next, self._next, self._when]
            further += [self._repeatable]
        clauses += [self._pick(*further)() for _ in range(self._pick(0, 0, 1, 1, 2, 3))]
        return " ".join([*(["CYPHER 25"] if newer else []), *clauses, self._return()])

    def _match(self, word: str = "MATCH") -> str:
        patterns = [self._pattern() for _ in range(self._pick(1, 1, 1, 2))]
        where = f" WHERE {self._expression('truth')}" if self._chance(30) else ""
        return f"{word} {', '.join(patterns)}{where}"

    def _optional(self) -> str:
        return self._match("OPTIONAL MATCH")

    def _quantified(self) -> str:
        left, right = self._node(), self._node()
        count = self._pick("{1,2}", "{0,2}", "{2}", "{,2}", "+")
        if self._chance(30):
            arrow = self._pick("-[:R]->", "<-[:S|T]-", "-->")
            return f"MATCH {self._new('path')} = {left}{arrow}{count}{right}"
        i, j, o = (self._new(kind, bind=False) for kind in ("inner", "joins", "other"))
        inside = {i: "node", j: "relationship", o: "node"}
        where = f" WHERE {self._expression('truth', inside)}" if self._chance(40) else ""
        self.scope |= dict.fromkeys(inside, "list of entities")
        arrow = self._pick(f"-[{j}]->", f"<-[{j}:R]-", f"-[{j}:S|T]->")
        return f"MATCH {left} (({i}){arrow}({o}){where}){count} {right}"

    def _steps(self) -> str:
        """A quantified path of several steps."""
        left, right = self._node(), self._node()
        names = [
            self._new(kind, bind=False) for kind in ("inner", "joins", "via", "query", "other")
        ]
        i, j, v, q, o = names
        nodes, arrows = dict.fromkeys((i, v, o), "node"), dict.fromkeys((j, q), "relationship")
        where = ""
        if self._chance(50):
            where = f" WHERE {self._expression('truth', nodes | arrows)}"
        self.scope |= dict.fromkeys(names, "list of entities")
        one = self._pick(f"-[{j}]->", f"<-[{j}:R|S]-", f"-[{j}:R]-")
        two = self._pick(f"-[{q}]->", f"<-[{q}:S]-", f"-[{q}:T]-")
        via = self._pick(v, v, f"{v}:A", f"{v} {{x: 1}}")
        count = self._pick("{1}", "{1,2}", "{0,1}", "{2}")
        return f"MATCH {left} (({i}){one}({via}){two}({o}){where}){count} {right}"

    def _pair(self) -> tuple[str, str, str]:
        one, other = self._new("node"), self._new("node")
        return f"MATCH ({one}), ({other}) WHERE {one} <> {other}", one, other

    def _selected(self) -> str:
        """Selected paths: compared in full only for whole groups, else by number."""
        if len(self.scope) > 2:
            return self._aggregate()
        before, one, other = self._pair()
        arrow = self._pick("-[:R]->+", "-->{1,3}", "-[:R|S]-{1,3}", "<-[]-{,2}", "-[]->*")
        groups = self._chance(50)
        if self._chance(40):
            arrow += self._middle(named=groups) + self._pick(
                "-[:S]->", "-->{1,2}", "<-[:R|T]-", "-[:T]-{,1}"
            )
        if groups:
            selector = self._pick("ALL SHORTEST", "SHORTEST 1 GROUPS", "SHORTEST 2 GROUPS")
            return f"{before} MATCH {self._new('path')} = {selector} ({one}){arrow}({other})"
        selector = self._pick("ANY", "ANY SHORTEST", "SHORTEST 2", "ANY 2", "SHORTEST 3 PATHS")
        return f"{before} MATCH {selector} ({one}){arrow}({other})"

    def _middle(self, *, named: bool) -> str:
        """A node between the steps; unnamed if the selected path is not determined."""
        if not named:
            return self._pick("()", "(:A)", "(:!B)", "({x: 1})")
        name = self._new("middle", bind=False)
        where = ""
        if self._chance(40):
            where = f" WHERE {self._expression('truth', {name: 'node'})}"
        return f"({name}{self._pick('', '', ':A', ':!B')}{where})"

    # -------------------------------------------------------------- Cypher 25
    def _repeatable(self) -> str:
        """A pattern in which relationships may repeat."""
        left, right = self._node(), self._node()
        steps = self._pick("-->{1,2}", "-[:R]-{2}", "-[:R|S]->{,2}()--", "-[:S]-()-->{1,2}")
        selector = self._pick("", "", "ALL SHORTEST ", "SHORTEST 2 GROUPS ")
        path = self._new("path")
        return f"MATCH REPEATABLE ELEMENTS {path} = {selector}{left}{steps}{right}"

    def _let(self) -> str:
        kind = self._pick("number", "text", "truth", "list")
        written = self._expression(kind)
        return f"LET {self._new(kind)} = {written}"

    def _filter(self) -> str:
        return f"FILTER {self._pick('', 'WHERE ')}{self._expression('truth')}"

    def _next(self) -> str:
        """Passes all rows so far to a new query."""
        if not self.scope:
            return self._match()
        names = self._some_variables()
        self.scope = {name: self.scope[name] for name in names}
        follows = self._pick(self._match, self._let, self._filter, self._unwind)()
        return f"RETURN {', '.join(names)} NEXT {follows}"

    def _when(self) -> str:
        if not self.scope:
            return self._match()
        names = self._some_variables()
        before = {name: self.scope[name] for name in names}
        self.scope = dict(before)
        branches = [
            f"WHEN {self._expression('truth')} THEN {self._branch()}"
            for _ in range(self._pick(1, 2))
        ]
        last = f" ELSE {self._branch()}" if self._chance(60) else ""
        self.scope = {"w": "number"}
        return f"RETURN {', '.join(names)} NEXT {' '.join(branches)}{last} NEXT"

    def _branch(self) -> str:
        return f"RETURN {self._expression('number')} AS w"

    def _shortest(self) -> str:
        if len(self.scope) > 2:  # all pairs of nodes for every earlier row
            return self._with()
        before, one, other = self._pair()
        arrow = self._pick("-[:R*]->", "-[*..3]-", "-[*]->", "<-[:R|S*..4]-", "-[*0..]->")
        path = self._new("path")
        form = self._pick(
            f"allShortestPaths(({one}){arrow}({other}))",
            f"ALL SHORTEST ({one}){self._pick('-[:R]->+', '-->+', '-[]->*')}({other})",
        )
        return f"{before} MATCH {path} = {form}"

    def _unwind(self) -> str:
        elements = self._expression("list")
        name = self._new("value")
        return f"UNWIND {elements} AS {name}"

    def _with(self) -> str:
        if not self.scope:
            return self._match()
        kept = self._some_variables()
        items = [name for name in kept]
        scope = {name: self.scope[name] for name in kept}
        if self._chance(60):
            kind = self._pick("number", "text", "truth", "list")
            written = self._expression(kind)
            name = self._new(kind)
            items.append(f"{written} AS {name}")
            scope[name] = self.scope[name]
        distinct = "DISTINCT " if self._chance(25) else ""
        self.scope = scope
        order = self._window(list(scope)) if self._chance(20) else ""
        where = f" WHERE {self._expression('truth')}" if self._chance(30) else ""
        return f"WITH {distinct}{', '.join(items)}{order}{where}"

    def _window(self, names: list[str]) -> str:
        if any(self.scope[name] not in ("number", "text", "truth") for name in names):
            return f" ORDER BY {self._pick(*names)}" if names else ""
        keys = [f"{name}{self._pick('', ' DESC')}" for name in self.rng.sample(names, len(names))]
        return f" ORDER BY {', '.join(keys)}{self._pick(' LIMIT 2', ' SKIP 1', ' SKIP 1 LIMIT 3')}"

    def _aggregate(self) -> str:
        if not self.scope:
            return self._match()
        keys = self._some_variables()[:2]
        scope = {name: self.scope[name] for name in keys}
        calls = []
        for _ in range(self._pick(1, 1, 2)):
            call, kind = self._aggregate_call()
            name = self._new(kind)
            scope[name] = kind
            calls.append(f"{call} AS {name}")
        self.scope = scope
        where = f" WHERE {self._expression('truth')}" if self._chance(25) else ""
        return f"WITH {', '.join([*keys, *calls])}{where}"

    def _aggregate_call(self) -> tuple[str, str]:
        distinct = self._pick("", "", "DISTINCT ")
        word = self._pick("count(*)", "count", "count", "sum", "avg", "min", "max", "collect")
        if word == "count(*)":
            return word, "number"
        if word == "count":
            return f"count({distinct}{self._pick(*self.scope)})", "number"
        if word in ("sum", "avg"):
            return f"{word}({distinct}{self._small_number()})", "number"
        if word == "collect":
            self._bags = True
            return f"collect({distinct}{self._expression('number')})", "bag"
        return f"{word}({self._expression(self._pick('number', 'text'))})", "value"

    def _small_number(self) -> str:
        entities = self._variables(*_ENTITIES)
        if entities and self._chance(70):
            return f"{self._pick(*entities)}.k"
        return self._pick("1", "2", "0.5", "null")

    def _call(self) -> str:
        if not self.scope:
            return self._match()
        nodes = self._variables("node")
        imported = self._some_variables()
        before = dict(self.scope)
        self.scope = {name: before[name] for name in imported}
        if nodes and nodes[0] not in self.scope:
            imported.append(nodes[0])
            self.scope[nodes[0]] = "node"
        inner = self._pick(self._match, self._match, self._optional, self._unwind)()
        call, kind = (
            self._aggregate_call() if self._chance(50) else (self._expression("number"), "number")
        )
        name = self._new(kind)
        self.scope = {**before, name: kind}
        heads = (f"CALL ({', '.join(imported)}) {{", f"CALL {{ WITH {', '.join(imported)}")
        head = self._pick(*heads) if imported else "CALL {"
        return f"{head} {inner} RETURN {call} AS {name} }}"

    def _return(self) -> str:
        if not self.scope:
            return "RETURN 1 AS one"
        shape = self._pick("items", "items", "items", "grouped", "distinct", "star")
        if shape == "star":
            return "RETURN *"
        names = self._some_variables()
        items = [self._returned(name) for name in names]
        if shape == "grouped":
            calls = [self._aggregate_call()[0] for _ in range(self._pick(1, 2))]
            items = [f"{each} AS k{i}" for i, each in enumerate(items[:2])]
            calls = [f"{each} AS g{i}" for i, each in enumerate(calls)]
            order = f" ORDER BY {', '.join(f'k{i}' for i in range(len(items)))}" if items else ""
            return f"RETURN {', '.join([*items, *calls])}{order if self._chance(30) else ''}"
        for _ in range(self._pick(0, 1, 1, 2)):
            items.append(self._expression(self._pick("number", "text", "truth", "list")))
        items = [f"{each} AS c{i}" for i, each in enumerate(items)] or ["1 AS one"]
        order = ""
        if self._chance(15) and items != ["1 AS one"] and not self._bags:
            places = range(len(items))
            keys = ", ".join(f"c{i}{self._pick('', ' DESC')}" for i in places)
            order = f" ORDER BY {keys}"
            # Entities are ordered by ids, which the database chooses.
            if all("." in item for item in items[: len(names)]):
                order += self._pick("", " LIMIT 2", " SKIP 1 LIMIT 2")
        return f"RETURN {'DISTINCT ' if shape == 'distinct' else ''}{', '.join(items)}{order}"

    def _returned(self, name: str) -> str:
        kind = self.scope[name]
        if kind in _ENTITIES and self._chance(50):
            return f"{name}.{self._pick('k', 'x', 'y', 'name')}"
        return name

    # -------------------------------------------------------------- patterns
    def _pattern(self) -> str:
        if self._chance(10):
            return f"{self._new_path()} = {self._chain(varies=True)}"
        return self._chain(varies=self._chance(15))

    def _chain(self, *, varies: bool = False) -> str:
        text = self._node()
        for step in range(self._pick(0, 1, 1, 1, 2, 2, 3)):
            text += self._relationship(varies=varies and step == 0) + self._node()
        return text

    def _node(self) -> str:
        known = self._variables("node")
        if known and self._chance(35):
            return f"({self._pick(*known)})"
        labels = self._pick(*[""] * 7, ":A", ":B", ":A|B", ":!A", ":`Odd label`", ":A&B", ":%")
        if self._chance(4):
            labels = self._pick(":$('A')", ":$any(['A', 'B'])", ":$all(['A', 'B'])", ":$([])")
        name = "" if self._chance(25) else self._new("node", bind=False)
        inline = self._inline(name, "node") if self._chance(8) else ""
        if name:
            self.scope[name] = "node"
        return f"({name}{labels}{inline})"

    def _relationship(self, *, varies: bool) -> str:
        types = self._pick("", "", ":R", ":S", ":R|S")
        if varies:
            length = self._pick("*1..2", "*0..2", "*2", "*..3", "*0..1")
            name = self._new("relationships", bind=False) if self._chance(30) else ""
            if name:
                self.scope[name] = "list of entities"
            inner = f"[{name}{types}{length}]"
        else:
            name = "" if self._chance(45) else self._new("relationship", bind=False)
            types = types or self._pick("", "", ":!T")
            if self._chance(4):
                types = self._pick(":$('R')", ":$any(['R', 'S'])", ":$(['T'])")
            inline = self._inline(name, "relationship") if self._chance(6) else ""
            if name:
                self.scope[name] = "relationship"
            inner = f"[{name}{types}{inline}]"
        return self._pick(f"-{inner}->", f"<-{inner}-", f"-{inner}-")

    def _inline(self, name: str, kind: str) -> str:
        if name and self._chance(50):
            return f" WHERE {self._expression('truth', {name: kind})}"
        return self._pick(" {x: 1}", " {name: 'a'}", " {x: $one}", " {y: 0.5}")

    # -------------------------------------------------------------- expressions
    def _where(self, name: str, kind: str) -> str:
        return f"WHERE {self._expression('truth', {name: kind})} " if self._chance(50) else ""

    def _expression(self, kind: str, scope: dict[str, str] | None = None) -> str:
        before, self.scope = self.scope, self.scope if scope is None else scope
        self._depth += 1
        if self._chance(1):
            kind = self._pick("number", "text", "truth", "list")  # occasionally a wrong type
        text: str = getattr(self, f"_{kind}")()
        self._depth -= 1
        self.scope = before
        return text

    def _is_deep(self) -> bool:
        return self._depth > 3 or self._chance(25 * self._depth)

    def _leaf(self, kind: str, literals: tuple[str, ...]) -> str:
        entities = self._variables(*_ENTITIES)
        held = self._variables(kind)
        if held and self._chance(40):
            return self._pick(*held)
        if entities and self._chance(75):
            return f"{self._pick(*entities)}.{self._pick(*_PROPERTIES[kind])}"
        return self._pick(*literals)

    def _number(self) -> str:
        if self._is_deep():
            return self._leaf("number", ("1", "0", "2.5", "-2", "$one", "$half", "null", "3"))
        one = self._expression("number")
        forms = [
            lambda: f"({one} {self._pick('+', '-', '*')} {self._pick('1', '0.5', '2')})",
            lambda: f"({one} {self._pick('/', '%')} {self._pick('2', '0.5', '-3')})",
            lambda: f"abs(toFloatOrNull({one}))",
            lambda: f"size({self._expression('list')})",
            lambda: f"size({self._expression('text')})",
            lambda: f"coalesce({one}, {self._expression('number')})",
            lambda: f"toIntegerOrNull({self._expression('text')})",
            lambda: f"CASE WHEN {self._expression('truth')} THEN {one} ELSE 0 END",
            lambda: f"reduce(s = 0, e IN {self._pick('[1, 2]', '[]', '[3, null]')} | s + e)",
            lambda: f"{self._expression('list')}[{self._pick('0', '-1', '5')}]",
            lambda: f"head({self._expression('list')})",
            lambda: f"sign(toFloatOrNull({one}))",
            self._part_of_moment,
            *([self._count_query, self._path_length] if self._variables("node") else []),
        ]
        return self._pick(*forms)()

    def _day(self) -> str:
        entities = self._variables(*_ENTITIES)
        if entities and self._chance(50):
            return f"date({{year: 2023, month: 2, day: 1 + {self._pick(*entities)}.k}})"
        return self._pick("date('2024-02-29')", "date('1999-12-31')", "date('0001-01-01')", "null")

    def _span(self) -> str:
        spans = ("P1M", "P1Y2M3DT4H", "-P40D", "PT0.5S", "P0D", "P1W")
        return f"duration('{self._pick(*spans)}')"

    def _moment(self) -> str:
        made = f"({self._day()} {self._pick('+', '-')} {self._span()})"
        return self._pick(self._day(), made, "datetime('2024-03-31T02:30:00.5+01:00')", made)

    def _part_of_moment(self) -> str:
        field = self._pick("year", "month", "day", "week", "dayOfWeek", "ordinalDay", "quarter")
        between = self._pick("between", "inDays", "inMonths")
        spanned = f"duration.{between}({self._day()}, {self._day()})"
        return self._pick(
            f"{self._day()}.{field}",
            f"{spanned}.{self._pick('days', 'months', 'years')}",
            f"({self._span()} * {self._pick('2', '0.5')}).{self._pick('days', 'seconds')}",
        )

    def _count_query(self) -> str:
        return f"COUNT {{ {self._inner_pattern()} }}"

    def _path_length(self) -> str:
        paths = self._variables("path")
        return f"length({self._pick(*paths)})" if paths else self._count_query()

    def _text(self) -> str:
        if self._is_deep():
            return self._leaf("text", ("'a'", "''", "'Äb'", "$text", "null", "'1'"))
        one = self._expression("text")
        relationships = self._variables("relationship")
        forms = [
            lambda: f"({one} + {self._expression('text')})",
            lambda: f"{self._pick('toUpper', 'toLower', 'trim', 'reverse')}({one})",
            lambda: f"substring({one}, {self._pick('0', '1')})",
            lambda: f"left({one}, 1)",
            lambda: f"toStringOrNull({self._expression('number')})",
            lambda: f"replace({one}, 'a', 'x')",
            lambda: f"coalesce({one}, 'none')",
            lambda: f"toString({self._moment()})",
            lambda: f"CASE {one} WHEN 'a' THEN 'is a' WHEN '' THEN 'empty' ELSE {one} END",
            *([lambda: f"type({self._pick(*relationships)})"] if relationships else []),
        ]
        return self._pick(*forms)()

    def _truth(self) -> str:
        if self._is_deep():
            return self._leaf("truth", ("true", "false", "null", "$yes"))
        kind = self._pick("number", "text", "number", "list")
        one, other = self._expression(kind), self._expression(kind)
        nodes = self._variables("node")
        entities = self._variables(*_ENTITIES)
        forms = [
            lambda: f"{one} {self._pick('=', '<>', '<', '>=')} {other}",
            lambda: f"{one} {self._pick('=', '<')} {other}",
            lambda: f"{one} {self._pick('IS NULL', 'IS NOT NULL')}",
            lambda: (
                f"({self._expression('truth')} {self._pick('AND', 'OR', 'XOR')}"
                f" {self._expression('truth')})"
            ),
            lambda: f"NOT ({self._expression('truth')})",
            lambda: f"{self._expression('text')} {self._pick('STARTS WITH', 'CONTAINS')} 'a'",
            lambda: f"{self._expression('number')} IN {self._expression('list')}",
            lambda: f"{self._expression('text')} =~ '{self._pick('a.*', '.*b', '')}'",
            lambda: (
                f"{self._pick('any', 'all', 'none', 'single')}(e IN "
                f"{self._expression('list')} WHERE e {self._pick('= 1', '> 1', 'IS NULL')})"
            ),
            lambda: f"1 < {self._expression('number')} <= 3",
            lambda: f"{self._day()} {self._pick('<', '=', '>=')} {self._day()}",
            *([self._exists, self._predicate, self._predicate] if nodes else []),
            *([lambda: f"{self._pick(*nodes)}:A", self._same_node] if nodes else []),
            *([lambda: f"{self._pick(*entities)} IS NOT NULL"] if entities else []),
        ]
        return self._pick(*forms)()

    def _same_node(self) -> str:
        nodes = self._variables("node")
        return f"{self._pick(*nodes)} {self._pick('=', '<>')} {self._pick(*nodes)}"

    def _exists(self) -> str:
        return f"EXISTS {{ {self._inner_pattern()} }}"

    def _predicate(self) -> str:
        node = self._pick(*self._variables("node"))
        arrow = self._pick("-[:R]->", "<-[:S]-", "--", "-[:R|T]-")
        other = self._pick("()", "(:A)", "({x: 1})", f"({self._pick(*self._variables('node'))})")
        return f"{self._pick('', 'NOT ')}({node}){arrow}{other}"

    def _inner_pattern(self) -> str:
        node = self._pick(*self._variables("node"))
        arrow = self._pick("-[i:R]->", "<-[i]-", "-[i]-", "-[i:S|T]->")
        where = ""
        if self._chance(50):
            inside = {**self.scope, "i": "relationship", "o": "node"}
            where = f" WHERE {self._expression('truth', inside)}"
        return f"({node}){arrow}(o{self._pick('', ':A', ':B')}){where}"

    def _list(self) -> str:
        if self._is_deep():
            return self._leaf("list", ("[1, 2]", "[]", "[1, null]", "$numbers", "null", "[0.5]"))
        nodes, paths = self._variables("node"), self._variables("path")
        forms = [
            lambda: f"[{self._expression('number')}, {self._expression('number')}]",
            lambda: f"[e IN {self._expression('list')} WHERE e IS NOT NULL | e]",
            lambda: f"[e IN {self._expression('list')} | e IS NULL]",
            lambda: f"({self._expression('list')} + [{self._expression('number')}])",
            lambda: f"{self._expression('list')}[{self._pick('0..1', '1..', '..-1')}]",
            lambda: f"tail({self._expression('list')})",
            lambda: f"[{self._moment()}]",
            lambda: f"range(0, {self._pick('2', '0', '-1')})",
            *(
                [lambda: f"[e IN labels({self._pick(*nodes)}) WHERE e = 'A']", self._comprehension]
                if nodes
                else []
            ),
            *([lambda: f"[e IN nodes({self._pick(*paths)}) | e.k]"] if paths else []),
        ]
        return self._pick(*forms)()

    def _comprehension(self) -> str:
        self._bags = True
        node = self._pick(*self._variables("node"))
        arrow = self._pick("-[i:R]->", "<-[i]-", "-[i]-")
        where = self._pick("", " WHERE o.x > 1", " WHERE i.x IS NULL")
        # Expressions over the list must not depend on its order.
        return f"[j IN [size([({node}){arrow}(o){where} | o.k])] | j]"

    def _value(self) -> str:
        return self._expression("number")

    # -------------------------------------------------------------- names and choices
    def _variables(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.scope.items() if kind in kinds]

    def _some_variables(self) -> list[str]:
        names = list(self.scope)
        return self.rng.sample(names, self.rng.randint(1, min(3, len(names))))

    def _new(self, kind: str, *, bind: bool = True) -> str:
        self._count += 1
        name = f"{kind[0]}{self._count}"
        if bind:
            self.scope[name] = kind
        return name

    def _new_path(self) -> str:
        return self._new("path")

    def _chance(self, percent: int) -> bool:
        return self.rng.random() * 100 < percent

    def _pick(self, *options: Any) -> Any:
        return self.rng.choice(options)
