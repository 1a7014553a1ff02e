"""Typical queries of applications on three graphs, by graph and name, with total orders.

Each graph has WITH, OPTIONAL MATCH, collect, variable length, shortest paths, EXISTS and the top
rows of each group. ORDER BY determines the rows that LIMIT keeps, so that rows can be compared.
"""

from __future__ import annotations

from typing import Any

__all__ = ["APPLICATIONS", "PARAMETERS"]

PARAMETERS: dict[str, Any] = {
    "name": "Doctor",
    "companion": "Rose Tyler",
    "user": 414,
    "users": [1, 50, 100, 200, 414],
    "title": "Toy Story",
    "area": "M1",
    "least": 4.0,
}
"""Parameters of all queries; each query receives those that it names."""

_DRWHO = {
    "enemies": """
        MATCH (d:Character {name: $name})-[:ENEMY_OF]-(e)
        RETURN DISTINCT e.name AS name, labels(e) AS labels""",
    "episodes by character": """
        MATCH (c:Character)-[:APPEARED_IN]->(e:Episode)
        WITH c, count(DISTINCT e) AS episodes WHERE episodes > 5
        RETURN c.name, episodes ORDER BY episodes DESC, c.name""",
    "friends of enemies": """
        MATCH (d:Character {name: $name})-[:ENEMY_OF]-(e)-[:ALLY_OF]-(f)
        WHERE f <> d AND NOT (d)-[:COMPANION_OF]-(f)
        RETURN f.name AS name, count(*) AS ways""",
    "companions and their actors": """
        MATCH (d:Character {name: $name})<-[:COMPANION_OF]-(c)
        OPTIONAL MATCH (c)<-[:PLAYED]-(a:Actor)
        RETURN c.name, collect(DISTINCT a.name) AS actors""",
    "regenerations": """
        MATCH p = (first:Actor)-[:REGENERATED_TO*1..]->(last:Actor)
        WHERE NOT (last)-[:REGENERATED_TO]->()
        RETURN [n IN nodes(p) | n.name] AS names, length(p) AS length""",
    "shortest way between two": """
        MATCH (a:Character {name: $name}), (b:Species {name: 'Dalek'})
        MATCH p = shortestPath((a)-[*..6]-(b)) RETURN length(p) AS steps""",
    "appeared with": """
        MATCH (d:Character {name: $companion})-[:APPEARED_IN]->(e)<-[:APPEARED_IN]-(other)
        WITH other, count(e) AS times, collect(e.title) AS titles
        RETURN other.name, labels(other), times, size(titles)
        ORDER BY times DESC, other.name, elementId(other) LIMIT 20""",
    "without a home": """
        MATCH (c:Character) WHERE NOT EXISTS { (c)-[:COMES_FROM]->(:Planet) }
        RETURN count(*) AS homeless, collect(c.name) AS names""",
    "busiest of each species": """
        MATCH (c:Character)-[:IS_A]->(s:Species)
        WITH s, c, COUNT { (c)-[:APPEARED_IN]->() } AS times
        ORDER BY times DESC, c.name
        WITH s, collect({name: c.name, times: times})[..3] AS top
        RETURN s.name, top""",
    "co-appearances": """
        MATCH (a:Character)-[:APPEARED_IN]->(e:Episode)<-[:APPEARED_IN]-(b:Character)
        WHERE a.name < b.name
        WITH a, b, count(*) AS times WHERE times >= 5
        RETURN a.name, b.name, times ORDER BY times DESC, a.name, b.name LIMIT 50""",
    "following episodes": """
        MATCH (e:Episode)-[:NEXT*1..8]->(f:Episode)
        WHERE EXISTS { (f)<-[:APPEARED_IN]-(:Character {name: $companion}) }
        RETURN e.title, count(f) AS following ORDER BY following DESC, e.title LIMIT 30""",
    "enemies within three steps": """
        MATCH (d:Character {name: $name})-[:ENEMY_OF*1..3]-(x)
        RETURN count(DISTINCT x) AS reached""",
}

