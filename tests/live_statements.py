"""Random statements and queries over names that come and go, for tests beside writers."""

from __future__ import annotations

import datetime

import neo4j
import neo4j.spatial

LABELS, TYPES, KEYS = "ABCD", "RSTU", "kxyz"

# $v and $w are values; {L}, {M} labels, {T}, {U} types, {K}, {J} keys, {n} a small number.
_NODES = "MATCH (n) WITH n ORDER BY rand() LIMIT {n} "
_RELATIONSHIPS = "MATCH ()-[r]->() WITH r ORDER BY rand() LIMIT {n} "
STATEMENTS = (
    "CREATE (n:{L}:{M} {{{K}: $v}})-[:{T} {{{J}: $w}}]->(:{M})",
    "CREATE (n:{L} {{{K}: $v}}), ()",
    "CREATE (n:{L} {{{K}: 1}}) DELETE n",
    "CREATE (n:{L}), (m:{M}) SET n.{K} = $v, m = {{}} REMOVE n:{L}",
    _NODES + "DETACH DELETE n",
    _NODES + "DETACH DELETE n CREATE (:{L} {{{K}: $v}})",
    _RELATIONSHIPS + "DELETE r",
    "MATCH (a)-[r]->(b) WITH a, r, b ORDER BY rand() LIMIT {n} DELETE r "
    "CREATE (b)-[q:{T}]->(a) SET q.{K} = $v",
    "MATCH (a), (b) WITH a, b ORDER BY rand() LIMIT {n} CREATE (a)-[:{T} {{{K}: $w}}]->(b)",
    _NODES + "CREATE (n)-[:{T} {{{K}: $v}}]->(n)",
    _NODES + "SET n:{L}",
    _NODES + "SET n:{L}:{M} REMOVE n:A",
    _NODES + "SET n.{K} = $v SET n.{K} = $w",
    _NODES + "SET n = {{{K}: $v}}",
    _NODES + "SET n += {{{K}: $v, {J}: $w}}",
    _NODES + "REMOVE n.{K}",
    "MATCH (n:{L}) SET n.{K} = toString(id(n))",
    "MATCH (n:{L}) SET n.{K} = [id(n)]",
    _RELATIONSHIPS + "SET r.{K} = $v",
    _RELATIONSHIPS + "SET r = {{{K}: $v}}",
    "MATCH ()-[r:{T}]->() SET r.{K} = id(r)",
    "MERGE (n:{L} {{{K}: 1}}) ON CREATE SET n.{J} = $v ON MATCH SET n.{J} = $w",
    "MATCH (a:{L}), (b:{M}) WITH a, b LIMIT 3 MERGE (a)-[r:{T}]->(b) SET r.{K} = $v",
    "UNWIND range(1, 20) AS i CREATE (:{L} {{{K}: i}})",
)
ALONE = (
    "UNWIND range(1, 12) AS i CALL (i) {{ CREATE (:{L} {{{K}: i}}) }} IN TRANSACTIONS OF 4 ROWS",
    "MATCH (n:{L}) WITH n LIMIT 9 CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 2 ROWS",
    "CREATE INDEX {L}{K} IF NOT EXISTS FOR (n:{L}) ON (n.{K})",
    "DROP INDEX {L}{K} IF EXISTS",
    "CREATE CONSTRAINT one{L}{K} IF NOT EXISTS FOR (n:{L}) REQUIRE n.{K} IS UNIQUE",
    "DROP CONSTRAINT one{L}{K} IF EXISTS",
    "CALL db.createProperty('only{K}')",
)
"""Statements that need a transaction of their own; some fail."""
FAILING = ("RETURN 1 / 0", "CREATE (:A) WITH 1 AS x CALL db.nothing() RETURN 1")
QUERIES = (
    "MATCH (n) RETURN n",
    "MATCH ()-[r]->() RETURN r",
    "MATCH p = (:{L})-[:{T}]->() RETURN p",
    "MATCH (n:{L}) RETURN n.{K} AS v",
    "MATCH (n) RETURN id(n) AS i, labels(n) AS l, n.{K} AS v",
    "MATCH (a:{L})-[r:{T}]->(b) RETURN id(a), id(r), id(b), r.{K} AS v, b.{J} AS w",
    "MATCH (a)-[r]-(b) RETURN count(*) AS c",
    "MATCH (a:{L}) OPTIONAL MATCH (a)-[r:{T}]->(b:{M}) RETURN id(a), id(b), r.{K} AS v",
    "MATCH (a:{L}) OPTIONAL MATCH (a)<-[r]-(b) RETURN id(a), count(r), count(DISTINCT b)",
    "MATCH (a:{L}) WHERE NOT EXISTS {{ (a)-[:{T}]->(:{M}) }} RETURN id(a)",
    "MATCH (a:{L}) RETURN id(a), COUNT {{ (a)--() }} AS d",
    "MATCH (a)-[:{T}]->(b)-[:{U}]->(c) RETURN count(*) AS n",
    "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*) AS n",
    "MATCH (n) RETURN n.{K} AS k, count(*) AS c",
    "MATCH (n) RETURN DISTINCT labels(n) AS l",
    "MATCH (n) RETURN n.{K} AS v, id(n) AS i ORDER BY v DESC, i SKIP 3 LIMIT 20",
    "MATCH (n) RETURN count(n.{K}), count(DISTINCT n.{K}), min(n.{K}), max(n.{K})",
    "MATCH (a:{L})-[:{T}*1..3]->(b) RETURN id(a), id(b), count(*) AS n",
    "MATCH (n) WHERE n.{K} < $v OR n.{J} = $w RETURN id(n)",
    "MATCH (n) WHERE n.{K} IN [$v, $w, 1, 't1'] RETURN id(n), n.{K} AS v",
    "MATCH (n:!{L}) RETURN id(n)",
    "MATCH ()-[r]->() RETURN type(r) AS t, count(*) AS n",
    "MATCH (n:{L}) RETURN properties(n) AS p",
    "MATCH (a:{L}), (b:{M}) MATCH p = shortestPath((a)-[*..4]-(b)) WHERE a <> b "
    "RETURN length(p), count(*)",
    "MATCH (n) WITH n.{K} AS v, count(*) AS c ORDER BY c DESC, v LIMIT 5 RETURN v, c",
    "MATCH (n:{L}) RETURN id(n) AS i UNION MATCH (n:{M}) RETURN id(n) AS i",
)


