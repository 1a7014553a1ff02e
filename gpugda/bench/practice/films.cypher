// an actor by name
MATCH (a:Person {name: $actor}) RETURN a.name, a.born, labels(a);

// a film
MATCH (m:Movie {title: $title}) RETURN m.released, m.imdbrating, m.tagline;

// films of an actor
MATCH (a:Person {name: $actor})-[r:ACTED_IN]->(m:Movie) RETURN m.title, m.released, r.role ORDER BY m.released, m.title;

// who directed a film
MATCH (m:Movie {title: $title})<-[:DIRECTED]-(d) RETURN d.name;

// how people are related to a film
MATCH (p:Person)-[r]-(m:Movie {title: $title}) RETURN p.name, type(r) AS kind;

// films of a decade
MATCH (m:Movie) WHERE $decade <= m.released < $decade + 10 RETURN m.title, m.released ORDER BY m.released, m.title LIMIT 50;

// cast of films of a decade
MATCH (m:Movie)<-[:ACTED_IN]-(a:Person) WHERE m.released >= $decade AND m.imdbrating > 8
RETURN m.title, collect(a.name) AS cast, count(a) AS n ORDER BY n DESC, m.title LIMIT 20;

// co-actors of an actor
MATCH (a:Person {name: $actor})-[:ACTED_IN]->(m)<-[:ACTED_IN]-(b:Person) RETURN b.name, count(m) AS films
ORDER BY films DESC, b.name;

// co-actors of co-actors, to introduce
MATCH (a:Person {name: $actor})-[:ACTED_IN]->(m)<-[:ACTED_IN]-(co:Person)-[:ACTED_IN]->(m2)<-[:ACTED_IN]-(coco:Person)
WHERE NOT (a)-[:ACTED_IN]->()<-[:ACTED_IN]-(coco) AND a <> coco
RETURN coco.name, count(*) AS strength ORDER BY strength DESC, coco.name LIMIT 20;

// who can introduce two actors
MATCH (a:Person {name: $actor})-[:ACTED_IN]->(m)<-[:ACTED_IN]-(co:Person)-[:ACTED_IN]->(n)<-[:ACTED_IN]-(b:Person {name: $other})
RETURN DISTINCT co.name, m.title, n.title;

// all within four steps of an actor
MATCH (a:Person {name: $actor})-[*1..4]-(x) WHERE x:Movie OR x:Person RETURN labels(x) AS kind, count(DISTINCT x) AS n ORDER BY kind;

// shortest path of two actors
MATCH p = shortestPath((a:Person {name: $actor})-[:ACTED_IN*]-(b:Person {name: $other})) RETURN length(p) / 2 AS steps;

// all shortest paths of two actors
MATCH p = allShortestPaths((a:Person {name: $actor})-[:ACTED_IN|DIRECTED*..8]-(b:Person {name: $other}))
RETURN [n IN nodes(p) | coalesce(n.title, n.name)] AS way;

// distances to an actor
MATCH p = shortestPath((a:Person {name: $actor})-[:ACTED_IN*1..6]-(b:Director)) WHERE a <> b
RETURN length(p) AS distance, count(b) AS directors ORDER BY distance;

// films of a genre, the best
MATCH (g:Genre {name: $genre})<-[:IN_GENRE]-(m:Movie) RETURN m.title, m.imdbrating ORDER BY m.imdbrating DESC, m.title LIMIT 10;

// genres by films and rating
MATCH (g:Genre)<-[:IN_GENRE]-(m:Movie) RETURN g.name, count(m) AS films, round(avg(m.imdbrating), 6) AS mean ORDER BY films DESC, g.name;

// films with the same genres
MATCH (m:Movie {title: $title})-[:IN_GENRE]->(g:Genre)<-[:IN_GENRE]-(rec:Movie)
WITH rec, collect(g.name) AS genres, count(*) AS shared
RETURN rec.title, genres, shared ORDER BY shared DESC, rec.title LIMIT 10;

// films by people and genres in common
MATCH (m:Movie {title: $title})-[:IN_GENRE]->(g:Genre)<-[:IN_GENRE]-(rec:Movie)
WITH m, rec, count(*) AS genres
OPTIONAL MATCH (m)<-[:ACTED_IN]-(a)-[:ACTED_IN]->(rec)
WITH m, rec, genres, count(a) AS actors
OPTIONAL MATCH (m)<-[:DIRECTED]-(d)-[:DIRECTED]->(rec)
WITH rec, genres, actors, count(d) AS directors
RETURN rec.title, 5 * genres + 3 * actors + 4 * directors AS score ORDER BY score DESC, rec.title LIMIT 20;

// jaccard of genres
MATCH (m:Movie {title: $title})-[:IN_GENRE]->(g:Genre)<-[:IN_GENRE]-(other:Movie)
WITH m, other, count(g) AS both, COUNT { (m)-[:IN_GENRE]->() } AS one, COUNT { (other)-[:IN_GENRE]->() } AS two
RETURN other.title, 1.0 * both / (one + two - both) AS jaccard ORDER BY jaccard DESC, other.title LIMIT 15;

