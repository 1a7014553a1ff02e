"""Random queries whose conditions read paths, over one to three MATCH clauses."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from made_queries import MadeGraph

__all__ = ["KINDS", "PathQuery", "made_path_graph", "made_path_query"]

KINDS = ("shortest", "fixed", "optional", "steps", "subquery", "trails")
"""What reads a path: a search's conditions, other patterns', OPTIONAL MATCH, a repeated step, a
subquery or comprehension; and several paths of which little is read, often of one clause."""


@dataclass
class PathQuery:
    """A query, and the same with all shortest paths in place of one of them."""

    text: str
    every: str


def made_path_graph(rng: random.Random) -> MadeGraph:
    """A multigraph of 4 to 7 nodes with few labels, so that patterns are found in it."""
    count = rng.randint(4, 7)
    nodes = [
        (tuple(rng.sample("PQ", rng.choice([0, 1, 1, 2]))), {"k": i, "i": rng.randint(0, 4)})
        for i in range(count)
    ]
    ends = [(i, (i + 1) % count) for i in range(count) if rng.random() < 0.9]
    ends += [(rng.randrange(count), rng.randrange(count)) for _ in range(rng.randint(1, count))]
    relationships = [
        (start, rng.choice("RRS"), end, {"k": number, "i": rng.randint(0, 4)})
        for number, (start, end) in enumerate(ends)
    ]
    return MadeGraph(nodes, relationships)


def made_path_query(rng: random.Random, nodes: int, kind: str) -> PathQuery:
    """A query on a graph of so many nodes."""
    maker = _Maker(rng, nodes)
    text = maker.trails() if kind == "trails" else maker.query(kind)
    return PathQuery(text, text.replace("shortestPath(", "allShortestPaths("))


@dataclass
class _Part:
    """A pattern, the variables that it binds, by kind, and those that it reads."""

    text: str
    nodes: tuple[str, ...] = ()
    relationships: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


@dataclass
class _Known:
    nodes: list[str] = field(default_factory=list)
    relationships: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def add(self, part: _Part) -> None:
        for name in ("nodes", "relationships", "lists", "paths"):
            held = getattr(self, name)
            held.extend(each for each in getattr(part, name) if each not in held)


class _Maker:
    def __init__(self, rng: random.Random, nodes: int) -> None:
        self.rng, self.count = rng, nodes
        self.known = _Known()

    # ---------------------------------------------------------------- clauses
    def query(self, kind: str) -> str:
        parts = self._shortest_parts() if kind == "shortest" else self._fixed_parts()
        clauses = self._clauses(parts)
        if kind == "optional":
            clauses.append(self._optional())
        elif kind == "steps":
            clauses.append(self._repeated())
        elif kind == "subquery":
            clauses.append(self._with_subquery())
        computed = kind == "subquery"
        return "\n".join([*clauses, self._returned(computed=computed)])

    def _clauses(self, parts: list[_Part]) -> list[str]:
        rng = self.rng
        divided: list[list[_Part]] = [[] for _ in range(rng.choice([1, 2, 2, 3]))]
        for place, part in enumerate(parts):
            divided[min(place * len(divided) // len(parts), len(divided) - 1)].append(part)
        clauses = []
        for group in filter(None, divided):
            if rng.random() < 0.4:
                rng.shuffle(group)
            for part in group:
                self.known.add(part)
            where = self._where()
            clauses.append("MATCH " + ", ".join(part.text for part in group) + where)
            if rng.random() < 0.1:
                clauses.append(rng.choice(["WITH *", "WITH DISTINCT *", "WITH *, 1 AS one"]))
        return clauses

    def _where(self) -> str:
        rng = self.rng
        conditions = [self._condition() for _ in range(rng.choice([0, 0, 0, 1, 1, 2]))]
        return " WHERE " + " AND ".join(conditions) if conditions else ""

    def trails(self) -> str:
        """Paths that share no relationship with each other, counted, grouped or distinct."""
        rng = self.rng
        names = "abcd"[: rng.choice([3, 3, 4])]
        arrows = [self._walked(number) for number in range(len(names) - 1)]
        ends = [f"({n}{rng.choice(['', '', ':P'])})" for n in names]
        if rng.random() < 0.2:
            ends[-1] = f"({names[0]})"
        pattern = ends[0] + "".join(a + e for a, e in zip(arrows, ends[1:], strict=True))
        if rng.random() < 0.3:
            pattern += rng.choice([", (b)-[f]->(e)", ", (e)-[f:R]-(a)", ", (a)-[:S*]->(e)"])
        where = rng.choice(["", "", f" WHERE a.k = {rng.randrange(self.count)}", " WHERE b.i > 1"])
        clause = rng.choice(["MATCH ", "MATCH ", "MATCH (a) OPTIONAL MATCH ", "MATCH (n) MATCH "])
        returned = [
            "count(*) AS n",
            "a.k, count(*) AS n",
            "b.i, count(b.k) AS n",
            "a.k, sum(b.i), min(c.k)",
            "count(DISTINCT [a, b]) AS n",
            "count(DISTINCT c) AS n",
            "DISTINCT a.k, c.k",
            "a.k, b.k, c.k",
            "b.k, collect(DISTINCT c.k)[0] IS NULL, avg(c.i)",
        ]
        return f"{clause}{pattern}{where}\nRETURN {rng.choice(returned)}"

    def _walked(self, number: int) -> str:
        rng = self.rng
        types = rng.choice(["", "", ":R", ":S", ":R|S"])
        if rng.random() < 0.2:
            inside = f"-[v{number}{types}]" + rng.choice(["->", "-"])
        elif rng.random() < 0.15:
            return rng.choice([f" (()-[{types}]->()){{1,6}} ", f" (()-[{types}]-())+ "])
        else:
            length = rng.choice(["*", "*", "*..6", "*0..", "*2..5", "*1..2"])
            inside = f"-[{types}{length}]" + rng.choice(["->", "-"])
        return "<" + inside.removesuffix(">") if rng.random() < 0.2 else inside

    # ---------------------------------------------------------------- patterns
    def _end(self, name: str, key: int) -> str:
        label = self.rng.choice(["", "", ":P", ":Q"])
        return f"({name}{label})" if self.rng.random() < 0.15 else f"({name} {{k: {key}}})"

    def _shortest_parts(self) -> list[_Part]:
        rng = self.rng
        first, last = rng.sample(range(self.count), 2)
        low = rng.choice(["*", "*", "*", "*..4", "*0..", ":R*", ":R|S*"])
        arrow = rng.choice([f"-[rs{low}]->", f"-[rs{low}]-", f"<-[rs{low}]-"])
        name = rng.choice(["shortestPath", "shortestPath", "allShortestPaths"])
        search = _Part(f"p = {name}((a){arrow}(t))", ("a", "t"), (), ("rs",), ("p",))
        both = rng.choice([None] * 6 + ["(a)--(t)", "(a)-[c]-(m)-[d]-(t)"])
        parts = [_Part(self._end("a", first), ("a",)), _Part(self._end("t", last), ("t",))]
        if both is not None:
            names = ("a", "m", "t") if "m" in both else ("a", "t")
            parts.append(_Part(both, names, ("c", "d") if "m" in both else ()))
        parts.append(search)
        if rng.random() < 0.12:
            other = rng.choice(["(a)-[*]->(t)", "(t)-[*]->(a)", "(a)-[*]->(x)"])
            parts.append(_Part(f"o = shortestPath({other})", (), (), (), ("o",)))
            if "x" in other:
                parts.insert(0, _Part("(x)", ("x",)))
        parts += [self._extra(letter) for letter in "xyz"[: rng.choice([0, 1, 1, 2])]]
        if rng.random() < 0.3:
            rng.shuffle(parts)
        return parts

    def _extra(self, name: str) -> _Part:
        rng = self.rng
        form = rng.randrange(12)
        if form < 4:
            label = rng.choice(["", ":P", ":Q", ":P|Q"])
            return _Part(f"({name}{label})", (name,))
        if form == 4:
            return _Part(f"({name} {{i: {rng.randint(0, 4)}}})", (name,))
        if form < 7:
            end = rng.choice(["a", "t"])
            arrow = rng.choice(["-[{0}r]->", "<-[{0}r]-", "-[{0}r]-"]).format(name)
            return _Part(f"({end}){arrow}({name})", (end, name), (f"{name}r",))
        if form == 7:
            return _Part(f"({name})-[{name}r]->()", (name,), (f"{name}r",))
        if form < 10:
            path = f"{name}p = ({name})-[{name}r]->({name}2)"
            return _Part(path, (name, f"{name}2"), (f"{name}r",), (), (f"{name}p",))
        if form == 10:
            return _Part(f"{name}p = ({name})", (name,), (), (), (f"{name}p",))
        return _Part(f"(a)-[{name}l*1..2]->({name})", ("a", name), (), (f"{name}l",))

    def _fixed_parts(self) -> list[_Part]:
        rng = self.rng
        first = rng.randrange(self.count)
        forms = [
            _Part("p = (a)-[c]->(m)", ("a", "m"), ("c",), (), ("p",)),
            _Part("p = (a)-[c]->(m)-[d]-(t)", ("a", "m", "t"), ("c", "d"), (), ("p",)),
            _Part("p = (a)-[rs*1..3]->(t)", ("a", "t"), (), ("rs",), ("p",)),
            _Part("p = (a)-[rs*0..2]-(t)", ("a", "t"), (), ("rs",), ("p",)),
            _Part("p = (a)", ("a",), (), (), ("p",)),
            _Part("p = (a) ((s)-[rs]->(e)){1,2} (t)", ("a", "t"), (), ("rs",), ("p",)),
        ]
        parts = [_Part(self._end("a", first), ("a",)), rng.choice(forms)]
        return parts + [self._extra(letter) for letter in "xy"[: rng.choice([0, 1, 1, 2])]]

    # ---------------------------------------------------------------- conditions
    def _condition(self) -> str:
        rng, known = self.rng, self.known
        forms = [self._on_nodes]
        if known.paths or known.lists:
            forms += [self._on_length, self._on_length, self._on_elements, self._on_elements]
            forms += [self._on_each, self._mixed]
        made = rng.choice(forms)()
        return f"NOT ({made})" if rng.random() < 0.25 else made

    def _path_list(self, *, of_nodes: bool | None = None) -> tuple[str, bool]:
        """A list of a path's nodes or relationships, and whether it has nodes."""
        rng, known = self.rng, self.known
        if known.paths and (not known.lists or of_nodes or rng.random() < 0.7):
            path = rng.choice(known.paths)
            wants_nodes = rng.random() < 0.6 if of_nodes is None else of_nodes
            return (f"nodes({path})", True) if wants_nodes else (f"relationships({path})", False)
        return rng.choice(known.lists), False

    def _length(self) -> str:
        rng, known = self.rng, self.known
        if known.paths and (not known.lists or rng.random() < 0.7):
            path = rng.choice(known.paths)
            return rng.choice([f"length({path})", f"size(nodes({path}))"])
        return f"size({rng.choice(known.lists)})"

    def _number(self) -> str:
        rng, known = self.rng, self.known
        named = [f"{each}.i" for each in (*known.nodes, *known.relationships)]
        return rng.choice([str(rng.randint(0, 4)), *([rng.choice(named)] * 2 if named else [])])

    def _on_nodes(self) -> str:
        rng, nodes = self.rng, self.known.nodes
        if not nodes or rng.random() < 0.1:
            return "true"
        one, two = rng.choice(nodes), rng.choice(nodes)
        sign = rng.choice(["<", "<=", "<>", "="])
        return rng.choice([f"{one}.i {sign} {rng.randint(0, 4)}", f"{one} <> {two}"])

    def _on_length(self) -> str:
        other = self._length() if self.rng.random() < 0.2 else self._number()
        return f"{self._length()} {self.rng.choice(['<', '<=', '>', '>=', '<>', '='])} {other}"

    def _on_elements(self) -> str:
        elements, of_nodes = self._path_list()
        names = self.known.nodes if of_nodes else self.known.relationships
        if not names:
            return self._on_length()
        name = self.rng.choice(names)
        return self.rng.choice([f"{name} IN {elements}", f"NOT {name} IN {elements}"])

    def _on_each(self) -> str:
        rng = self.rng
        elements, _ = self._path_list()
        quantifier = rng.choice(["all", "any", "none", "single"])
        sign = rng.choice(["<", "<=", "<>", "="])
        return f"{quantifier}(e IN {elements} WHERE e.i {sign} {self._number()})"

    def _mixed(self) -> str:
        rng = self.rng
        nodes, _ = self._path_list(of_nodes=True)
        if not nodes.startswith("nodes("):
            return self._on_length()
        outer = rng.choice(self.known.nodes)
        return rng.choice(
            [
                f"({self._on_length()} OR {self._on_nodes()})",
                f"reduce(s = 0, e IN {nodes} | s + e.i) > {self._number()}",
                f"EXISTS {{ (e)-->({outer}) WHERE e IN {nodes} }}",
                f"EXISTS {{ (e:P) WHERE e IN {nodes} }}",
                f"COUNT {{ (e)--(f) WHERE e IN {nodes} }} > {rng.randint(0, 4)}",
                f"{nodes}[-1].i > {self._number()}",
                f"size([e IN {nodes} WHERE e.i > {self._number()}]) > 1",
            ]
        )

    # ---------------------------------------------------------------- other readers
    def _optional(self) -> str:
        before = list(self.known.nodes)
        part = self._extra("w")
        while part.nodes[0] not in before and part.nodes[0] != "w":
            part = self._extra("w")
        text = part.text
        if ("(a)" in text and "a" not in before) or ("(t)" in text and "t" not in before):
            text, part = "(w)", _Part("(w)", ("w",))
        self.known.add(part)
        conditions = [self._condition()]
        if self.known.paths:
            nodes = f"nodes({self.rng.choice(self.known.paths)})"
            sign = self.rng.choice(["=", "<", ">", "<>"])
            conditions.append(
                self.rng.choice(
                    [
                        f"COUNT {{ (w)--(v) WHERE v IN {nodes} }} {sign} {self._length()}",
                        f"size([(w)--(v) WHERE v IN {nodes} | v]) {sign} {self._length()}",
                        f"EXISTS {{ (w)-->(v) WHERE v IN {nodes} }}",
                        f"w IN {nodes}",
                    ]
                )
            )
        self.rng.shuffle(conditions)
        return f"OPTIONAL MATCH {text} WHERE {' AND '.join(conditions[: self.rng.randint(1, 2)])}"

    def _repeated(self) -> str:
        rng = self.rng
        nodes, of_nodes = self._path_list()
        inner = rng.choice(["g", "h"]) if of_nodes else "gr"
        asked = rng.choice(
            [
                f"{inner} IN {nodes}",
                f"NOT {inner} IN {nodes}",
                f"g.i < {self._length()}",
                f"gr.i <= {self._number()}",
                f"h.i <> {self._number()}",
            ]
        )
        start = rng.choice(["(w)", "(w:P)", "(a)"])
        bounds = rng.choice(["{1,2}", "{0,2}", "+", "{2}"])
        self.known.add(_Part("", ("w",) if "w" in start else ("a",), (), ("gr",)))
        clause = f"MATCH {start} ((g)-[gr]->(h) WHERE {asked}){bounds} (u)"
        self.known.add(_Part("", ("u",)))
        return clause + self._where()

    def _with_subquery(self) -> str:
        rng = self.rng
        nodes, of_nodes = self._path_list()
        outer = rng.choice(self.known.nodes)
        element = "e" if of_nodes else "er"
        pattern = rng.choice(["(e)-[er]->(f)", f"(e)-[er]-({outer})", f"({outer})-[er]->(e)"])
        where = rng.choice(
            [f"{element} IN {nodes}", f"NOT {element} IN {nodes}", f"e.i < {self._length()}"]
        )
        value = rng.choice(
            [
                f"COUNT {{ {pattern} WHERE {where} }}",
                f"EXISTS {{ {pattern} WHERE {where} }}",
                f"size(COLLECT {{ MATCH {pattern} WHERE {where} RETURN e.k }})",
                f"size([{pattern} WHERE {where} | e.k])",
                f"COUNT {{ MATCH s = {pattern} WHERE {where} AND length(s) < {self._length()} }}",
                f"EXISTS {{ MATCH s = shortestPath(({outer})-[*]-(e)) WHERE e IN {nodes}"
                f" AND e <> {outer} AND length(s) > {rng.randint(0, 2)} }}"
                if of_nodes
                else f"EXISTS {{ {pattern} WHERE {where} }}",
            ]
        )
        return f"WITH *, {value} AS computed"

    def _returned(self, *, computed: bool) -> str:
        rng, known = self.rng, self.known
        shown = [f"{name}.k AS {name}k" for name in known.nodes]
        shown += [f"length({path}) AS {path}n" for path in known.paths]
        chosen = rng.sample(shown, min(len(shown), rng.randint(1, 4)))
        chosen += ["computed"] if computed else []
        if rng.random() < 0.3:
            return "RETURN DISTINCT " + ", ".join(chosen)
        return "RETURN " + ", ".join([*chosen, "count(*) AS n"])
