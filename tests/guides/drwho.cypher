MATCH (doctor:Character {name: 'Doctor'})<-[:PLAYED]-(actor) RETURN actor.name AS actor;
MATCH (:Character {name: 'Doctor'})<-[:ENEMY_OF]-()-[:COMES_FROM]->(planet) RETURN DISTINCT planet.name AS planet;
MATCH (:Character {name: 'Doctor'})<-[:ENEMY_OF]-()-[:COMES_FROM]->(planet)
RETURN planet.name AS planet, count(planet) AS times ORDER BY times DESC, planet;
MATCH (:Actor {name: 'David Tennant'})-[:APPEARED_IN]->(episode)<-[:APPEARED_IN]-(e:Species) RETURN e.name, episode.title;
MATCH (dr:Character {name: 'Doctor'})-[:COMPANION_OF]-(c)-[:APPEARED_IN]->(e:Episode)
RETURN c.name, count(DISTINCT e) AS episodes ORDER BY episodes DESC, c.name LIMIT 10;
MATCH p = (first:Actor)-[:REGENERATED_TO*]->(last:Actor)
WHERE NOT ()-[:REGENERATED_TO]->(first) AND NOT (last)-[:REGENERATED_TO]->()
RETURN [a IN nodes(p) | a.name] AS actors;
MATCH (a:Actor)-[r:REGENERATED_TO]->(b) RETURN a.name, b.name, coalesce(r.year, 'unknown') AS year;
MATCH p = shortestPath((m:Character {name: 'Master'})-[*]-(r:Character {name: 'Rose Tyler'})) RETURN length(p);
MATCH (a:Actor) WHERE a.salary IS NOT NULL RETURN a.name, a.salary ORDER BY a.salary DESC;
MATCH (c:Character) WHERE c.wikipedia IS NULL WITH c LIMIT 1000 RETURN count(c);
MATCH (s:Species)<-[:IS_A]-(c) WITH s, collect(c.name) AS members WHERE size(members) > 1
RETURN s.name, size(members) AS members ORDER BY members DESC, s.name;
MATCH (e:Episode) WHERE NOT ()-[:NEXT]->(e) RETURN e.title AS first;
MATCH (e:Episode {title: 'Rose'})-[:NEXT*1..5]->(later) RETURN later.title;
MATCH (e:Episode {title: 'Rose'})<-[:PREVIOUS*0..3]-(x) RETURN x.title;
MATCH (p)-[:ORIGINAL_PROP]->(part) RETURN labels(p), properties(p) AS p, properties(part) AS part;
MATCH (c:Character)-[:COMES_FROM]->(planet:Planet) OPTIONAL MATCH (c)-[:LOVES]-(beloved)
RETURN c.name, planet.name, collect(beloved.name) AS loves;
MATCH (c:Character)-[:OWNS]->(t:Thing) RETURN t.name, collect(c.name) AS owners;
MATCH (c:Character {name: 'Doctor'})-[r]-(x) RETURN type(r) AS type, labels(x)[0] AS what, count(*) AS times ORDER BY times DESC, type, what;
MATCH (a)-[:ALLY_OF]->(b) WHERE (a)-[:ENEMY_OF]-(b) RETURN a.name, b.name;
MATCH (p:Planet) WHERE NOT EXISTS { (p)--() } RETURN count(p) AS unvisited;