// ratings of a user
MATCH (u:User {name: $user})-[r:RATED]->(m:Movie) RETURN m.title, r.rating ORDER BY r.rating DESC, m.title LIMIT 20;

// films rated above a user's mean
MATCH (u:User {name: $user})-[r:RATED]->(m:Movie) WITH u, avg(r.rating) AS mean
MATCH (u)-[r:RATED]->(m:Movie) WHERE r.rating > mean RETURN m.title, r.rating - mean AS above ORDER BY above DESC, m.title LIMIT 20;

// users who also rated
MATCH (m:Movie {title: $title})<-[r:RATED]-(u:User)-[s:RATED]->(rec:Movie) WHERE r.rating >= $least AND s.rating >= $least
RETURN rec.title, count(*) AS users, avg(s.rating) AS mean ORDER BY users DESC, rec.title LIMIT 20;

// favourite genres of a user
MATCH (u:User {name: $user})-[r:RATED]->(m:Movie)-[:IN_GENRE]->(g:Genre)
WITH g, avg(r.rating) AS mean, count(*) AS films WHERE films > 2
RETURN g.name, mean, films ORDER BY mean DESC, g.name LIMIT 5;

// what similar users like
MATCH (u:User {name: $user})-[:RATED]->(m)<-[:RATED]-(v:User)
WITH u, v, count(m) AS shared ORDER BY shared DESC, v.name LIMIT 10
MATCH (v)-[r:RATED]->(rec:Movie) WHERE NOT EXISTS { (u)-[:RATED]->(rec) }
WITH rec, avg(r.rating) AS mean, count(*) AS votes WHERE votes >= 3
RETURN rec.title, votes ORDER BY votes DESC, rec.title LIMIT 20;

// cosine of users
MATCH (u:User {name: $user})-[x:RATED]->(m:Movie)<-[y:RATED]-(v:User)
WITH v, count(m) AS shared, sum(x.rating * y.rating) AS product,
     sqrt(sum(x.rating * x.rating)) AS one, sqrt(sum(y.rating * y.rating)) AS two WHERE shared > 3
RETURN v.name, shared, round(product / (one * two), 6) AS cosine ORDER BY cosine DESC, v.name LIMIT 20;

// ratings of some users
UNWIND $users AS name MATCH (u:User {name: name})-[r:RATED]->(m:Movie)
RETURN name, count(m) AS films, max(r.rating) AS best, collect(m.title)[..0] AS none;

// best films by votes
MATCH (m:Movie)<-[r:RATED]-(:User) WITH m, avg(r.rating) AS mean, count(r) AS votes WHERE votes > 10
RETURN m.title, round(mean, 6) AS mean, votes ORDER BY mean DESC, m.title LIMIT 20;

// films without ratings
MATCH (m:Movie) WHERE NOT (m)<-[:RATED]-() OPTIONAL MATCH (m)<-[:DIRECTED]-(d)
RETURN m.title, collect(d.name) AS directors;

// actors who directed or wrote
MATCH (p:Director)-[:DIRECTED|WROTE]->(m:Movie)<-[:ACTED_IN]-(p) RETURN p.name, collect(DISTINCT m.title) AS films;

// directors with most different genres
MATCH (d:Director)-[:DIRECTED]->(m:Movie)-[:IN_GENRE]->(g:Genre)
RETURN d.name, count(DISTINCT g) AS genres, count(DISTINCT m) AS films ORDER BY genres DESC, films DESC, d.name LIMIT 20;

// pairs of actors and directors
MATCH (a:Person)-[:ACTED_IN]->(m:Movie)<-[:DIRECTED]-(d:Director) WITH a, d, count(m) AS films WHERE films > 1
RETURN a.name, d.name, films ORDER BY films DESC, a.name, d.name LIMIT 25;

// co-actors in several films
MATCH (a:Person)-[:ACTED_IN]->(m:Movie)<-[:ACTED_IN]-(b:Person) WHERE a.name < b.name
WITH a, b, count(m) AS films WHERE films > 2 RETURN a.name, b.name, films ORDER BY films DESC, a.name, b.name LIMIT 50;

// what followed users rate well
MATCH (u:User {name: $user})-[:FOLLOWS*1..2]->(v:User)-[r:RATED]->(m:Movie) WHERE r.rating >= $least AND u <> v
RETURN m.title, count(DISTINCT v) AS users ORDER BY users DESC, m.title LIMIT 20;

// followers of followers
MATCH p = (u:User {name: $user})<-[:FOLLOWS*1..4]-(v:User) RETURN length(p) AS steps, count(DISTINCT v) AS users ORDER BY steps;

// actors of a director
MATCH (d:Director {name: $director})-[:DIRECTED]->(m:Movie)<-[r:ACTED_IN]-(a:Person)
RETURN a.name, collect(DISTINCT r.role) AS roles, count(m) AS films ORDER BY films DESC, a.name;

// films with people in several parts
MATCH (p:Person)-[:PRODUCED]->(m:Movie) WHERE EXISTS { (p)-[:ACTED_IN]->(m) } RETURN p.name, m.title;
