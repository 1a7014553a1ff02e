// Find by name, by title, by a range
MATCH (tom:Person {name: 'Tom Hanks'}) RETURN tom;
MATCH (cloudAtlas:Movie {title: 'Cloud Atlas'}) RETURN cloudAtlas;
MATCH (people:Person) RETURN people.name ORDER BY people.name LIMIT 10;
MATCH (nineties:Movie) WHERE nineties.released >= 1990 AND nineties.released < 2000 RETURN nineties.title;
// Who worked with whom
MATCH (tom:Person {name: 'Tom Hanks'})-[:ACTED_IN]->(tomHanksMovies) RETURN tom, tomHanksMovies;
MATCH (:Movie {title: 'Cloud Atlas'})<-[:DIRECTED]-(directors) RETURN directors.name;
MATCH (tom:Person {name: 'Tom Hanks'})-[:ACTED_IN]->(m)<-[:ACTED_IN]-(coActors) RETURN DISTINCT coActors.name;
MATCH (people:Person)-[relatedTo]-(:Movie {title: 'Cloud Atlas'})
RETURN people.name, type(relatedTo), relatedTo.roles;
// Degrees of separation
MATCH (bacon:Person {name: 'Kevin Bacon'})-[*1..4]-(hollywood) RETURN DISTINCT hollywood;
MATCH p = shortestPath((bacon:Person {name: 'Kevin Bacon'})-[*]-(meg:Person {name: 'Meg Ryan'}))
RETURN length(p) AS steps, nodes(p)[0].name AS first, nodes(p)[-1].name AS last;
MATCH (a:Person {name: 'Kevin Bacon'}), (b:Person) WHERE b <> a
OPTIONAL MATCH p = shortestPath((a)-[:ACTED_IN|DIRECTED*..6]-(b))
RETURN b.name, length(p) AS steps ORDER BY steps, b.name;
// Recommend
MATCH (tom:Person {name: 'Tom Hanks'})-[:ACTED_IN]->(m)<-[:ACTED_IN]-(coActors),
      (coActors)-[:ACTED_IN]->(m2)<-[:ACTED_IN]-(cocoActors)
WHERE NOT (tom)-[:ACTED_IN]->()<-[:ACTED_IN]-(cocoActors) AND tom <> cocoActors
RETURN cocoActors.name AS recommended, count(*) AS strength ORDER BY strength DESC, recommended;
MATCH (tom:Person {name: 'Tom Hanks'})-[:ACTED_IN]->(m)<-[:ACTED_IN]-(coActors),
      (coActors)-[:ACTED_IN]->(m2)<-[:ACTED_IN]-(cruise:Person {name: 'Tom Cruise'})
RETURN tom.name, m.title, coActors.name, m2.title, cruise.name;
MATCH (m:Movie)<-[r:REVIEWED]-(p)
RETURN m.title AS title, avg(r.rating) AS rating, collect(p.name) AS reviewers
ORDER BY rating DESC, title;
MATCH (p:Person) WHERE (p)-[:ACTED_IN]->() AND (p)-[:DIRECTED]->()
RETURN p.name, p.born, 2020 - p.born AS age ORDER BY p.name;
MATCH (p:Person)-[:ACTED_IN]->(m)<-[:DIRECTED]-(p) RETURN p.name, m.title;
MATCH (p:Person)-[r:ACTED_IN]->(m:Movie) WHERE size(r.roles) > 1
RETURN p.name, m.title, reduce(all = '', role IN r.roles | all + role + ';') AS roles;
MATCH (p:Person)-[:ACTED_IN]->(m) WITH p, count(m) AS played, collect(m.released) AS years
WHERE played > 3
RETURN p.name, played, reduce(first = 9999, y IN years | CASE WHEN y < first THEN y ELSE first END) AS since
ORDER BY played DESC, p.name;
MATCH (p:Person)-[:FOLLOWS*1..2]->(q) RETURN p.name, q.name;
MATCH (m:Movie) RETURN m {.title, .released, actors: [(m)<-[r:ACTED_IN]-(a) | a {.name, roles: r.roles}],
  directors: [(m)<-[:DIRECTED]-(d) | d.name]} AS movie;
MATCH (m:Movie) WHERE m.title =~ '(?i).*matrix.*' RETURN m.title, m.tagline;
MATCH (m:Movie) RETURN m.released / 10 * 10 AS decade, count(*) AS movies ORDER BY decade;