_POLE = {
    "crimes by type": """
        MATCH (c:Crime) RETURN c.type AS type, count(*) AS crimes ORDER BY crimes DESC, type""",
    "crimes by area": """
        MATCH (c:Crime)-[:OCCURRED_AT]->(:Location)-[:LOCATION_IN_AREA]->(a:Area)
        RETURN a.areaCode AS area, count(c) AS crimes, collect(DISTINCT c.type) AS types
        ORDER BY crimes DESC, area LIMIT 20""",
    "top places": """
        MATCH (l:Location)<-[:OCCURRED_AT]-(c:Crime)
        WITH l, count(c) AS crimes WHERE crimes > 20
        OPTIONAL MATCH (l)<-[:CURRENT_ADDRESS]-(p:Person)
        RETURN l.address, l.postcode, crimes, count(p) AS people
        ORDER BY crimes DESC, l.address, l.postcode LIMIT 15""",
    "three kinds per area": """
        MATCH (c:Crime)-[:OCCURRED_AT]->()-[:LOCATION_IN_AREA]->(a:Area)
        WITH a, c.type AS type, count(*) AS crimes ORDER BY crimes DESC, type
        WITH a, collect({type: type, crimes: crimes})[..3] AS top
        RETURN a.areaCode AS area, top""",
    "officers with most types": """
        MATCH (o:Officer)<-[:INVESTIGATED_BY]-(c:Crime)
        RETURN o.badge_no, o.surname, count(*) AS cases, count(DISTINCT c.type) AS types
        ORDER BY cases DESC, o.badge_no LIMIT 25""",
    "vulnerable friends": """
        MATCH (p:Person)-[:KNOWS]-(f)-[:PARTY_TO]->(:Crime)
        WHERE NOT (p)-[:PARTY_TO]->(:Crime)
        RETURN p.name, p.surname, p.nhs_no, count(DISTINCT f) AS dangerous
        ORDER BY dangerous DESC, p.nhs_no LIMIT 10""",
    "dangerous friends of friends": """
        MATCH (p:Person)-[:KNOWS*1..2]-(f)-[:PARTY_TO]->(:Crime)
        WHERE NOT EXISTS { (p)-[:PARTY_TO]->(:Crime) } AND p <> f
        RETURN p.nhs_no, count(DISTINCT f) AS dangerous
        ORDER BY dangerous DESC, p.nhs_no LIMIT 10""",
    "shortest ways between suspects": """
        MATCH (c:Crime {last_outcome: 'Under investigation', type: 'Drugs'})<-[:PARTY_TO]-(p:Person)
        WITH collect(DISTINCT p) AS people
        UNWIND people AS a UNWIND people AS b
        WITH a, b WHERE elementId(a) < elementId(b)
        MATCH w = shortestPath((a)-[:KNOWS|KNOWS_LW|KNOWS_SN|FAMILY_REL|KNOWS_PHONE*]-(b))
        RETURN a.nhs_no, b.nhs_no, length(w) AS steps""",
    "families in crime": """
        MATCH (a:Person)-[r:FAMILY_REL]-(b:Person)
        WHERE EXISTS { (a)-[:PARTY_TO]->() } AND EXISTS { (b)-[:PARTY_TO]->() }
        RETURN DISTINCT a.nhs_no, b.nhs_no, r.rel_type""",
    "calls between people": """
        MATCH (a:Person)-[:HAS_PHONE]->(:Phone)<-[:CALLER]-(call:PhoneCall)-[:CALLED]->
              (:Phone)<-[:HAS_PHONE]-(b:Person)
        WITH a, b, count(call) AS calls, sum(toInteger(call.call_duration)) AS seconds
        RETURN a.nhs_no, b.nhs_no, calls, seconds
        ORDER BY calls DESC, seconds DESC, a.nhs_no, b.nhs_no LIMIT 40""",
    "vehicles in crimes of an area": """
        MATCH (v:Vehicle)-[:INVOLVED_IN]->(c:Crime)-[:OCCURRED_AT]->(l:Location)
              -[:LOCATION_IN_AREA]->(a:Area {areaCode: $area})
        RETURN v.reg, v.make, c.type, l.address""",
    "crimes around a person's home": """
        MATCH (p:Person)-[:CURRENT_ADDRESS]->(home)-[:LOCATION_IN_AREA]->(a:Area)
        OPTIONAL MATCH (a)<-[:LOCATION_IN_AREA]-(l:Location)<-[:OCCURRED_AT]-(c:Crime)
        WITH p, count(DISTINCT c) AS crimes
        RETURN crimes, count(p) AS people ORDER BY crimes DESC LIMIT 20""",
    "officers who share places": """
        MATCH (o:Officer)<-[:INVESTIGATED_BY]-(:Crime)-[:OCCURRED_AT]->(l:Location)
              <-[:OCCURRED_AT]-(:Crime)-[:INVESTIGATED_BY]->(p:Officer)
        WHERE o.badge_no < p.badge_no
        WITH o, p, count(DISTINCT l) AS places WHERE places > 3
        RETURN o.badge_no, p.badge_no, places
        ORDER BY places DESC, o.badge_no, p.badge_no LIMIT 20""",
}

