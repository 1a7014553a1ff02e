"""Random texts about scopes, compared with what a Neo4j server compiles.

``python tests/random_scopes.py --texts 1000 --neo4j bolt://…`` prints every text that
the server refuses and gpugda does not, or the other way round, or with another GQLSTATUS. Nothing
is run: the server only explains.
"""

from __future__ import annotations

import argparse
import random
from typing import Any

from gpugda.errors import CypherSyntaxError, UnsupportedQueryError
from gpugda.query.prepare import check_compiles, prepare

_NAMES = ("n", "m", "x")


class Texts:
    """Draws query texts in which few names are declared, hidden, dropped and read again."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def text(self) -> str:
        """One query, which may be refused."""
        clauses = [f"MATCH {self._pattern()}{self._where()}"]
        clauses += [self._clause() for _ in range(self._random.randrange(3))]
        return f"{' '.join(clauses)} RETURN {self._projection()}"

    def _one(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def _name(self) -> str:
        return self._one(*_NAMES)

    def _pattern(self) -> str:
        ends = [self._one(name, name, "", f"{name} {{x: {self._name()}.x}}") for name in _NAMES]
        self._random.shuffle(ends)
        return f"({ends[0]})-->({ends[1]})" if self._random.random() < 0.8 else f"({ends[0]})"

    def _where(self) -> str:
        return f" WHERE {self._condition(2)}" if self._random.random() < 0.4 else ""

    def _clause(self) -> str:
        return self._one(
            lambda: f"MATCH {self._pattern()}{self._where()}",
            lambda: f"WITH {self._projection()}{self._where()}",
            lambda: f"UNWIND [1, 2] AS {self._name()}",
            lambda: f"CALL ({self._one('', '*', *_NAMES)}) {{ {self._query()} }}",
            lambda: f"CALL {{ {self._one('', f'WITH {self._name()} ')}{self._query()} }}",
        )()

    def _projection(self) -> str:
        items = self._one(
            lambda: "*",
            lambda: f"{self._name()}, count(*) AS c",
            lambda: f"DISTINCT {self._name()}",
            lambda: f"DISTINCT {self._name()} AS {self._name()}",
            lambda: f"{self._name()}, {self._value(2)} AS v",
            lambda: f"{self._name()}.x AS {self._name()}",
        )()
        return f"{items} ORDER BY {self._value(2)}" if self._random.random() < 0.3 else items

    def _query(self) -> str:
        returned = self._one("*", self._name(), f"{self._name()}.x AS y", "1 AS y")
        return f"MATCH {self._pattern()}{self._where()} RETURN {returned}"

    def _value(self, depth: int) -> str:
        if depth == 0:
            return self._one(f"{self._name()}.x", "1", "count(*)")
        name, inner = self._name(), depth - 1
        return self._one(
            lambda: f"{name}.x",
            lambda: f"size([{name} IN [{self._value(inner)}] WHERE {self._condition(inner)}])",
            lambda: f"head([{name} IN [{self._value(inner)}] | {self._value(inner)}])",
            lambda: f"reduce({name} = 0, y IN [1] | {self._value(inner)})",
            lambda: f"size([{self._path()} | {self._value(inner)}])",
            lambda: f"COUNT {{ {self._pattern()}{self._where()} }}",
            lambda: f"COUNT {{ {self._query()} }}",
            lambda: f"size(COLLECT {{ {self._query()} }})",
        )()

    def _path(self) -> str:
        return f"({self._name()})-->({self._name()})"

    def _condition(self, depth: int) -> str:
        if depth == 0:
            return f"{self._name()}.x = 1"
        word = self._one("any", "all", "none")
        return self._one(
            lambda: f"{self._value(depth - 1)} = 1",
            lambda: f"{word}({self._name()} IN [1] WHERE {self._condition(depth - 1)})",
            lambda: f"EXISTS {{ {self._pattern()}{self._where()} }}",
            lambda: f"EXISTS {{ {self._query()} }}",
            lambda: self._path(),
        )()


def refusal(text: str, version: int) -> str | None:
    """The GQLSTATUS with which gpugda refuses to compile a text; empty without one."""
    try:
        check_compiles(prepare(text), version)
    except CypherSyntaxError as error:
        return error.gql_status or ""
    except UnsupportedQueryError:
        return None
    return None


def refusal_of_server(session: Any, text: str) -> str | None:
    """The same of a server: the status of the error's cause."""
    import neo4j

    try:
        session.run(f"EXPLAIN {text}").consume()
    except neo4j.exceptions.ClientError as error:
        return getattr(error.__cause__, "gql_status", "") if error.__cause__ else ""
    return None


def main() -> None:
    """Runs the command line."""
    import neo4j

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--version", type=int, default=5, help="the Cypher version: 5 or 25")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--neo4j", required=True)
    given = parser.parse_args()
    texts = Texts(given.seed)
    refused = different = 0
    options = {"auth": None, "notifications_min_severity": "OFF"}
    with neo4j.GraphDatabase.driver(given.neo4j, **options) as driver, driver.session() as session:
        for _ in range(given.texts):
            text = f"CYPHER {given.version} {texts.text()}"
            theirs, ours = refusal_of_server(session, text), refusal(text, given.version)
            refused += theirs is not None
            if (theirs is None) != (ours is None) or (ours and theirs and theirs != ours):
                different += 1
                print(f"Neo4j: {theirs!r}, here: {ours!r}: {text}")
    print(f"{given.texts} texts, {refused} refused by Neo4j, {different} differently here")


if __name__ == "__main__":
    main()
