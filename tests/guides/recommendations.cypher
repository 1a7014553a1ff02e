MATCH (m:Movie)<-[:ACTED_IN]-(a:Actor) WHERE m.title CONTAINS 'Matrix' RETURN m.title, collect(a.name) AS actors;
MATCH (m:Movie {title: 'Inception'})-[:IN_GENRE]->(g)<-[:IN_GENRE]-(rec:Movie) WITH rec, collect(g.name) AS genres, count(*) AS common RETURN rec.title, rec.movieId, common ORDER BY common DESC, rec.movieId LIMIT 10;
MATCH (u:User {userId: '1'})-[r:RATED]->(m:Movie) RETURN m.title, r.rating ORDER BY r.rating DESC, m.title LIMIT 10;
MATCH (u:User {userId: '1'})-[r:RATED]->(m) WITH u, avg(r.rating) AS mean MATCH (u)-[r:RATED]->(m)-[:IN_GENRE]->(g:Genre) WHERE r.rating > mean RETURN g.name AS genre, count(*) AS score ORDER BY score DESC, genre;
MATCH (u:User {userId: '53'})-[:RATED]->(:Movie)<-[:RATED {rating: 5.0}]-(peer:User) MATCH (peer)-[:RATED {rating: 5.0}]->(rec:Movie) WHERE NOT (u)-[:RATED]->(rec) RETURN rec.title, rec.movieId, count(DISTINCT peer) AS peers ORDER BY peers DESC, rec.movieId LIMIT 10;
MATCH (m:Movie {title: 'Crimson Tide'})<-[:RATED]-(:User)-[r:RATED]->(rec:Movie) WHERE r.rating >= 4.5 RETURN rec.movieId, rec.title, count(*) AS times ORDER BY times DESC, rec.movieId LIMIT 10;
MATCH (p1:User {userId: '1'})-[x:RATED]->(m:Movie)<-[y:RATED]-(p2:User)
WITH p1, p2, count(m) AS shared, sum(x.rating * y.rating) AS xyDot, sqrt(reduce(xDot = 0.0, a IN collect(x.rating) | xDot + a ^ 2)) AS xLength, sqrt(reduce(yDot = 0.0, b IN collect(y.rating) | yDot + b ^ 2)) AS yLength
WHERE shared > 20 RETURN p2.userId, round(xyDot / (xLength * yLength), 6) AS similarity, shared ORDER BY similarity DESC, p2.userId LIMIT 10;
MATCH (u1:User {userId: '4'})-[r:RATED]->(m:Movie) WITH u1, avg(r.rating) AS u1mean
MATCH (u1)-[r1:RATED]->(m:Movie)<-[r2:RATED]-(u2)
WITH u1, u1mean, u2, collect({r1: r1, r2: r2}) AS ratings WHERE size(ratings) > 30
MATCH (u2)-[r:RATED]->(m:Movie) WITH u1, u1mean, u2, avg(r.rating) AS u2mean, ratings
UNWIND ratings AS r
WITH sum((r.r1.rating - u1mean) * (r.r2.rating - u2mean)) AS nom, sqrt(sum((r.r1.rating - u1mean) ^ 2) * sum((r.r2.rating - u2mean) ^ 2)) AS denom, u1, u2 WHERE denom <> 0
RETURN u2.userId, round(nom / denom, 6) AS pearson ORDER BY pearson DESC, u2.userId LIMIT 10;
MATCH (m:Movie {title: 'Inception'})-[:IN_GENRE]->(g:Genre)<-[:IN_GENRE]-(other:Movie) WITH m, other, count(g) AS intersection, collect(g.name) AS common
WITH m, other, intersection, [(m)-[:IN_GENRE]->(mg) | mg.name] AS s1, [(other)-[:IN_GENRE]->(og) | og.name] AS s2
WITH m, other, intersection, s1 + [x IN s2 WHERE NOT x IN s1] AS union RETURN other.movieId, (1.0 * intersection) / size(union) AS jaccard ORDER BY jaccard DESC, other.movieId LIMIT 10;
MATCH (m:Movie {title: 'Inception'}) MATCH (m)-[:IN_GENRE]->(g:Genre)<-[:IN_GENRE]-(rec:Movie) WITH m, rec, count(*) AS gs
OPTIONAL MATCH (m)<-[:ACTED_IN]-(a)-[:ACTED_IN]->(rec) WITH m, rec, gs, count(a) AS actors
OPTIONAL MATCH (m)<-[:DIRECTED]-(d)-[:DIRECTED]->(rec) WITH m, rec, gs, actors, count(d) AS directors
RETURN rec.title, rec.movieId, (5 * gs) + (3 * actors) + (4 * directors) AS score ORDER BY score DESC, rec.movieId LIMIT 20;
MATCH (p:Person) WHERE p:Actor AND p:Director RETURN count(p);
MATCH (p:Actor&Director)-[:ACTED_IN]->(m)<-[:DIRECTED]-(p) RETURN p.name, count(m) AS movies ORDER BY movies DESC, p.name LIMIT 10;
MATCH (g:Genre)<-[:IN_GENRE]-(m:Movie)<-[r:RATED]-() RETURN g.name, avg(r.rating) AS mean, count(*) AS ratings, stDev(r.rating) AS deviation, percentileDisc(r.rating, 0.5) AS middle ORDER BY g.name;
MATCH (m:Movie)<-[r:RATED]-() WITH m, count(r) AS n, avg(r.rating) AS mean WHERE n > 100 RETURN m.title, mean, n ORDER BY mean DESC, m.movieId LIMIT 10;
MATCH (a:Actor {name: 'Tom Hanks'})-[:ACTED_IN]->()<-[:ACTED_IN]-(b) WITH a, b, count(*) AS together ORDER BY together DESC, b.name LIMIT 10 RETURN b.name, together;
MATCH p = shortestPath((a:Actor {name: 'Tom Hanks'})-[:ACTED_IN*..8]-(b:Actor {name: 'Al Pacino'})) RETURN length(p);
MATCH (m:Movie) WHERE m.year IS NULL OR m.imdbRating IS NULL RETURN count(m), collect(m.title)[..0] AS none;
MATCH (u:User)-[r:RATED]->(m) WITH u, date(datetime({epochSeconds: r.timestamp})).year AS year, count(*) AS n ORDER BY n DESC, year WITH u, collect(year)[0] AS busiest RETURN busiest, count(*) AS users ORDER BY busiest;
MATCH (d:Director)-[:DIRECTED]->(m:Movie) WITH d, count(m) AS n, avg(m.imdbRating) AS rating WHERE n > 15 RETURN d.name, n, rating ORDER BY rating DESC, d.name;
MATCH (m:Movie {title: 'Toy Story'}) RETURN m {.title, genres: [(m)-[:IN_GENRE]->(g) | g.name], raters: COUNT { (m)<-[:RATED]-() }, cast: [(m)<-[:ACTED_IN]-(a) | a {.name, others: COUNT { (a)-[:ACTED_IN]->() }}]} AS movie;