_RECOMMENDATIONS = {
    "movies of a genre": """
        MATCH (g:Genre)<-[:IN_GENRE]-(m:Movie)
        RETURN g.name AS genre, count(m) AS movies, avg(m.imdbRating) AS rating
        ORDER BY movies DESC, genre""",
    "similar by genre": """
        MATCH (m:Movie {title: $title})-[:IN_GENRE]->(g)<-[:IN_GENRE]-(other:Movie)
        WITH other, count(g) AS shared, collect(g.name) AS genres
        RETURN other.title, shared ORDER BY shared DESC, other.movieId LIMIT 10""",
    "users who also rated": """
        MATCH (m:Movie {title: $title})<-[r:RATED]-(u:User)-[s:RATED]->(other:Movie)
        WHERE r.rating >= $least AND s.rating >= $least
        WITH other, count(*) AS users, avg(s.rating) AS mean
        RETURN other.title, users, mean ORDER BY users DESC, other.movieId LIMIT 20""",
    "similar users": """
        MATCH (u:User {userId: $user})-[:RATED]->(m)<-[:RATED]-(v:User)
        WITH v, count(m) AS shared ORDER BY shared DESC, v.userId LIMIT 10
        RETURN v.userId, shared""",
    "what similar users like": """
        MATCH (u:User {userId: $user})-[:RATED]->(m)<-[:RATED]-(v:User)
        WITH u, v, count(m) AS shared ORDER BY shared DESC, v.userId LIMIT 10
        MATCH (v)-[r:RATED]->(other:Movie) WHERE NOT EXISTS { (u)-[:RATED]->(other) }
        WITH other, round(avg(r.rating), 6) AS mean, count(*) AS votes WHERE votes >= 3
        RETURN other.title, mean, votes ORDER BY votes DESC, mean DESC, other.movieId LIMIT 20""",
    "cosine similarity": """
        MATCH (u:User {userId: $user})-[x:RATED]->(m:Movie)<-[y:RATED]-(v:User)
        WITH v, count(m) AS shared, sum(x.rating * y.rating) AS product,
             sqrt(sum(x.rating * x.rating)) AS xs, sqrt(sum(y.rating * y.rating)) AS ys
        WHERE shared > 20
        RETURN v.userId, shared, round(product / (xs * ys), 6) AS cosine
        ORDER BY cosine DESC, v.userId LIMIT 20""",
    "favourite genres of users": """
        MATCH (u:User)-[r:RATED]->(m:Movie)-[:IN_GENRE]->(g:Genre) WHERE u.userId IN $users
        WITH u, g, round(avg(r.rating), 6) AS mean, count(*) AS movies WHERE movies >= 5
        ORDER BY mean DESC, g.name
        WITH u, collect({genre: g.name, movies: movies})[..3] AS top
        RETURN u.userId, top""",
    "best movies of each genre": """
        MATCH (g:Genre)<-[:IN_GENRE]-(m:Movie)<-[r:RATED]-(:User)
        WITH g, m, round(avg(r.rating), 6) AS mean, count(r) AS votes WHERE votes >= 20
        ORDER BY mean DESC, m.movieId
        WITH g, collect(m.title)[..5] AS best
        RETURN g.name, best""",
    "actors who direct": """
        MATCH (p:Person)-[:DIRECTED]->(m:Movie)<-[:ACTED_IN]-(p)
        WITH p, count(m) AS both
        OPTIONAL MATCH (p)-[:ACTED_IN]->(other:Movie)
        RETURN p.name, both, count(other) AS acted
        ORDER BY both DESC, acted DESC, p.name LIMIT 20""",
    "co-actors": """
        MATCH (a:Actor)-[:ACTED_IN]->(m:Movie)<-[:ACTED_IN]-(b:Actor) WHERE a.name < b.name
        WITH a, b, count(m) AS movies WHERE movies > 4
        RETURN a.name, b.name, movies ORDER BY movies DESC, a.name, b.name""",
    "degrees of separation": """
        MATCH (k:Actor {name: 'Kevin Bacon'}), (m:Actor {name: 'Marilyn Monroe'})
        MATCH p = shortestPath((k)-[:ACTED_IN*]-(m))
        RETURN length(p) / 2 AS steps""",
    "actors within four steps": """
        MATCH (k:Actor {name: 'Kevin Bacon'})-[:ACTED_IN*2..4]-(other:Actor)
        RETURN count(DISTINCT other) AS reached""",
    "unrated": """
        MATCH (m:Movie) WHERE NOT (m)<-[:RATED]-()
        OPTIONAL MATCH (m)<-[:DIRECTED]-(d)
        RETURN m.title, m.movieId, collect(d.name) AS directors""",
    "content and crowd": """
        MATCH (m:Movie {title: $title})
        MATCH (m)-[:IN_GENRE]->(g:Genre)<-[:IN_GENRE]-(rec:Movie)
        WITH m, rec, count(*) AS genres
        OPTIONAL MATCH (m)<-[:ACTED_IN]-(a)-[:ACTED_IN]->(rec)
        WITH m, rec, genres, count(a) AS actors
        OPTIONAL MATCH (m)<-[:DIRECTED]-(d)-[:DIRECTED]->(rec)
        WITH rec, genres, actors, count(d) AS directors
        RETURN rec.title, 5 * genres + 3 * actors + 4 * directors AS score
        ORDER BY score DESC, rec.movieId LIMIT 20""",
}

APPLICATIONS: dict[str, dict[str, str]] = {
    "drwho-labelled": _DRWHO,
    "pole": _POLE,
    "recommendations": _RECOMMENDATIONS,
}
"""By name of the graph: its queries by name."""
