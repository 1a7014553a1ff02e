MATCH (p:Person) RETURN count(p) AS people;
MATCH (c:Crime) RETURN c.type AS crime, count(c) AS total ORDER BY total DESC, crime;
MATCH (l:Location)<-[:OCCURRED_AT]-(:Crime) RETURN l.address AS address, l.postcode AS postcode, count(l) AS total ORDER BY total DESC, address, postcode LIMIT 15;
MATCH (l:Location {address: '1 Coronation Street', postcode: 'M5 3RW'}) WITH point({latitude: l.latitude, longitude: l.longitude}) AS corrie
MATCH (x:Location)-[:HAS_POSTCODE]->(p:PostCode), (x)<-[:OCCURRED_AT]-(c:Crime)
WITH x, p, c, point.distance(point({latitude: x.latitude, longitude: x.longitude}), corrie) AS distance WHERE distance < 500
RETURN x.address, p.code, count(c) AS total, round(distance) AS meters ORDER BY total DESC, meters, x.address LIMIT 10;
MATCH (o:Officer {rank: 'Police Constable', surname: 'Morrison'})<-[i:INVESTIGATED_BY]-(c:Crime) RETURN o, c;
MATCH (c:Crime {last_outcome: 'Under investigation'})-[i:INVESTIGATED_BY]->(o:Officer {badge_no: '26-5234182', surname: 'Larive'}) RETURN c.type, c.date, o.name;
MATCH (c:Crime {last_outcome: 'Under investigation', type: 'Drugs'})-[:INVESTIGATED_BY]->(:Officer {badge_no: '26-5234182'}), (c)<-[:PARTY_TO]-(p:Person) WITH collect(p) AS persons
UNWIND persons AS p1 UNWIND persons AS p2 WITH p1, p2 WHERE id(p1) < id(p2) MATCH path = allShortestPaths((p1)-[:KNOWS|KNOWS_LW|KNOWS_SN|FAMILY_REL|KNOWS_PHONE*..3]-(p2)) RETURN p1.nhs_no, p2.nhs_no, length(path) AS steps, count(*) AS ways;
MATCH path = shortestPath((a:Person {name: 'Jack', surname: 'Powell'})-[:KNOWS|KNOWS_LW|KNOWS_SN|FAMILY_REL|KNOWS_PHONE*]-(b:Person {name: 'Raymond', surname: 'Walker'})) RETURN length(path);
MATCH (p:Person)-[:HAS_PHONE]->(n:Phone)<-[:CALLED|CALLER]-(c:PhoneCall) RETURN p.name, p.surname, p.nhs_no, count(c) AS calls ORDER BY calls DESC, p.surname, p.name, p.nhs_no LIMIT 10;
MATCH (p:Person)-[:KNOWS]-(friend)-[:PARTY_TO]->(:Crime) WHERE NOT (p:Person)-[:PARTY_TO]->(:Crime) RETURN p.name, p.surname, p.nhs_no AS id, count(DISTINCT friend) AS dangerous ORDER BY dangerous DESC, id LIMIT 5;
MATCH (p:Person)-[:FAMILY_REL]-(relative)-[:PARTY_TO]->(:Crime) WHERE NOT (p)-[:PARTY_TO]->(:Crime) RETURN p.nhs_no, count(DISTINCT relative) AS dangerous ORDER BY dangerous DESC, p.nhs_no LIMIT 10;
MATCH (p:Person)-[:KNOWS*1..3]-(f)-[:PARTY_TO]->(c:Crime) WHERE NOT EXISTS { (p)-[:PARTY_TO]->() } AND c.type IN ['Drugs', 'Vehicle crime', 'Robbery'] RETURN p.surname, p.nhs_no, count(DISTINCT f) AS n ORDER BY n DESC, p.nhs_no LIMIT 20;
MATCH (c:Crime)-[:OCCURRED_AT]->(:Location)-[:LOCATION_IN_AREA]->(a:Area) WITH a, c.type AS type, count(*) AS n ORDER BY n DESC, type WITH a, collect(type)[0] AS worst, sum(n) AS crimes RETURN a.areaCode, worst, crimes ORDER BY crimes DESC, a.areaCode LIMIT 10;
MATCH (c:Crime) WITH split(c.date, '/') AS parts RETURN date({year: toInteger(parts[2]), month: toInteger(parts[1]), day: toInteger(parts[0])}).dayOfWeek AS day, count(*) AS n ORDER BY day;
MATCH (v:Vehicle)-[:INVOLVED_IN]->(c:Crime) RETURN v.make, count(DISTINCT v) AS vehicles, collect(DISTINCT c.last_outcome)[..0] AS none, min(toInteger(v.year)) AS oldest ORDER BY vehicles DESC, v.make LIMIT 10;
MATCH (p:Person)-[:CURRENT_ADDRESS]->(l)<-[:CURRENT_ADDRESS]-(q:Person) WHERE p.nhs_no < q.nhs_no RETURN p.surname, q.surname, l.address, exists((p)-[:FAMILY_REL]-(q)) AS family;
MATCH (p:Person) OPTIONAL MATCH (p)-[:HAS_EMAIL]->(e) OPTIONAL MATCH (p)-[:HAS_PHONE]->(n) RETURN e IS NULL AS noEmail, n IS NULL AS noPhone, count(*) AS people;
MATCH (o:Officer) OPTIONAL MATCH (o)<-[:INVESTIGATED_BY]-(c:Crime) WHERE c.last_outcome STARTS WITH 'Under' RETURN o.rank, count(c) AS open, count(DISTINCT o) AS officers ORDER BY o.rank;
MATCH (x:Object)-[:INVOLVED_IN]->(c:Crime)<-[:PARTY_TO]-(p:Person) RETURN x.description, c.type, c.charge, collect(p.surname) AS people;
MATCH (p:Person)-[k:KNOWS|FAMILY_REL|KNOWS_SN]-(q) WITH p, collect(DISTINCT type(k)) AS kinds, count(DISTINCT q) AS others WHERE size(kinds) = 3 RETURN p.name, p.surname, p.nhs_no, others ORDER BY others DESC, p.nhs_no LIMIT 10;
MATCH (p:Person)-[:PARTY_TO]->(c:Crime)-[:OCCURRED_AT]->(l)-[:LOCATION_IN_AREA]->(a)<-[:LOCATION_IN_AREA]-(h)<-[:CURRENT_ADDRESS]-(p) RETURN p.surname, c.type, a.areaCode;
