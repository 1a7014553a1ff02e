// Queries with several clauses, paths or aggregates; each section is of one graph.

// graph directory
MATCH p=(u:User)-[:MemberOf]->()-[:MemberOf*0..2]->()-[:AdminTo]->()-[:HasSession]->(v) WHERE v.spn RETURN count(p)
MATCH p=(g:Group)-[:MemberOf*1..6]->(h:Group) RETURN count(p)
MATCH (s)-[r]-(t) WITH s, r, t, labels(t) AS l WHERE s.name = 'GROUP-4111' WITH DISTINCT t, l RETURN t.name, l
MATCH p=shortestPath((n:User)-[:MemberOf|AdminTo|HasSession*1..]->(m:Computer)) WHERE m.spn AND n.level > 7 RETURN count(p)
MATCH (u:User {name: 'USER-7'}), (g:Group) WHERE g.level > 8 MATCH p=shortestPath((u)-[:MemberOf*1..]->(g)) RETURN p
MATCH (u:User)-[:MemberOf*1..]->(g:Group {name: 'GROUP-4101'}) RETURN DISTINCT u.name
MATCH (u:User {name: 'USER-3'})-[:MemberOf*1..3]->(g) RETURN g.name
MATCH (u:User {name: 'USER-3'})-[:MemberOf]->(g)<-[:MemberOf]-(v) RETURN DISTINCT v.name
MATCH (c:Computer) OPTIONAL MATCH (c)-[:HasSession]->(u) WITH c, collect(u.name) AS us RETURN c.name, size(us)
MATCH (u:User) WITH u, COUNT { (u)-[:MemberOf]->() } AS n WHERE n > 5 RETURN u.name, n ORDER BY n DESC LIMIT 20
MATCH (g:Group) WHERE NOT EXISTS { (g)-[:AdminTo]->() } RETURN count(g)
MATCH (o:OU)-[:Contains*1..]->(x) RETURN o.name, count(DISTINCT x) AS n ORDER BY n DESC LIMIT 10
MATCH (u:User)-[:MemberOf*1..3]->(g:Group)-[:AdminTo]->(c:Computer) RETURN u.name, count(DISTINCT c) AS n ORDER BY n DESC LIMIT 10
MATCH (u:User) WHERE u.spn MATCH (u)-[:MemberOf]->(g) MATCH (g)-[:AdminTo]->(c) RETURN u.name, c.name
UNWIND range(0, 49) AS i MATCH (u:User {name: 'USER-' + toString(i)})-[:MemberOf]->(g) RETURN u.name, collect(g.name)
MATCH (u:User)-[:MemberOf]->(g) WITH g, count(*) AS n ORDER BY n DESC LIMIT 5 MATCH (g)-[:AdminTo]->(c) RETURN g.name, n, count(c)
MATCH (a:User)-[:CanRDP]->(c) RETURN c.name AS name UNION MATCH (a:User)-[:Owns]->(c) RETURN c.name AS name
MATCH (d:Domain) OPTIONAL MATCH (d)-[:TrustedBy*1..3]->(e) RETURN d.name, collect(DISTINCT e.name)
MATCH (g:Group)-[:GenericAll]->(u:User)-[:MemberOf*1..2]->(h:Group) WHERE h.level > 6 RETURN g.name, count(*)
MATCH (c:Computer) WHERE c.level = 0 WITH c LIMIT 100 MATCH (c)-[:HasSession]->(u)-[:MemberOf*1..]->(g) RETURN count(*)
MATCH (u:User) RETURN u.level, count(*), avg(u.id) ORDER BY u.level
MATCH (u:User)-[:MemberOf]->(g:Group) WITH u, collect(g) AS gs WHERE size(gs) > 8 UNWIND gs AS g RETURN g.name, count(*)
MATCH (a:Group), (b:Group) WHERE a.level = b.level AND a.id < b.id RETURN count(*)
MATCH (u:User {name: 'USER-11'}) CALL (u) { MATCH (u)-[:MemberOf*1..2]->(g) RETURN count(g) AS n } RETURN u.name, n

// graph social
MATCH (p:Person {name: 'person 5'})-[:KNOWS*1..2]->(q) RETURN DISTINCT q.name
MATCH (p:Person {name: 'person 5'})-[:KNOWS*1..3]->(q:Person) RETURN count(q)
MATCH (p:Person)-[:LIVES_IN]->(c:City) WITH c, count(p) AS n MATCH (c)<-[:LIVES_IN]-(q)-[:WROTE]->(m) RETURN c.name, n, count(m)
MATCH (p:Person)-[:KNOWS]->(q)-[:KNOWS]->(r) WHERE NOT (p)-[:KNOWS]->(r) AND p.age < 20 RETURN p.name, r.name, count(*) AS n ORDER BY n DESC LIMIT 10
MATCH (m:Post)-[:HAS_TAG]->(t:Tag) WITH t, count(m) AS n WHERE n > 100 RETURN t.name, n
MATCH (p:Person) WHERE p.age > 80 OPTIONAL MATCH (p)-[:WROTE]->(m) OPTIONAL MATCH (m)<-[:LIKES]-(q) RETURN p.name, count(DISTINCT m), count(q)
MATCH (t:Tag {name: 'tag 3'})<-[:HAS_TAG]-(m)<-[:LIKES]-(p) WITH DISTINCT p MATCH (p)-[:LIVES_IN]->(c) RETURN c.name, count(*)
MATCH p = shortestPath((a:Person {name: 'person 1'})-[:KNOWS*]-(b:Person {name: 'person 900'})) RETURN length(p)
MATCH (a:Person)-[:KNOWS*2..2]->(b) WHERE a.age = 30 RETURN count(*)
MATCH (a:Person) WITH a ORDER BY a.age DESC LIMIT 10 MATCH (a)-[:KNOWS]->(b)-[:WROTE]->(m) RETURN a.name, collect(DISTINCT m.name)
MATCH (a:Person {age: 40})-[:KNOWS]-(b), (b)-[:LIVES_IN]->(c) RETURN c.name, count(DISTINCT b)
MATCH (p:Person)-[:LIKES]->(m)<-[:WROTE]-(q) WHERE p.age > 60 RETURN q.name, count(*) AS n ORDER BY n DESC LIMIT 5

// graph wordnet
MATCH (a)-[*1..3]->(b) WHERE id(a) = 100 RETURN count(b)
MATCH (a)-->(b) WITH a, count(b) AS n WHERE n > 10 RETURN count(*)
MATCH (a)-->(b) WITH b, count(a) AS n ORDER BY n DESC LIMIT 10 MATCH (b)-->(c) RETURN count(DISTINCT c)
MATCH (a) WHERE id(a) < 50 OPTIONAL MATCH (a)-->(b)-->(c) RETURN a, count(c)
MATCH (a)-->(b)-->(c) RETURN c, count(*) AS n ORDER BY n DESC LIMIT 10
