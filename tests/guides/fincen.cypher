MATCH (f:Filing) RETURN count(*) AS filings, sum(f.amount) AS amount, min(f.begin) AS earliest, max(f.end) AS latest;
MATCH (e:Entity)-[:FILED]->(f) RETURN e.name, count(*) AS filings, sum(f.amount) AS amount ORDER BY filings DESC, e.name LIMIT 10;
MATCH (c:Country)<-[:COUNTRY]-(e:Entity) RETURN c.name, count(e) AS entities ORDER BY entities DESC, c.name LIMIT 10;
MATCH (f:Filing)-[:ORIGINATOR]->(o:Entity)-[:COUNTRY]->(a:Country), (f)-[:BENEFITS]->(b:Entity)-[:COUNTRY]->(c:Country) WHERE a <> c
RETURN a.name, c.name, sum(f.amount) AS amount, count(*) AS filings ORDER BY amount DESC LIMIT 10;
MATCH (f:Filing)-[:ORIGINATOR]->(o), (f)-[:BENEFITS]->(b) WHERE o <> b RETURN o.name, b.name, sum(f.amount) AS amount ORDER BY amount DESC, o.name, b.name LIMIT 10;
MATCH (f:Filing) WHERE f.begin >= date('2015-01-01') AND f.end < date('2016-01-01') RETURN count(*) AS n, avg(duration.inDays(f.begin, f.end).days) AS days;
MATCH (e:Entity)<-[:CONCERNS]-(f) WITH e, count(f) AS n ORDER BY n DESC, e.name LIMIT 5 OPTIONAL MATCH (e)-[:COUNTRY]->(c) RETURN e.name, n, c.name ORDER BY n DESC, e.name;
MATCH (f:Filing) RETURN f.begin.year AS year, count(*) AS n, round(sum(f.amount) / 1000000, 1) AS millions ORDER BY year;
MATCH p = shortestPath((a:Entity {name: 'Standard Chartered Plc'})-[*..6]-(b:Entity {name: 'Barclays Bank Plc'})) RETURN length(p), count(*) AS pairs;
MATCH (a:Entity)<-[:ORIGINATOR]-(f:Filing)-[:BENEFITS]->(b:Entity)<-[:ORIGINATOR]-(g:Filing)-[:BENEFITS]->(a) WHERE id(a) < id(b) RETURN a.name, b.name, count(DISTINCT f) AS there, count(DISTINCT g) AS back;
MATCH (e:Entity) WHERE NOT (e)-[:COUNTRY]->() RETURN count(e) AS unknown;
MATCH (e:Entity)-[:COUNTRY]->(c:Country {code: 'CHE'}) WHERE EXISTS { (e)<-[:BENEFITS]-(f) WHERE f.amount > 10000000 } RETURN e.name;
MATCH (c:Country) RETURN c.name, COUNT { (c)<-[:COUNTRY]-()<-[:BENEFITS]-() } AS received, COUNT { (c)<-[:COUNTRY]-()<-[:ORIGINATOR]-() } AS sent ORDER BY received DESC, c.name LIMIT 10;
MATCH (f:Filing) WHERE f.number IS NULL OR f.number > 500 RETURN f.sar_id, f.number, f.amount ORDER BY f.amount DESC, f.id LIMIT 10;
MATCH (f:Filing)-[:CONCERNS]->(e) WITH f, collect(e.name) AS names WHERE size(names) > 12 RETURN f.id, size(names) AS n, size([x IN names WHERE x CONTAINS 'Bank']) AS banks;
MATCH (f:Filing) WITH CASE WHEN f.amount < 100000 THEN 'small' WHEN f.amount < 10000000 THEN 'middle' ELSE 'large' END AS size, f RETURN size, count(*) AS n, percentileCont(f.amount, 0.5) AS middle ORDER BY n;
