"""Dates below year 1 and above 9999, which the driver cannot show, against Neo4j."""

from __future__ import annotations

import pytest
from neo4j.exceptions import BrokenRecordError

import gpugda

VALUES = {
    "d": ["date('-0001-01-01')", "date('+10000-01-01')", "date('0000-12-31')"],
    "l": ["localdatetime('-0001-01-01T01:00')", "localdatetime('+10000-01-01T01:00')"],
    "z": ["datetime('-0001-01-01T01:00Z')", "datetime('+10000-01-01T01:00[UTC]')"],
    "p": [
        "datetime('-0001-01-01T01:00[Europe/Paris]')",
        "datetime('+10000-07-01T01:00[Europe/Paris]')",
    ],
}
QUERIES = [
    "MATCH (n:A) RETURN n.i AS i ORDER BY n.{key}, i",
    "MATCH (n:A) WITH n.{key} AS x, count(*) AS c RETURN toString(x) AS t, c ORDER BY x",
    "MATCH (n:A) RETURN toString(min(n.{key})) AS a, toString(max(n.{key})) AS b",
    "MATCH (n:A)-[r]->(m) WHERE n.{key} < m.{key} RETURN n.i AS i ORDER BY i",
    "MATCH (n:A)-[r]->(m) WHERE r.{key} = n.{key} RETURN n.i AS i ORDER BY i",
    "MATCH (n:A) RETURN n.{key}.year AS y, n.{key}.week AS w, n.{key}.ordinalDay AS o ORDER BY n.i",
    "MATCH (n:A) RETURN toString(n.{key} + duration('P1M1D')) AS t ORDER BY n.i",
    "MATCH (n:A) RETURN toString(date.truncate('decade', n.{key})) AS t ORDER BY n.i",
]
READ = [
    "MATCH (n:A) RETURN n.{key} AS x ORDER BY n.i",
    "MATCH (n:A) RETURN collect(n.{key}) AS x",
    "MATCH (n:A) RETURN n AS x ORDER BY n.i",
    "MATCH (n:A) RETURN {{a: n.{key}}} AS x ORDER BY n.i",
]


@pytest.fixture
def far(server):
    """A ring of nodes, a hundred with usual values and some with far ones."""
    usual = "date('1990-01-01') + duration({days: i})"
    server.load(
        [
            "UNWIND range(0, 99) AS i CREATE (n:A {i: i}) "
            f"SET n.d = {usual}, n.l = localdatetime({{date: {usual}}}), "
            f"n.z = datetime({{date: {usual}, timezone: 'Z'}}), "
            f"n.p = datetime({{date: {usual}, timezone: 'Europe/Paris'}})",
            *(
                f"MATCH (n:A) WHERE n.i % 50 = {place} SET n.{key} = {value}"
                for key, values in VALUES.items()
                for place, value in enumerate(values)
            ),
            "MATCH (n:A), (m:A) WHERE m.i = (n.i + 1) % 100 CREATE (n)-[r:R]->(m) "
            "SET r.d = n.d, r.l = m.l, r.z = n.z, r.p = n.p",
        ]
    )
    return server


@pytest.mark.parametrize(
    "engine",
    ["gpu", *(pytest.param(each, marks=pytest.mark.slow) for each in ("reference", "saved"))],
)
def test_every_engine_has_them_as_neo4j(far, engine, tmp_path):
    with gpugda.connect(far.uri, auth=far.auth, cache=False) as live:
        opened = live
        if engine == "saved":
            live.save(tmp_path / "snapshot")
            opened = gpugda.connect(tmp_path / "snapshot")
        asked = "gpu" if engine == "saved" else engine
        for key in VALUES:
            for text in (each.format(key=key) for each in QUERIES):
                expected = live.run(text, engine="native").values()
                assert opened.run(text, engine=asked).values() == expected, text
            for text in (each.format(key=key) for each in READ):
                expected = [shown(record) for record in live.run(text, engine="native")]
                found = [shown(record) for record in opened.run(text, engine=asked)]
                assert found == expected, text
            with pytest.raises(BrokenRecordError, match="'x'"):
                opened.run(READ[0].format(key=key), engine=asked).values()


def shown(record):
    """A record as text: of a value that the driver cannot show, its error."""
    try:
        return plain(record["x"])
    except BrokenRecordError as error:
        return f"{error} {error.__cause__!r}"


def plain(value):
    if hasattr(value, "raw_data"):
        return f"{value.error!r} {value.raw_data.tag} {value.raw_data.fields}"
    if hasattr(value, "element_id"):
        return [value.element_id, plain(dict(value))]
    if isinstance(value, list):
        return [plain(item) for item in value]
    return (
        {key: plain(value[key]) for key in sorted(value)}
        if isinstance(value, dict)
        else repr(value)
    )