def with_names(text, draw):
    """The text with names and a number drawn for its places."""
    return text.format(
        L=draw.choice(LABELS),
        M=draw.choice(LABELS),
        T=draw.choice(TYPES),
        U=draw.choice(TYPES),
        K=draw.choice(KEYS),
        J=draw.choice(KEYS),
        n=draw.choice((1, 1, 2, 8)),
    )


def values(draw):
    """Values of the parameters."""
    return {name: _value(draw) for name in "vw"}


def _value(draw):
    made = (
        draw.randrange(5),
        draw.randrange(-(2**62), 2**62),
        float(draw.randrange(4)),
        draw.choice((float("nan"), float("inf"), -0.0)),
        f"t{draw.randrange(6)}",
        "ü" * draw.randrange(3),
        draw.random() < 0.5,
        [draw.randrange(3) for _ in range(draw.randrange(3))],
        ["a", "b"][: draw.randrange(3)],
        datetime.date(2020, 1, 1 + draw.randrange(9)),
        datetime.timedelta(days=draw.randrange(3)),
        datetime.datetime(2020, 1, 1, draw.randrange(23), tzinfo=datetime.UTC),
        neo4j.spatial.CartesianPoint((1.0, float(draw.randrange(3)))),
        neo4j.spatial.WGS84Point((1.0, float(draw.randrange(3)))),
        None,
    )
    return draw.choice(made)
