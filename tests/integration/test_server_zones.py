"""The offset ``Z`` and the zone ``[UTC]``, which look alike in the driver, against Neo4j."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import neo4j.time
import pytest
import pytz
from answers import answer

import gpugda
from gpugda.errors import SourceError

ZONES = ["Z", "+00:00", "[Z]", "[UTC]", "[UTC]", "[Etc/UTC]", "[GMT]", "[Africa/Abidjan]"]
LISTS = [("Z", "[UTC]"), ("Z", "[UTC]"), ("Z", "Z"), ("[UTC]", "[UTC]"), ("[UTC]", "Z")]
QUERIES = [
    "MATCH (n:A) RETURN count(DISTINCT n.z) AS x",
    "MATCH (n:L) RETURN count(DISTINCT n.z) AS x",
    "MATCH (n), (m) WHERE n.z = m.z RETURN n.i, m.i",
    "MATCH (n:A), (m:A) WHERE n.z < m.z RETURN n.i, m.i",
    "MATCH (n:A)-[r]->(m) WHERE r.z = n.z RETURN r.z, m.z",
    "MATCH (n) RETURN n.z, count(*) AS x",
    "MATCH (n) RETURN n",
    "MATCH ()-[r]->() RETURN DISTINCT r.z",
]
WITH_PARAMETER = [
    "MATCH (n:A) WHERE n.z = $p RETURN n.i, n.z, $p",
    "MATCH (n:A) WHERE n.z IN [$p] RETURN n.i",
    "MATCH (n:A {z: $p}) RETURN n.i",
    "MATCH (n:A) WHERE n.z < $p RETURN n.i",
    "MATCH (n:A) WHERE n.z >= $p RETURN n.i",
    "MATCH (n:L) WHERE $p IN n.z RETURN n.i",
    "MATCH (n:L) WHERE n.z = [$p, $p] RETURN n.i",
]
MOMENT = datetime(2020, 6, 1, 10)
PARAMETERS = {
    "timezone.utc": MOMENT.replace(tzinfo=UTC),
    "ZoneInfo": MOMENT.replace(tzinfo=ZoneInfo("UTC")),
    "pytz": MOMENT.replace(tzinfo=pytz.utc),
    "neo4j": neo4j.time.DateTime(2020, 6, 1, 10, tzinfo=pytz.utc),
    "neo4j at an offset": neo4j.time.DateTime(2020, 6, 1, 10, tzinfo=UTC),
    "Etc/UTC": MOMENT.replace(tzinfo=pytz.timezone("Etc/UTC")),
}


@pytest.fixture
def zoned(server):
    """Nodes in each zone, lists of times, and values of other types between them."""
    at = "datetime('2020-06-01T10:00:00{}')".format
    server.load(
        [
            *(f"CREATE (:A {{i: {i}, z: {at(zone)}}})" for i, zone in enumerate(ZONES)),
            *(f"CREATE (:L {{i: {i}, z: [{at(a)}, {at(b)}]}})" for i, (a, b) in enumerate(LISTS)),
            "CREATE (:A {i: 90, z: 'text'}), (:A {i: 91, z: 1}), (:A {i: 92}), (:L {i: 93, z: [1]})",
            f"MATCH (a:A {{i: 0}}), (b:A {{i: 3}}) CREATE (a)-[:R {{z: {at('[UTC]')}}}]->(b), "
            f"(b)-[:R {{z: {at('[UTC]')}}}]->(a), (b)-[:R {{z: {at('Z')}}}]->(a)",
        ]
    )
    return server


def _zones(rows):
    """The zone objects of the values: the driver returns the same one for both."""
    return sorted(repr([getattr(value, "tzinfo", None) for value in row]) for row in rows)


@pytest.mark.parametrize("engine", ["gpu", "reference", "saved"])
def test_every_engine_distinguishes_zones_as_neo4j(zoned, engine, tmp_path):
    with gpugda.connect(zoned.uri, auth=zoned.auth) as live:
        opened = live
        if engine == "saved":
            live.save(tmp_path / "snapshot")
            opened = gpugda.connect(tmp_path / "snapshot")
        asked = "gpu" if engine == "saved" else engine
        for text in QUERIES + WITH_PARAMETER:
            for name, value in PARAMETERS.items() if "$p" in text else [("", None)]:
                given = {"p": value} if name else {}
                expected = live.run(text, given, engine="native").values()
                found = opened.run(text, given, engine=asked).values()
                assert answer(found) == answer(expected), (text, name)
                assert _zones(found) == _zones(expected), (text, name)
        ordered = "MATCH (n:A) RETURN n.i ORDER BY n.z, n.i"
        assert opened.run(ordered, engine=asked).values() == live.run(ordered).values()


SECONDS = {
    "a date-time": "datetime({year: 2020, month: 6, day: 1, timezone: '+01:30:15'})",
    "a time": "time({hour: 10, timezone: '-01:30:15'})",
    "an offset of seconds": "datetime({year: 2020, month: 6, day: 1, timezone: '+00:00:30'})",
    "a time at such an offset": "time({hour: 10, timezone: '-00:00:30'})",
    "a list": "[time({hour: 10, timezone: '+01:30'}), time({hour: 10, timezone: '+01:30:15'})]",
}


@pytest.mark.parametrize("value", SECONDS.values(), ids=SECONDS)
def test_offsets_with_seconds_are_left_to_neo4j(server, value):
    """The driver cuts them to minutes, so that other texts and hours would come."""
    server.load([f"CREATE (:A {{i: 1, t: {value}}}), (:A {{i: 2, t: time('10:00+01:30')}})"])
    with gpugda.connect(server.uri, auth=server.auth, cache=False) as live:
        text = "MATCH (n:A) WHERE n.i = 1 RETURN toString(VALUE) AS x"
        text = text.replace("VALUE", "n.t[1]" if value[0] == "[" else "n.t")
        for _ in range(2):
            with pytest.raises(SourceError, match="'t': offsets from UTC with seconds"):
                live.run(text, engine="gpu")
            assert live.run(text).values() == live.run(text, engine="native").values()
        assert live.run("MATCH (n:A) RETURN sum(n.i) AS x", engine="gpu").values() == [[3]]


def test_a_zone_that_only_neo4j_knows_is_refused_each_time(server):
    zone = "datetime({year: 2020, month: 6, day: 1, timezone: 'SystemV/EST5'})"
    server.load([f"CREATE (:A {{i: 1, t: {zone}}}), (:A {{i: 2, t: time('10:00+01:30')}})"])
    text = "MATCH (n:A) WHERE n.t < datetime() RETURN count(*) AS x"
    with gpugda.connect(server.uri, auth=server.auth, cache=False) as live:
        for _ in range(3):
            with pytest.raises(SourceError, match=r"'t'.*SystemV/EST5"):
                live.run(text, engine="gpu")
            assert live.run(text).values() == [[1]]


def test_embedded_graphs_have_the_zones_of_the_driver(server):
    server.wipe()
    moments = list(PARAMETERS.values())
    server.run("UNWIND $moments AS each CREATE (:A {z: each})", moments=moments)
    nodes = {"id": list(range(len(moments))), "labels": ["A"] * len(moments), "z": moments}
    with gpugda.connect(gpugda.graph(nodes=nodes)) as embedded:
        for value in moments:
            text = "MATCH (n:A) WHERE n.z = $p RETURN count(*) AS x"
            for engine in ("gpu", "reference"):
                found = embedded.run(text, p=value, engine=engine).single()["x"]
                assert found == server.run(text, p=value)[0]["x"]
